//! `tailwater profile diff`: the functions whose calls take another time in other recordings.

mod sides;
mod text;

use crate::failure::{Failure, say};
use crate::values;
use clap::Args;
use sides::builds;
use std::path::PathBuf;
use tailwater_profile::diff::{Asked, Chosen, Outcome, compare};
use text::text;

#[derive(Args, Debug)]
pub(crate) struct DiffOptions {
    /// Before: a folder whose *.trace files are recordings of one build, from 8 to 40 and best 20; or one trace.
    #[arg(value_name = "A")]
    before: PathBuf,
    /// After: the same of the other build. Record by turns, one of A and one of B.
    #[arg(value_name = "B")]
    after: PathBuf,
    /// How sure it must be that none of all functions is told of by chance alone, below 100%. Of one trace of each build it
    /// is less sure: processes of one build differ, too.
    #[arg(long, value_name = "SHARE", default_value = "99%", value_parser = confidence)]
    confidence: f64,
    /// Changes that are no greater than this share of a call do not count, however sure they are.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    within: f64,
    /// Only functions whose name, as shown, matches: `*` stands for anything, `?` for a character. May be given more than
    /// once. Fewer functions make it easier to be sure.
    #[arg(short, long, value_name = "GLOB")]
    function: Vec<String>,
    /// At most so many functions of either kind; 0: all that have moved.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print the result, all functions that were compared, as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Ends with exit code 1 where a function has moved.
pub(super) fn diff(options: &DiffOptions) -> Result<(), Failure> {
    let builds = builds(&options.before, &options.after)?;
    let [before, after] = &builds;
    let sides = [&before.side, &after.side];
    let asked = Asked::of(sides, options.confidence, options.within);
    let chosen = Chosen::of(sides, &options.function);
    if !options.function.is_empty() && chosen.is_none() {
        let asked = options.function.join(" or ");
        return Err(Failure::usage(format!(
            "found no function that is called {asked} in either build; `tailwater profile report --limit 0` lists those of a trace"
        )));
    }
    let (resolution_ns, names) = (asked.resolution_ns, &chosen.both);
    let (a, b) = (before.blocks(resolution_ns, names)?, after.blocks(resolution_ns, names)?);
    let verdict = compare([&a, &b], chosen, asked);
    if options.json {
        say(&serde_json::to_string_pretty(&verdict).map_err(Failure::work)?)?;
    } else {
        say(&text(&verdict, &builds, options.limit))?;
    }
    moved(verdict.outcome())
}

/// For scripts.
fn moved(outcome: Outcome) -> Result<(), Failure> {
    match outcome {
        Outcome::NothingCompared => Err(Failure::usage(
            "no function could be compared: record for longer, or functions that are called more often",
        )),
        Outcome::Unmoved => Ok(()),
        Outcome::WithOthers(1) => {
            Err(Failure::work("1 function has moved, but not surely by itself"))
        }
        Outcome::WithOthers(more) => {
            Err(Failure::work(format!("{more} functions have moved, but none surely by itself")))
        }
        Outcome::ByThemselves(1) => Err(Failure::work("1 function has moved by itself")),
        Outcome::ByThemselves(more) => {
            Err(Failure::work(format!("{more} functions have moved by themselves")))
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    values::share(text)
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
