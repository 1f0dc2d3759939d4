//! `tailwater figures`: the papers' figures, redrawn from simulation beside what their texts state.

use crate::args::FiguresOptions;
use crate::failure::{Failure, say};
use crate::folder::Folder;
use crate::progress::Progress;
use crate::run::is_short;
use std::thread;
use tailwater_figures::data::Figure;
use tailwater_figures::{Compared, Plan, Results, catalogue, choose, pictures};
use tailwater_sim::Failure as Trouble;

pub(crate) fn figures(options: &FiguresOptions) -> Result<(), Failure> {
    let all = catalogue().map_err(Failure::work)?;
    let chosen = choose(all, options.paper.as_deref(), options.number).map_err(Failure::usage)?;
    let short = is_short(options.short);
    let out = Folder::prepare(&options.out)?;
    let results = play(&chosen, options, short)?;
    let compared = Compared::new(&chosen, &results);
    write_all(&chosen, &results, &compared, &out)?;
    if options.json {
        return say(&serde_json::to_string_pretty(&compared).map_err(Failure::work)?);
    }
    say(compared.markdown().trim_end())?;
    if short {
        say("\nShort runs: these numbers prove that the figures work, and nothing else.")?;
    }
    say(&format!("\nWritten: {}", options.out.display()))
}

fn play(chosen: &[Figure], options: &FiguresOptions, short: bool) -> Result<Results, Failure> {
    let available = thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(available).clamp(1, available);
    let plan = Plan::new(chosen, options.seeds, short).map_err(failure)?;
    let progress = Progress::new(plan.pieces());
    plan.play(threads, &|| progress.step()).map_err(failure)
}

fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    }
}

fn write_all(
    chosen: &[Figure],
    results: &Results,
    compared: &Compared,
    folder: &Folder<'_>,
) -> Result<(), Failure> {
    for drawing in chosen.iter().flat_map(|figure| pictures(figure, results)) {
        folder.write(&drawing.file, &drawing.svg)?;
    }
    let json = serde_json::to_string_pretty(compared).map_err(Failure::work)?;
    folder.write("compared.json", &json)?;
    folder.write("compared.md", &compared.markdown())?;
    let runs = serde_json::to_string_pretty(&results.experiments()).map_err(Failure::work)?;
    folder.write("runs.json", &runs)
}
