//! `tailwater profile report`: per function, how long its calls took and what held them up.

mod above;
mod calls;
mod counters;
mod lines;
mod locks;
mod places;
mod short;
mod slowest;

use super::bounds::{bounded, shown};
use super::footer::footer;
use super::glob::is_named;
use super::lines::lacking;
use super::reading::{Trace, near};
use crate::failure::{Failure, say};
use above::Above;
use calls::calls_table;
use clap::{Args, ValueEnum};
use lines::{find, find_all};
use locks::locks_tables;
use places::name_places;
use short::shorten_names;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use tailwater_profile::functions::{FunctionRow, Functions, Report, Together};
use tailwater_profile::names::demangled;
use tailwater_profile::record::Function;
use tailwater_report::count;

/// Characters of a name.
const NAME_MAX: usize = 56;

#[derive(Args, Debug)]
pub(crate) struct ReportOptions {
    /// What `tailwater profile record` wrote.
    #[arg(default_value = "tailwater.trace")]
    trace: PathBuf,
    /// What of a function's calls to sort by: its lower bound, where it is known by bounds. By mean, total and self the
    /// table has these instead of quantiles.
    #[arg(long, value_enum, default_value_t = Sort::P9999)]
    sort: Sort,
    /// Only functions whose name, as shown or as the linker has it, matches: `*` stands for anything,
    /// `?` for a character. May be given more than once; below the table stands how long threads were in any of them.
    #[arg(short, long, value_name = "GLOB")]
    function: Vec<String>,
    /// Instead of the table the slowest calls of the functions that --function names, one by one, at most 1000: what each
    /// waited for, who held it, and the calls within it with their lines. No mark is needed. The lines are read from the
    /// program's file, which must still be there.
    #[arg(
        long,
        value_name = "N",
        requires = "function",
        conflicts_with_all = ["sort", "min_count", "limit", "callers", "callees", "locks", "by_line", "lines", "counters"]
    )]
    slowest: Option<usize>,
    /// Of --slowest: write a page with the time line of each call. It has its thread, the holders of locks that it waited for,
    /// what the kernel did with these (`record --kernel`), and error bars. It opens in any browser, without a network.
    #[arg(long, value_name = "FILE", requires = "slowest")]
    page: Option<PathBuf>,
    /// Of --slowest: the time line of each call in the terminal, too.
    #[arg(long, requires = "slowest", conflicts_with = "json")]
    timeline: bool,
    /// Only functions with at least so many calls; 0: also those of whose calls no duration is known.
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_count: u64,
    /// At most so many functions; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Below each function, from which places it was called (at most five).
    #[arg(long)]
    callers: bool,
    /// Below each function, in which calls its time went and where in it they are (at most eight); the lines are read
    /// from the program's file, which must still be there.
    #[arg(long)]
    callees: bool,
    /// The locks that calls waited for, and in which function their holders had taken them. Of a recording with --holds also the locks
    /// that were held longest, and by which function.
    #[arg(long)]
    locks: bool,
    /// Where functions are defined, where --callers call and where --locks are taken; all but the first is read
    /// from the program's file, which must still be there.
    #[arg(long)]
    by_line: bool,
    /// First, the lines that add the most to slow calls of all functions, with what they call, whatever --min-count and --limit say
    /// (at most five); with --function, to those of these functions. Slow are calls above this percentile of their function, p99
    /// where none is given. Below each function, at which lines its threads were in its slow calls, and in no call within these that was
    /// seen (at most five).
    /// Needs samples (`record --lines`). The lines are read from the program's file, which must still be there.
    #[arg(
        long,
        value_enum,
        value_name = "PERCENTILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "p99"
    )]
    lines: Option<Above>,
    /// Below each function that times itself, what its thread counted in its calls, and in the slow ones among them: those above this
    /// percentile, p99 where none is given. Needs counts (`record --counters`). Of single calls --slowest tells them.
    #[arg(
        long,
        value_enum,
        value_name = "PERCENTILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "p99"
    )]
    counters: Option<Above>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
    /// Whether it is of the last moments of a program that goes on.
    #[arg(skip)]
    live: bool,
}

