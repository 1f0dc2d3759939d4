//! `tailwater profile requests A.trace B.trace …`: the slowest requests of the first, followed into the others.

mod text;
mod page;

use super::blame::{name_request, shorten_names};
use super::companion::Companion;
use super::kernel;
use super::output::write_whole;
use super::reading::Trace;
use super::symbols::Symbols;
use crate::failure::{Failure, say};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tailwater_profile::record::Record;
use tailwater_profile::requests::RunQueueTimes;
use tailwater_profile::tiers::{
    Counterparts, Joined, Report, Review, Search, Survey, Tier, TierRow,
};

/// Traces that are read together; each takes some hundred megabytes at most.
const TRACES_MAX: usize = 32;

/// How much is told, and how.
pub(super) struct Shown {
    pub(super) slowest: usize,
    /// With time lines in the terminal.
    pub(super) timeline: bool,
    /// As one JSON object.
    pub(super) json: bool,
}

pub(super) fn requests(
    traces: &[PathBuf],
    shown: &Shown,
    page: Option<&Path>,
) -> Result<(), Failure> {
    if traces.len() > TRACES_MAX {
        return Err(Failure::usage(format!(
            "{} traces were given, and at most {TRACES_MAX} are read together; leave some out",
            traces.len()
        )));
    }
    let mut report = read(traces, shown.slowest)?;
    name_places(&mut report);
    // It has whole names.
    let json = shown.json.then(|| serde_json::to_string_pretty(&report));
    let json = json.transpose().map_err(Failure::work)?;
    let met = report.slowest.iter_mut().flat_map(|root| &mut root.requests);
    shorten_names(met.filter_map(|one| one.row.as_mut()));
    if let Some(path) = page {
        write_whole(path, &traces[0], &page::page(&report, &text::text(&report, false)))?;
    }
    if let Some(json) = json {
        return say(&json);
    }
    say(&text::text(&report, shown.timeline))
}

fn read(traces: &[PathBuf], slowest: usize) -> Result<Report, Failure> {
    let names = names(traces);
    let surveys = traces.iter().zip(&names).map(|(path, name)| survey(path, name, traces.len()));
    let mut joined = Joined::new(surveys.collect::<Result<_, _>>()?, slowest);
    search(traces, &mut joined)?;
    let mut reviews = Vec::new();
    for (place, path) in traces.iter().enumerate() {
        reviews.push(reviewed(path, joined.review(place))?);
    }
    let mut report = joined.finish(reviews);
    for (row, path) in report.traces.iter_mut().zip(traces) {
        fill_in_run_queue(row, path)?;
    }
    Ok(report)
}

/// Reads one of so many traces.
fn survey(path: &Path, name: &str, among: usize) -> Result<Tier, Failure> {
    let trace = Trace::open(path)?;
    let mut survey = Survey::new(name, trace.header());
    if Companion::Kernel.may_be_there(path, trace.header()) {
        survey = survey.with_every(among);
    }
    let ending = trace.read(|item| match item {
        Ok(record) => survey.add(record),
        Err(error) => survey.damaged(error),
    });
    survey.finish(&ending).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))
}

/// Reads traces again for requests that they had left out, as long as there is something to look for.
fn search(traces: &[PathBuf], joined: &mut Joined) -> Result<(), Failure> {
    loop {
        let places = joined.unsearched();
        if places.is_empty() {
            return Ok(());
        }
        let search = |place: usize| searched(&traces[place], joined.search(place));
        let found = places.into_iter().map(search).collect::<Result<_, _>>()?;
        joined.take(found);
    }
}

fn searched(path: &Path, mut search: Search<'_>) -> Result<Counterparts, Failure> {
    read_again(path, |record| search.add(record))?;
    Ok(search.finish())
}

fn reviewed(path: &Path, mut review: Review) -> Result<Review, Failure> {
    read_again(path, |record| review.add(record))?;
    Ok(review)
}

/// What all requests of a trace waited for a core, if there is a file of the kernel's that says.
fn fill_in_run_queue(row: &mut TierRow, path: &Path) -> Result<(), Failure> {
    let Some(every) = row.every.take() else { return Ok(()) };
    let header = Trace::open(path)?.header().clone();
    let mut times = RunQueueTimes::new(every);
    row.kernel = kernel::account(path, &header, row.rate, std::iter::empty(), |record| {
        times.add(record);
    });
    row.run_queue = row.kernel.and_then(|_| times.finish());
    Ok(())
}

fn read_again(path: &Path, mut take: impl FnMut(&Record)) -> Result<(), Failure> {
    Trace::open(path)?.read(|item| {
        // Damage was counted in the first reading.
        if let Ok(record) = item {
            take(record);
        }
    });
    Ok(())
}

/// What people call the traces: their files' names without the ending, or their paths where these are not distinct.
fn names(traces: &[PathBuf]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().display().to_string();
    let stems: Vec<String> = traces.iter().map(stem).collect();
    let distinct: BTreeSet<&String> = stems.iter().collect();
    if distinct.len() == stems.len() {
        return stems;
    }
    traces.iter().map(|path| path.display().to_string()).collect()
}

fn name_places(report: &mut Report) {
    for (place, trace) in report.traces.iter().enumerate() {
        let mut symbols = Symbols::new(&trace.names);
        let met = report.slowest.iter_mut().flat_map(|root| &mut root.requests);
        for row in met.filter(|one| one.trace == place).filter_map(|one| one.row.as_mut()) {
            name_request(row, &mut symbols);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_one_name_go_by_their_paths() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(names(&paths(&["out/front.trace", "leaf.trace"])), ["front", "leaf"]);
        let same = ["a/server.trace", "b/server.trace"];
        assert_eq!(names(&paths(&same)), same);
    }
}
