//! `frontier`: every choice of settings, one after another.

use crate::arguments::{FrontierArguments, Which};
use crate::out::Out;
use crate::sets::{self, Named, bar};
use crate::table;
use tailwater_hdsearch::frontier::{Bench, Build, Built, Frontier, Grid, Point, Times, Worked};
use tailwater_hdsearch::{oracle, vectors::Set};
use tailwater_kernels::Kernels;
use tailwater_program::{explain, print};

pub(crate) fn run(arguments: &FrontierArguments) -> Result<(), String> {
    if !(0.0..=1.0).contains(&arguments.share_max) {
        return Err(format!(
            "--share-max is {}; a share from 0 to 1 is needed",
            arguments.share_max
        ));
    }
    let out = arguments.out.as_deref().map(Out::prepare).transpose()?;
    let Named { about, set } = sets::make(&arguments.set)?;
    let (truth, shape) = sets::measured(&set);
    let bench = Bench::new(&set, &truth, arguments.neighbours, arguments.leaves);
    let frontier = Frontier {
        set: about,
        points: set.points.rows().count(),
        dimensions: set.points.rows().dimensions(),
        shape,
        queries: set.queries.rows().count(),
        neighbours: arguments.neighbours,
        leaves: bench.placement.leaves(),
        machine: machine(),
        remarks: arguments.remarks.clone(),
        all_us: all_us(&set, arguments.neighbours),
        measured: measured(&bench, arguments)?,
    };
    let json = || serde_json::to_string_pretty(&frontier).map_err(|error| error.to_string());
    let written = match out {
        Some(out) => out.write(&(json()? + "\n")),
        None => Ok(()),
    };
    // Minutes of work are told also where the file fails.
    print(&if arguments.set.json { json()? } else { table::of(&frontier) })?;
    written
}

/// The points, in the order of the grid.
fn measured(bench: &Bench<'_>, arguments: &FrontierArguments) -> Result<Vec<Point>, String> {
    let points = bench.set.points.rows();
    let grid = Grid::for_points(points.count());
    let wanted = |build: &Build| match arguments.index {
        Which::Both => true,
        Which::Lsh => matches!(build, Build::Lsh(_)),
        Which::Ivf => matches!(build, Build::Ivf(_)),
    };
    let builds: Vec<Build> = grid.builds().into_iter().filter(wanted).collect();
    let bar = bar("settings", builds.len() * grid.ivf_probes.len());
    let mut measured = Vec::new();
    for (build, number) in builds.iter().zip(1..) {
        let Built { order, tried } =
            grid.build(build, points, bench.placement, arguments.set.seed)?;
        let tiers = bench.tiers(&order).map_err(|error| error.to_string())?;
        for tried in tried {
            // The share is known before anything is measured.
            let share = bench.candidates(&*tried.index) / points.count() as f64;
            if share <= arguments.share_max {
                measured.push(bench.measure(&tiers, tried).map_err(|error| error.to_string())?);
            }
            bar.inc(1);
        }
        bar.set_position((number * grid.ivf_probes.len()) as u64);
    }
    bar.finish_and_clear();
    if measured.is_empty() {
        explain("no settings were measured: all have more candidates than --share-max");
    }
    Ok(measured)
}

/// The median of the processor's time to look at every point, for some queries.
fn all_us(set: &Set, neighbours: u16) -> f64 {
    let each = set.queries.rows().all().take(50).map(|query| {
        let start = Worked::now();
        let found = oracle::nearest_of_all(set.points.rows(), query, neighbours.into());
        std::hint::black_box(found);
        start.elapsed()
    });
    Times::of(each.collect()).p50
}

/// The processor, how many of it may be used, and the instructions that kernels use.
fn machine() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cpus} CPUs, kernels by {}", Kernels::best().level())
}