/// What `top` shows of a trace.
#[derive(Args, Debug)]
pub(crate) struct Shown {
    /// What of a function's calls to sort by: its lower bound, where it is known by bounds.
    #[arg(long, value_enum, default_value_t = Sort::P999)]
    sort: Sort,
    /// Only functions whose name, as shown or as the linker has it, matches: `*` stands for anything,
    /// `?` for a character. May be given more than once.
    #[arg(short, long, value_name = "GLOB")]
    function: Vec<String>,
    /// At most so many functions; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print each table as one JSON object, as `report` does.
    #[arg(long)]
    json: bool,
}

impl ReportOptions {
    pub(super) fn of(trace: &Path, shown: &Shown) -> Self {
        let Shown { sort, ref function, limit, json } = *shown;
        Self {
            trace: trace.to_owned(),
            sort,
            function: function.clone(),
            slowest: None,
            page: None,
            timeline: false,
            min_count: 1,
            limit,
            callers: false,
            callees: false,
            locks: false,
            by_line: false,
            lines: None,
            counters: None,
            json,
            live: true,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    /// The 99th percentile.
    P99,
    /// The 99.9th.
    P999,
    /// The 99.99th.
    P9999,
    /// The longest call.
    Max,
    /// The number of calls.
    Count,
    /// The sum of all calls.
    Total,
    /// The mean of all calls.
    Mean,
    /// Time in the function itself and in no call of another that was seen.
    #[value(name = "self")]
    Itself,
}

pub(super) fn report(options: &ReportOptions) -> Result<(), Failure> {
    if let Some(slowest) = options.slowest {
        return slowest::slowest(options, slowest);
    }
    let trace = Trace::open(&options.trace)?;
    let header = trace.header().clone();
    let program = header.program.clone();
    let mut functions = Functions::new(trace.header());
    if !options.function.is_empty() {
        let globs = options.function.clone();
        functions = functions.together(move |function: &Function| {
            is_named(&globs, &demangled(&function.name), &function.name)
        });
    }
    let ending = trace.read(|item| match item {
        Ok(record) => functions.add(record),
        Err(error) => functions.damaged(error),
    });
    let mut report = functions.finish(&ending);
    let seen = report.functions.len();
    leave_out_unasked(&mut report, options);
    let mut changed = match options.lines {
        Some(_) if seen == 0 => find_all(&mut report, &options.trace, &header)?,
        Some(above) => find(&mut report, above, &options.trace, &header)?,
        None => vec![],
    };
    if let Some(above) = options.counters {
        counters::find(&mut report, above, &options.trace)?;
    }
    let cut = order(&mut report, options);
    changed.extend(name_places(&mut report, options));
    changed.sort_unstable();
    changed.dedup();
    if options.json {
        return say(&serde_json::to_string_pretty(&report).map_err(Failure::work)?);
    }
    shorten_names(&mut report, options);
    let text = text(&report, &program, (seen, cut), options);
    say(&format!("{text}{}", lacking(report.samples)))?;
    for path in changed {
        let path = near(&path);
        say(&format!("{path} is not the file that was recorded: no lines from it."))?;
    }
    Ok(())
}

/// Keeps the functions that are asked for by name. Before lines and counts are read: these are of slow calls of those alone.
fn leave_out_unasked(report: &mut Report, options: &ReportOptions) {
    if !options.function.is_empty() {
        report.functions.retain(|row| is_named(&options.function, &row.name, &row.symbol));
    }
}

/// Keeps those with calls enough, sorts and cuts as asked; tells how many are cut off.
fn order(report: &mut Report, options: &ReportOptions) -> usize {
    let rows = &mut report.functions;
    rows.retain(|row| row.calls.count >= options.min_count);
    rows.sort_by_key(|row| (is_around(row, report.length_ns), Reverse(options.sort.key(row))));
    let all = rows.len();
    if options.limit > 0 {
        rows.truncate(options.limit);
    }
    all - rows.len()
}

/// What lasts for most of the recording, as `main` and the loops of threads, is around all else.
fn is_around(row: &FunctionRow, length_ns: u64) -> bool {
    row.calls.p50.low_ns > length_ns / 2
}

impl Sort {
    /// Whether it is of sums, and not of quantiles.
    const fn is_of_sums(self) -> bool {
        matches!(self, Self::Total | Self::Mean | Self::Itself)
    }

    /// What is surely long is more than what may be; of equals, what is known best.
    fn key(self, row: &FunctionRow) -> (u64, Reverse<u64>) {
        let calls = &row.calls;
        let bounds = match self {
            Self::P99 => calls.p99,
            Self::P999 => calls.p999,
            Self::P9999 => calls.p9999,
            Self::Max => calls.max,
            Self::Count => return (calls.count, Reverse(0)),
            Self::Total => calls.total,
            Self::Mean => calls.mean,
            Self::Itself => row.itself,
        };
        (bounds.low_ns, Reverse(bounds.high_ns.unwrap_or(u64::MAX)))
    }
}

/// `seen`: functions before any were left out; `cut`: those that only the limit leaves out.
fn text(
    report: &Report,
    program: &str,
    (seen, cut): (usize, usize),
    options: &ReportOptions,
) -> String {
    let mut out =
        options.lines.map_or_else(String::new, |above| lines::table(report, program, above));
    out.push_str(&format!("{}: functions by {}\n\n", near(program), options.sort.name()));
    if report.functions.is_empty() && seen > 0 {
        let asked = options.function.join(" or ");
        out.push_str(&match &report.together {
            Some(together) if together.functions == 0 && options.live => {
                format!("No call of {asked} has ended since the last look, or no function has that name.\n")
            }
            Some(together) if together.functions == 0 => {
                format!("None of the trace's {} functions is called {asked}. {UNNAMED}\n", count(seen as u64))
            }
            _ if options.live => {
                "Of no call that was seen is known how long it took. A longer --every sees more.\n".to_owned()
            }
            _ => format!(
                "None of {} functions matches. --min-count 0 also lists those of whose calls no duration is known.\n",
                count(seen as u64)
            ),
        });
    } else if report.functions.is_empty() {
        out.push_str(if report.sampled.is_some() {
            "No call was seen.\n"
        } else if report.quality.unscanned {
            "No function timed its calls, and no scanner looked (--scanners 0). Build with --clock, or record with a scanner. Of a \
             recording with --lines, `report --lines` tells where threads were.\n"
        } else if options.live {
            "No call has ended since the last look: the program is idle, or in calls that go on. A longer --every sees more.\n"
        } else {
            "No call was seen. Did the program run for some milliseconds, unfiltered?\n"
        });
    } else {
        out.push_str(&calls_table(report, options));
        out.push('\n');
        if cut > 0 {
            let functions = several(cut as u64, "more function");
            out.push_str(&format!("and {functions}; --limit 0 lists them\n"));
        }
    }
    if let Some(above) = options.lines {
        out.push_str(&lines::without_slow_calls(report, above));
    }
    if let Some(together) = report.together.as_ref().filter(|it| it.functions > 0) {
        out.push_str(&as_one(together, report.length_ns));
    }
    if options.locks {
        out.push_str(&locks_tables(report, options));
    }
    let footer = footer(report.records, report.rate, &report.quality);
    out.push_str(&format!("\n{}\n{footer}", meaning(report, options)));
    out
}

/// Said where no function has the name that was asked for.
const UNNAMED: &str = "`tailwater profile report --limit 0` lists those that are in it; what was inlined is not. `--callees` and \
                       `--lines` (of `record --lines`) of the function around it name that.";

/// Said of sums.
const SUMS: &str = "In all: the time of all calls, of one within another of the same function twice. Self: without the \
                    calls that the function made and that were seen; those too short for that are in it.\n";

/// The functions that were asked for, each moment of a thread once.
fn as_one(together: &Together, length_ns: u64) -> String {
    let nested = match together.nested {
        0 => String::new(),
        1 => "; one more was within these, and counts once".to_owned(),
        nested => format!("; {} more were within these, and count once", count(nested)),
    };
    format!(
        "\nTogether, {} took {} of the {} recorded, in {}, {} on average{nested}. Self time, without the calls of \
         other functions that were seen: {}. Threads add up. Calls too short to be seen count for their callers alone.\n",
        several(together.functions, "function"),
        bounded(together.total),
        shown(length_ns),
        several(together.calls, "call"),
        bounded(together.mean),
        bounded(together.itself),
    )
}

/// A number of things, with their noun.
fn several(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

/// What the numbers mean, and what is not in them.
fn meaning(report: &Report, options: &ReportOptions) -> String {
    let left_out = match report.left_out {
        0 => "No call is left out.".to_owned(),
        left_out => format!(
            "Calls left out, of whose duration nothing is known: {}, the longest at most {} of the recording.",
            count(left_out),
            shown(report.left_out_max_ns)
        ),
    };
    let unplaced = match report.unplaced {
        0 => String::new(),
        unplaced => format!(
            "\nThe places of {} calls are not told: more lines call than are kept apart (16,384). --function does not \
             help; `profile record --filter` does.",
            count(unplaced)
        ),
    };
    let clocked = clocked(&report.functions);
    let (sums, seen) = if options.sort.is_of_sums() {
        (SUMS, "")
    } else {
        ("", of_seen(report.quality.lost_calls, &report.functions))
    };
    if report.quality.unscanned {
        return format!(
            "{sums}A number alone is known to 5 %; a–b, ≤ and ≥ are bounds. Open calls had not ended with the recording.\n\
             {clocked}{left_out}{seen}{unplaced}"
        );
    }
    format!(
        "{sums}A number alone is known to 5 %; a–b, ≤ and ≥ are bounds, by when the scanner looked. Open calls began \
         before the recording or had not ended with it.\n{clocked}{left_out}{seen}{unplaced}"
    )
}

/// Which functions of the table have timed their own calls.
fn clocked(rows: &[FunctionRow]) -> String {
    let names = rows.iter().filter(|row| row.calls.clocked > 0).map(|row| row.name.as_str());
    match names.collect::<Vec<&str>>().join(", ") {
        none if none.is_empty() => none,
        names => format!("Timed by the program itself, every call however short: {names}.\n"),
    }
}

/// What quantiles are of, where so many calls are of no function that is known.
fn of_seen(lost: u64, rows: &[FunctionRow]) -> &'static str {
    let clocked = rows.iter().filter(|row| row.calls.clocked > 0).count();
    if lost == 0 || (clocked > 0 && clocked == rows.len()) {
        ""
    } else if clocked > 0 {
        "\nQuantiles of the other functions are of the calls that were seen. With the lost ones they would be lower."
    } else {
        "\nQuantiles are of the calls that were seen. With the lost ones they would be lower."
    }
}

impl Sort {
    const fn name(self) -> &'static str {
        match self {
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
            Self::Max => "their longest call",
            Self::Count => "number of calls",
            Self::Total => "time in all",
            Self::Mean => "mean time",
            Self::Itself => "time in themselves",
        }
    }
}

#[test]
fn of_a_program_that_goes_on_and_is_idle_it_is_not_asked_whether_it_ran() {
    use super::testing::header;
    use tailwater_profile::trace::Ending;
    let report = Functions::new(&header()).finish(&Ending::Unfinished);
    let shown = Shown { sort: Sort::P999, function: vec![], limit: 20, json: false };
    let top = ReportOptions::of(Path::new("top.trace"), &shown);
    let told = text(&report, "server", (0, 0), &top);
    assert!(told.contains("No call has ended since the last look"), "{told}");
    let told = text(&report, "server", (0, 0), &ReportOptions { live: false, ..top });
    assert!(told.contains("Did the program run for some milliseconds"), "{told}");
    // Functions that are called now and then are not taken for unknown ones.
    let report =
        Functions::new(&header()).together(|_: &Function| false).finish(&Ending::Unfinished);
    let shown = Shown { sort: Sort::P999, function: vec!["handle".into()], limit: 20, json: false };
    let top = ReportOptions::of(Path::new("top.trace"), &shown);
    let told = text(&report, "server", (3, 0), &top);
    assert!(told.contains("No call of handle has ended since the last look"), "{told}");
    let report = Functions::new(&header()).finish(&Ending::Unfinished);
    let told = text(&report, "server", (3, 0), &top);
    assert!(told.contains("A longer --every") && !told.contains("--min-count"), "{told}");
}

#[test]
fn quantiles_without_lost_calls_need_no_word() {
    assert_eq!(of_seen(0, &[]), "");
    assert!(of_seen(1, &[]).contains("Quantiles are of the calls that were seen"));
}
