//! `tailwater profile diff`: the functions whose calls take another time in a second trace.

mod chosen;
mod testable;
mod verdict;
mod text;

use super::reading::Trace;
use crate::failure::{Failure, say};
use chosen::Chosen;
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tailwater_profile::blocks::{Blocks, FunctionBlocks};
use tailwater_profile::functions::{Functions, Report};
use text::text;
use verdict::{Asked, Verdict, compare};

#[derive(Args, Debug)]
pub(crate) struct DiffOptions {
    /// The trace of before.
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The trace of after.
    #[arg(value_name = "B")]
    after: PathBuf,
    /// How sure it must be that none of all functions is told of by chance alone, below 100%. It is that sure where parts
    /// of either recording could as well be parts of the other: docs/profiling.md says when they are not.
    #[arg(long, value_name = "SHARE", default_value = "99%", value_parser = confidence)]
    confidence: f64,
    /// Changes that are no greater than this share do not count, however sure they are.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    within: f64,
    /// Only functions whose name, as shown, matches: `*` stands for anything, `?` for a character. May be given more than
    /// once. Fewer functions make it easier to be sure.
    #[arg(short, long, value_name = "GLOB")]
    function: Vec<String>,
    /// At most so many functions; 0: all that have moved.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print the result, all functions that were compared, as one JSON object.
    #[arg(long)]
    json: bool,
}

/// A trace, read for the first time.
struct First {
    report: Report,
    path: PathBuf,
}

/// Ends with exit code 1 where a function has moved.
pub(super) fn diff(options: &DiffOptions) -> Result<(), Failure> {
    let [before, after] = [&options.before, &options.after].map(|path| first(path));
    let (before, after) = (before?, after?);
    let resolution_ns = before.report.quality.look_p999_ns.max(after.report.quality.look_p999_ns);
    let asked = Asked { confidence: options.confidence, within: options.within, resolution_ns };
    let chosen = Chosen::of([&before.report, &after.report], &options.function);
    let [a, b] = [&before, &after].map(|first| second(first, resolution_ns, &chosen));
    let verdict = compare([&a?, &b?], chosen, asked);
    if options.json {
        say(&serde_json::to_string_pretty(&verdict).map_err(Failure::work)?)?;
    } else {
        say(&text(&verdict, [&before.report, &after.report], options.limit))?;
    }
    moved(&verdict)
}

/// For scripts.
fn moved(verdict: &Verdict) -> Result<(), Failure> {
    let moved = verdict.functions.iter().filter(|one| one.moved).count();
    if verdict.functions.is_empty() {
        return Err(Failure::usage(
            "no function could be compared: record for longer, or functions that are called more often",
        ));
    }
    match moved {
        0 => Ok(()),
        1 => Err(Failure::work("1 function has moved")),
        more => Err(Failure::work(format!("{more} functions have moved"))),
    }
}

fn first(path: &Path) -> Result<First, Failure> {
    let trace = Trace::open(path)?;
    let mut functions = Functions::new(trace.header());
    let ending = trace.read(|item| match item {
        Ok(record) => functions.add(record),
        Err(error) => functions.damaged(error),
    });
    Ok(First { report: functions.finish(&ending), path: path.to_owned() })
}

fn second(
    first: &First,
    resolution_ns: u64,
    chosen: &Chosen,
) -> Result<BTreeMap<String, FunctionBlocks>, Failure> {
    let trace = Trace::open(&first.path)?;
    let mut blocks = Blocks::new(trace.header(), &first.report, resolution_ns, &chosen.both);
    trace.read(|item| {
        // Damage was counted in the first reading.
        if let Ok(record) = item {
            blocks.add(record);
        }
    });
    Ok(blocks.finish())
}

fn share(text: &str) -> Result<f64, String> {
    let number = |digits: &str| digits.trim().parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| format!("'{text}' found; a share below 100% is needed, such as 2%"))
}

fn confidence(text: &str) -> Result<f64, String> {
    share(text).ok().filter(|share| *share >= 0.5).ok_or_else(|| {
        format!("'{text}' found; a share from 50% to below 100% is needed, such as 99%")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_short_of_certainty() {
        assert_eq!(confidence("99%"), Ok(0.99));
        assert_eq!(share("0"), Ok(0.0));
        for text in ["100%", "1", "49%", "", "NaN"] {
            assert!(confidence(text).is_err(), "{text}");
        }
        assert!(share("-1%").is_err());
    }
}
