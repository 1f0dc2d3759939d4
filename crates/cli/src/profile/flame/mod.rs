//! `tailwater profile flame`: where slow calls of a function, or slow requests, spend their time, beside all of them.

mod page;
mod sides;
#[cfg(test)]
mod testing;
mod text;
mod words;

use super::footer::footer;
use super::output::write_whole;
use super::percentile::percentile;
use super::reading::{Trace, near};
use crate::failure::{Failure, say};
use clap::Args;
use page::graphs;
use serde::Serialize;
use sides::{no_calls, of_calls, of_requests};
use std::path::PathBuf;
use tailwater_profile::quality::Quality;
use tailwater_profile::stacks::{Flame, Stacks};
use text::text;

#[derive(Args, Debug)]
pub(crate) struct FlameOptions {
    /// What `tailwater profile record` wrote.
    #[arg(default_value = "tailwater.trace")]
    trace: PathBuf,
    /// Calls of functions whose name, as shown or as the linker has it, matches: `*` stands for anything, `?` for a
    /// character. May be given more than once. Without it, the marked requests, and all calls within them.
    #[arg(short, long, value_name = "GLOB")]
    function: Vec<String>,
    /// Which are slow: calls that surely took longer than this percentile of their function's calls, or requests above this
    /// one of all, as of `keep`: of a few the longest.
    #[arg(long, value_name = "PERCENTILE", default_value = "p99", value_parser = percentile)]
    above: f64,
    /// Write a page with both flame graphs. It opens in any browser, without a network.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// All frames and their times as JSON, in nanoseconds.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told<'a> {
    /// Which functions, as asked for; empty: marked requests.
    functions: &'a [String],
    /// Which of them are slow, from 0 to 1.
    above: f64,
    #[serde(flatten)]
    flame: &'a Flame,
    /// Records read.
    records: u64,
    /// What the trace does not tell.
    quality: &'a Quality,
}

/// Reads the trace twice: which are slow, and where these and all of them spent their time.
pub(super) fn flame(options: &FlameOptions) -> Result<(), Failure> {
    let sides = match options.function.as_slice() {
        [] => of_requests(options)?,
        functions => of_calls(options, functions)?,
    };
    let trace = Trace::open(&options.trace)?;
    let header = trace.header().clone();
    let mut slow = Stacks::new(&header, sides.slow);
    let mut every = Stacks::new(&header, sides.all);
    let ending = trace.read(|item| match item {
        Ok(record) => {
            slow.add(record);
            every.add(record);
        }
        Err(error) => every.damaged(error),
    });
    let (mut slow, mut every) = (slow.finish(&ending), every.finish(&ending));
    if slow.calls == 0 {
        return Err(Failure::usage(no_calls(options, sides.among)));
    }
    if let Some([of_slow, of_all]) = sides.requests {
        // A request may have many calls beside one another, and its mean is of it.
        (slow.calls, every.calls) = (of_slow, of_all);
    }
    let flame = Flame::of(&slow, &every);
    let footer = footer(every.records, every.rate, &every.quality);
    let program = near(&header.program);
    let text = text(&flame, program, options, &footer);
    if let Some(path) = &options.page {
        let title = match options.function.as_slice() {
            [] => format!("Slow requests of {program}"),
            functions => format!("Slow calls of {} in {program}", functions.join(" or ")),
        };
        write_whole(path, &options.trace, &graphs(&flame, options).page(&title, &text))?;
    }
    if options.json {
        let (functions, above) = (options.function.as_slice(), options.above);
        let (records, quality) = (every.records, &every.quality);
        let told = Told { functions, above, flame: &flame, records, quality };
        return say(&serde_json::to_string_pretty(&told).map_err(Failure::work)?);
    }
    say(&text)
}
