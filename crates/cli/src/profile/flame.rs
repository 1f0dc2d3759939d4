//! `tailwater profile flame`: where slow calls of a function, or slow requests, spend their time, beside all of them.

use super::chosen;
use super::footer::footer;
use super::output::write_whole;
use super::percentile::{percentile, percentile_name};
use super::reading::{Trace, near};
use crate::failure::{Failure, say, tell};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tailwater_profile::names::shorten;
use tailwater_profile::quality::Quality;
use tailwater_profile::stacks::{
    Choice, Flame, FlameFrame, Frame, MarkedCalls, Spent, Stacks, Whole,
};
use tailwater_report::{FlameBar, FlameGraph, FlameGraphs, count, grid, percent, time};

/// Characters of a name in the table.
const NAME_MAX: usize = 56;
/// And on the page, which may have some thousand bars.
const PAGE_NAME_MAX: usize = 300;
/// Functions told of in the table.
const ROWS_MAX: usize = 12;
/// Those whose share grew by less are not: a tenth of a point.
const GROWN_MIN: f64 = 0.001;
/// Why no request is slow: of any number one is.
const NONE_MARKED: &str =
    "no request was marked: name a function by --function, or see docs/profiling-requests.md, \"Mark requests\"";

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

/// Slow ones and all, before the reading that says where their time went.
struct Sides {
    slow: Choice,
    all: Choice,
    /// How many slow requests there are, and how many in all. Calls are counted as they are read.
    requests: Option<[u64; 2]>,
    /// Among how many calls or requests slow ones were looked for.
    among: u64,
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

fn of_calls(options: &FlameOptions, functions: &[String]) -> Result<Sides, Failure> {
    let tail = chosen::tail(&options.trace, functions, Some(options.above))?;
    let (all, among) = (tail.all(), tail.calls());
    Ok(Sides { slow: tail.finish(), all, requests: None, among })
}

fn of_requests(options: &FlameOptions) -> Result<Sides, Failure> {
    let trace = Trace::open(&options.trace)?;
    let mut marked = MarkedCalls::new(trace.header());
    let ending = trace.read(|item| {
        // Damage is counted in the second reading.
        if let Ok(record) = item {
            marked.add(record);
        }
    });
    let found = marked.finish(&ending, options.above);
    if found.requests == 0 {
        return Err(Failure::usage(NONE_MARKED));
    }
    if found.left_out > 0 {
        let left_out = count(found.left_out);
        tell(&format!("{left_out} requests beyond the first millions are in neither graph."));
    }
    let requests = Some([found.slow_requests, found.requests]);
    Ok(Sides { slow: found.slow, all: found.all, requests, among: found.requests })
}

/// Why there is nothing to draw, of so many calls or requests.
fn no_calls(options: &FlameOptions, among: u64) -> String {
    if !options.function.is_empty() {
        return chosen::none_above(&options.function, options.above, among);
    }
    format!(
        "no call was seen within a request above {} of {}: take a lower percentile, or name a function by --function",
        percentile_name(options.above),
        count(among)
    )
}

/// So many of what is told of, in words.
fn counted(options: &FlameOptions, number: u64) -> String {
    let plural = if number == 1 { "" } else { "s" };
    let number = count(number);
    match options.function.as_slice() {
        [] => format!("{number} request{plural}"),
        functions => format!("{number} call{plural} of {}", functions.join(" or ")),
    }
}

fn text(flame: &Flame, program: &str, options: &FlameOptions, footer: &str) -> String {
    let (slow, all) = (counted(options, flame.tail.calls), count(flame.all.calls));
    let percentile = percentile_name(options.above);
    let head = format!("{program}: {slow} above {percentile}, beside all {all}\n");
    let table = match table(&flame.frames) {
        None => "No function has a larger share of the slow ones than of all.".to_owned(),
        Some(table) => format!(
            "{table}\n\nFunctions whose own time grew most, without that of what they call. Slow, all: its mean in each of these, and \
             its share of\ntheir time. Points: by how much that share is larger in slow ones. --page draws all frames, --json has them."
        ),
    };
    format!("{head}\n{table}\n{footer}")
}

/// A function, and the one that called it.
type Called<'a> = (&'a Frame, Option<&'a Frame>);

/// A function's own time over all paths on which the same one called it.
#[derive(Clone, Copy, Default)]
struct Own {
    /// The mean in slow ones, and in all, in nanoseconds.
    means_ns: [f64; 2],
    /// The shares of the time of either, from 0 to 1.
    shares: [f64; 2],
}

impl Own {
    fn grown(self) -> f64 {
        self.shares[0] - self.shares[1]
    }
}

/// The functions whose own share grew most.
fn table(frames: &[FlameFrame]) -> Option<String> {
    let mut grown: Vec<(Called<'_>, Own)> = by_caller(frames).into_iter().collect();
    grown.retain(|(_, own)| own.grown() >= GROWN_MIN);
    grown.sort_by(|(_, one), (_, other)| other.grown().total_cmp(&one.grown()));
    grown.truncate(ROWS_MAX);
    let mut names: Vec<[String; 2]> = vec![];
    for ((function, caller), _) in &grown {
        let caller = caller.map_or_else(String::new, |caller| caller.name.clone());
        names.push([function.name.clone(), caller]);
    }
    shorten(names.iter_mut().flatten(), NAME_MAX);
    let mut rows: Vec<Vec<String>> = vec![];
    for ((_, own), [function, caller]) in grown.iter().zip(names) {
        let mut row = vec![function, caller];
        for (mean_ns, share) in own.means_ns.iter().zip(own.shares) {
            row.extend([time(mean_ns / 1e3), percent(share)]);
        }
        row.push(points(own.grown()));
        rows.push(row);
    }
    let heads = ["function", "called by", "slow", "%", "all", "%", "points"];
    (!rows.is_empty()).then(|| grid(&heads, 2, &rows))
}

/// One that is called on many paths may have grown a little on each.
fn by_caller(frames: &[FlameFrame]) -> BTreeMap<Called<'_>, Own> {
    let mut path: Vec<&Frame> = vec![];
    let mut called: BTreeMap<Called<'_>, Own> = BTreeMap::new();
    for one in frames {
        path.truncate(one.depth);
        let own = called.entry((&one.frame, path.last().copied())).or_default();
        for (at, spent) in [one.tail, one.all].into_iter().enumerate() {
            own.means_ns[at] += spent.self_per_call_ns;
            own.shares[at] += spent.self_share;
        }
        path.push(&one.frame);
    }
    called
}

fn graphs(flame: &Flame, options: &FlameOptions) -> FlameGraphs {
    let percentile = percentile_name(options.above);
    let graph = |title: &str, of: &str, whole: Whole| {
        let mean = time(whole.total_ns as f64 / whole.calls.max(1) as f64 / 1e3);
        FlameGraph {
            title: title.to_owned(),
            subtitle: format!("{}{of}, {mean} each.", counted(options, whole.calls)),
            whole: format!("{title}, {mean} each"),
        }
    };
    let above = format!(" above {percentile}");
    let graphs = [graph(&format!("Slow:{above}"), &above, flame.tail), graph("All", "", flame.all)];
    FlameGraphs { graphs, frames: flame.frames.iter().map(bar).collect() }
}

fn bar(one: &FlameFrame) -> FlameBar {
    let shares = [one.tail.share, one.all.share];
    let (depth, self_grown) = (one.depth, one.self_grown);
    if shares.iter().all(|share| *share <= FlameGraphs::SHARE_MIN) {
        // Of a million paths most are not drawn: they take up room beside others alone.
        return FlameBar { name: String::new(), depth, shares, self_grown, tip: String::new() };
    }
    let mut name = one.frame.name.clone();
    shorten([&mut name], PAGE_NAME_MAX);
    let of = |spent: Spent| {
        format!(
            "{} of each, {} %; itself {}",
            time(spent.per_call_ns / 1e3),
            percent(spent.share),
            time(spent.self_per_call_ns / 1e3)
        )
    };
    let place = match (one.frame.file.as_str(), one.frame.line) {
        ("", _) => String::new(),
        (file, 0) => format!(", {}", near(file)),
        (file, line) => format!(", {}:{line}", near(file)),
    };
    let tip = format!(
        "{name}{place}\nslow: {}\nall: {}\n{} points in slow ones; itself {}",
        of(one.tail),
        of(one.all),
        points(one.grown),
        points(self_grown)
    );
    FlameBar { name, depth, shares, self_grown, tip }
}

/// A change of a share, in hundredths of the whole.
fn points(grown: f64) -> String {
    let points = grown * 100.0;
    // What is rounded to nothing has no sign.
    if points.abs() < 0.05 { "0".to_owned() } else { format!("{points:+.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With so much of the time in itself: as a share, and in milliseconds.
    fn frame(name: &str, depth: usize, tail: f64, all: f64) -> FlameFrame {
        let spent = |self_share: f64| Spent {
            share: 0.5,
            self_share,
            self_per_call_ns: self_share * 1e6,
            ..Spent::default()
        };
        FlameFrame {
            frame: Frame { name: name.to_owned(), file: String::new(), line: 0 },
            depth,
            tail: spent(tail),
            all: spent(all),
            grown: 0.0,
            self_grown: tail - all,
        }
    }

    /// Or all callers would have the colour of what grew below them, and what grew might have none.
    #[test]
    fn a_bar_is_coloured_by_its_own_time() {
        assert_eq!(bar(&frame("reader", 1, 0.5, 0.25)).self_grown, 0.25);
    }

    /// The lock grew by no more than any other on each of its paths, and by the most in all.
    #[test]
    fn a_function_of_many_paths_is_told_once_for_each_caller() {
        let paths = ["read", "write", "close"].map(|operation| {
            [
                frame(operation, 0, 0.0, 0.0),
                frame("handle", 1, 0.0, 0.0),
                frame("lock", 2, 0.25, 0.125),
            ]
        });
        let mut frames = paths.concat();
        frames.push(frame("parse", 0, 0.25, 0.0));
        let table = table(&frames).expect("two functions have grown");
        let rows: Vec<Vec<&str>> =
            table.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        let expected = [
            ["lock", "handle", "750", "µs", "75", "375", "µs", "38", "+37.5"].to_vec(),
            ["parse", "250", "µs", "25", "0", "µs", "0", "+25.0"].to_vec(),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_page_has_room_for_long_names_and_names_what_is_drawn_alone() {
        let long = format!("handle<{}>", "std::vector<int>, ".repeat(100));
        let drawn = bar(&frame(&long, 0, 0.5, 0.5));
        assert!(drawn.name.starts_with("handle<") && drawn.name.chars().count() <= PAGE_NAME_MAX);
        assert!(drawn.tip.starts_with(&drawn.name) && drawn.tip.contains("\nslow: "));
        let mut narrow = frame("handle", 0, 0.0, 0.0);
        (narrow.tail.share, narrow.all.share) = (0.0, FlameGraphs::SHARE_MIN);
        let narrow = bar(&narrow);
        assert!(narrow.name.is_empty() && narrow.tip.is_empty());
        assert!((narrow.shares[1] - FlameGraphs::SHARE_MIN).abs() < 1e-12);
    }

    #[test]
    fn a_change_has_its_sign_unless_it_is_none() {
        for (grown, expected) in
            [(0.296_1, "+29.6"), (-0.5, "-50.0"), (0.0, "0"), (-0.000_4, "0"), (0.000_6, "+0.1")]
        {
            assert_eq!(points(grown), expected);
        }
    }
}
