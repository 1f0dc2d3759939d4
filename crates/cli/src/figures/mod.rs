//! `tailwater figures`: the papers' figures, redrawn from simulation beside what their texts state.
//!
//! A figure is data ([`figure::Figure`]): scenario files, panels to draw, and claims to compare. Each
//! paper has a module with its figures; `play` simulates, `draw` makes pictures, `compare` judges.

mod figure;
mod quantity;
mod play;
mod results;
mod draw;
mod compare;

mod breakwater;
mod protego;

use crate::args::FiguresOptions;
use crate::failure::{Failure, say};
use crate::run::output::write_whole;
use figure::Figure;
use results::Results;
use std::path::Path;

/// Every figure there is, paper by paper.
const PAPERS: &[(&str, &[Figure])] =
    &[("breakwater", breakwater::FIGURES), ("protego", protego::FIGURES)];

pub(crate) fn figures(options: &FiguresOptions) -> Result<(), Failure> {
    let chosen = choose(options)?;
    let short =
        options.short || std::env::var_os("TAILWATER_SHORT").is_some_and(|value| value == "1");
    let results = play::play(&chosen, short, options.threads)?;
    let compared = compare::compare(&chosen, &results);
    write_all(&chosen, &results, &compared, &options.out)?;
    if options.json {
        return say(&serde_json::to_string_pretty(&compared).map_err(Failure::work)?);
    }
    say(compare::markdown(&compared).trim_end())?;
    if short {
        say("\nShort runs: these numbers prove that the figures work, and nothing else.")?;
    }
    say(&format!("\nWritten: {}", options.out.display()))
}

fn choose(options: &FiguresOptions) -> Result<Vec<&'static Figure>, Failure> {
    let names = || PAPERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let all = PAPERS.iter().filter(|(name, _)| options.paper.as_ref().is_none_or(|p| p == name));
    let all: Vec<&Figure> = all.flat_map(|(_, figures)| *figures).collect();
    if let (true, Some(paper)) = (all.is_empty(), &options.paper) {
        let message = format!("paper '{paper}' is unknown; known are {}", names());
        return Err(Failure::usage(message));
    }
    let Some(number) = options.number else {
        return Ok(all);
    };
    let chosen: Vec<&Figure> = all.iter().copied().filter(|f| f.number == number).collect();
    if chosen.is_empty() {
        let known: Vec<String> = all.iter().map(|figure| figure.number.to_string()).collect();
        let message = format!("figure {number} is unknown; known are {}", known.join(", "));
        return Err(Failure::usage(message));
    }
    Ok(chosen)
}

fn write_all(
    chosen: &[&Figure],
    results: &Results,
    compared: &compare::Compared,
    folder: &Path,
) -> Result<(), Failure> {
    let trouble = |error| Failure::work(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(trouble)?;
    for figure in chosen {
        for panel in figure.panels {
            let name = format!("{}-fig{}-{}.svg", figure.paper, figure.number, panel.name);
            write_whole(&folder.join(name), &draw::svg(figure, panel, results)).map_err(trouble)?;
        }
    }
    let json = serde_json::to_string_pretty(compared).map_err(Failure::work)?;
    write_whole(&folder.join("compared.json"), &json).map_err(trouble)?;
    write_whole(&folder.join("compared.md"), &compare::markdown(compared)).map_err(trouble)?;
    let runs = serde_json::to_string_pretty(&results.experiments()).map_err(Failure::work)?;
    write_whole(&folder.join("runs.json"), &runs).map_err(trouble)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailwater_workload::Scenario;

    fn all() -> impl Iterator<Item = &'static Figure> {
        PAPERS.iter().flat_map(|(_, figures)| *figures)
    }

    #[test]
    fn every_scenario_parses_and_names_controllers_that_exist() {
        for source in all().flat_map(|figure| figure.scenarios) {
            let scenario = Scenario::parse(source.file, source.text);
            let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
            tailwater_experiment::check(&scenario).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn breakwaters_testbed_is_the_frozen_one() {
        let scenarios = || breakwater::FIGURES.iter().flat_map(|figure| figure.scenarios);
        let parse = |source: &figure::Source| {
            Scenario::parse(source.file, source.text).expect("every scenario parses")
        };
        let frozen = parse(scenarios().next().expect("there are some")).sim;
        for source in scenarios() {
            // One of them is checked against `World::paper` by the simulator's own tests.
            assert_eq!(parse(source).sim, frozen, "{}", source.file);
        }
    }

    #[test]
    fn panels_have_names_of_their_own_and_scenarios_that_the_figure_has() {
        for figure in all() {
            let names: BTreeSet<_> = figure.panels.iter().map(|panel| panel.name).collect();
            assert_eq!(names.len(), figure.panels.len(), "{} {}", figure.paper, figure.number);
            for from in figure.panels.iter().flat_map(|panel| panel.from) {
                let known = figure.scenarios.iter().any(|source| source.name == *from);
                assert!(known, "{} {}: {from}", figure.paper, figure.number);
            }
        }
    }
}
