//! `tailwater figures`: the papers' figures, redrawn from simulation beside what their texts state.

use crate::args::FiguresOptions;
use crate::failure::{Failure, say};
use crate::folder::Folder;
use crate::machine::built;
use crate::progress::Progress;
use crate::run::is_short;
use crate::scenarios;
use std::path::Path;
use std::thread;
use tailwater_figures::data::Figure;
use tailwater_figures::{Compared, Plan, Results, catalogue, choose, pictures};
use tailwater_sim::Failure as Trouble;
use tailwater_stats::result::Experiment;

/// What was compared, as data.
const COMPARED: &str = "compared.json";

pub(crate) fn figures(options: &FiguresOptions) -> Result<(), Failure> {
    let all = catalogue().map_err(Failure::work)?;
    let chosen = choose(all, options.paper.as_deref(), options.number).map_err(Failure::usage)?;
    let short = is_short(options.short);
    let out = Folder::prepare(&options.out)?;
    out.refuse_short(COMPARED, short)?;
    let file = options.into.as_deref().map(|path| Kept::prepare(path, short)).transpose()?;
    let results = play(&chosen, options, short)?;
    let compared = Compared::new(&chosen, &results);
    if !options.claims {
        draw(&chosen, &results, &out)?;
    }
    write_all(&results, &compared, &out)?;
    file.map_or(Ok(()), |file| file.take(&compared))?;
    if options.json {
        return say(&serde_json::to_string_pretty(&compared).map_err(Failure::work)?);
    }
    say(compared.markdown().trim_end())?;
    say(&format!("\nWritten: {}", options.out.display()))
}

/// A file that keeps what was compared over several commands.
struct Kept<'a> {
    folder: Folder<'a>,
    name: &'a str,
    compared: Compared,
}

impl<'a> Kept<'a> {
    /// Read before the work begins; one that is not there yet is empty.
    fn prepare(path: &'a Path, short: bool) -> Result<Self, Failure> {
        let shown = path.display();
        if short {
            return Err(Failure::usage("short runs are no results; leave --into out"));
        }
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
            Failure::usage(format!("{shown} names no file; give one, such as results/figures.json"))
        })?;
        let above = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = Folder::prepare(above.unwrap_or(Path::new(".")))?;
        let compared = if path.exists() { earlier(path)? } else { Compared::default() };
        Ok(Self { folder, name, compared })
    }

    /// What was compared now, in place of the same figures' rows.
    fn take(self, now: &Compared) -> Result<(), Failure> {
        let all = self.compared.replaced_by(now);
        let text = serde_json::to_string_pretty(&all).map_err(Failure::work)?;
        self.folder.write(self.name, &format!("{text}\n"))
    }
}

fn earlier(path: &Path) -> Result<Compared, Failure> {
    serde_json::from_str(&scenarios::read(path)?).map_err(|error| {
        let shown = path.display();
        Failure::usage(format!(
            "{shown}: this is no {COMPARED} of tailwater figures ({error}); give such a file by --into, or a name that is \
             not there yet"
        ))
    })
}

fn play(chosen: &[Figure], options: &FiguresOptions, short: bool) -> Result<Results, Failure> {
    let available = thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(available).clamp(1, available);
    let plan = Plan::new(chosen, options.seeds, short).map_err(failure)?;
    let plan = if options.claims { plan.for_claims(chosen) } else { plan };
    let progress = Progress::new(plan.pieces());
    plan.play(threads, &|| progress.step()).map_err(failure)
}

fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    }
}

fn draw(chosen: &[Figure], results: &Results, folder: &Folder<'_>) -> Result<(), Failure> {
    for drawing in chosen.iter().flat_map(|figure| pictures(figure, results)) {
        folder.write(&drawing.file, &drawing.svg)?;
    }
    Ok(())
}

fn write_all(results: &Results, compared: &Compared, folder: &Folder<'_>) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(compared).map_err(Failure::work)?;
    folder.write(COMPARED, &json)?;
    folder.write("compared.md", &compared.markdown())?;
    // As `run --on sim` tells it: what comes out depends on program and seed alone.
    let told = |played: Experiment| Experiment { manifest: built(played.manifest), ..played };
    let runs: Vec<_> = results.experiments().into_iter().map(told).collect();
    folder.write("runs.json", &serde_json::to_string_pretty(&runs).map_err(Failure::work)?)
}
