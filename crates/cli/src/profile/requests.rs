//! `tailwater profile requests`: the slowest requests, and where their time went.

use super::blame::{name_request, shorten_names, within};
use super::bounds::shown;
use super::companion::Companion;
use super::footer::footer;
use super::incomplete::{given_up, under_way};
use super::kernel;
use super::lines::{self, InRows};
use super::output::write_whole;
use super::page::{Subject, Told};
use super::reading::{Trace, near};
use super::run_queue;
use super::symbols::Symbols;
use super::tiers::{self, Shown};
use crate::failure::{Failure, say};
use clap::Args;
use std::path::{Path, PathBuf};
use tailwater_profile::kernel::Coverage;
use tailwater_profile::requests::{Parts, Report, RequestRow, Requests, RunQueueTimes};
use tailwater_report::{count, grid, timelines};

/// What to ask of a trace without marks.
pub(super) const UNMARKED: &str = "`tailwater profile report --slowest 20 -f NAME` needs none";

#[derive(Args, Debug)]
pub(crate) struct RequestsOptions {
    /// What `tailwater profile record` wrote. Of several, recorded at once in processes that call each other, the slowest
    /// requests of the first are followed into the others.
    #[arg(value_name = "TRACE", default_value = "tailwater.trace")]
    traces: Vec<PathBuf>,
    /// How many requests, at most 1000; of several traces at most 100.
    #[arg(long, value_name = "N", default_value_t = 10)]
    slowest: usize,
    /// Write a page with the time line of each: what every thread did meanwhile, its functions, its waits with their
    /// holders, and what the kernel did with it. It opens in any browser, without a network.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// The time line of each in the terminal, too.
    #[arg(long, conflicts_with = "json")]
    timeline: bool,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn requests(options: &RequestsOptions) -> Result<(), Failure> {
    match options.traces.as_slice() {
        [trace] => of_one(trace, options),
        traces => {
            let RequestsOptions { slowest, timeline, json, .. } = *options;
            let shown = Shown { slowest, timeline, json };
            tiers::requests(traces, &shown, options.page.as_deref())
        }
    }
}

fn of_one(path: &Path, options: &RequestsOptions) -> Result<(), Failure> {
    let trace = Trace::open(path)?;
    let header = trace.header().clone();
    let mut first = Requests::new(trace.header(), options.slowest);
    if Companion::Kernel.may_be_there(path, &header) {
        first = first.with_every();
    }
    let ending = trace.read(|item| match item {
        Ok(record) => first.add(record),
        Err(error) => first.damaged(error),
    });
    let mut second = first.finish(&ending);
    Trace::open(path)?.read(|item| {
        // Damage was counted in the first reading.
        if let Ok(record) = item {
            second.add(record);
        }
    });
    let mut report = second.finish();
    let sampled = InRows::find(path, &header, report.slowest.iter().map(|row| &row.stretches));
    let rows = report.slowest.iter_mut().flat_map(|row| {
        let own = (&mut row.stretches, &mut row.kernel);
        kernel::holders(&mut row.waits).chain([own])
    });
    let mut times = report.every.take().map(RunQueueTimes::new);
    report.kernel = kernel::account(path, &header, report.rate, rows, |record| {
        times.iter_mut().for_each(|times| times.add(record));
    });
    let times = times.filter(|_| report.kernel.is_some());
    report.run_queue = times.and_then(RunQueueTimes::finish);
    report.samples = sampled.coverage();
    name_places(&mut report, &sampled);
    // It has whole names.
    let json = options.json.then(|| serde_json::to_string_pretty(&report));
    let json = json.transpose().map_err(Failure::work)?;
    shorten_names(&mut report.slowest);
    let lines = timelines_of(&report, path, &header.program, options)?;
    if let Some(json) = json {
        return say(&json);
    }
    say(&format!("{}{}", text(&report, &header.program, &lines), lines::lacking(report.samples)))
}

/// Writes the page, if that is asked for, and gives the time lines of the requests where the terminal shall have them.
fn timelines_of(
    report: &Report,
    trace: &Path,
    program: &str,
    options: &RequestsOptions,
) -> Result<Vec<String>, Failure> {
    if options.page.is_none() && !options.timeline {
        return Ok(vec![]);
    }
    let subjects = report.slowest.iter().enumerate().map(Subject::request).collect();
    let told = Told::read(trace, subjects, &report.names)?;
    if let Some(path) = &options.page {
        let title = format!("Slowest requests of {}", near(program));
        let text = text(report, program, &[]);
        write_whole(path, trace, &timelines(&title, &text, &told.on_page()))?;
    }
    Ok(if options.timeline { told.in_terminal() } else { vec![] })
}

fn name_places(report: &mut Report, sampled: &InRows) {
    let mut symbols = Symbols::new(&report.names);
    sampled.name(report.slowest.iter_mut().map(|row| &mut row.lines), &mut symbols);
    report.slowest.iter_mut().for_each(|row| name_request(row, &mut symbols));
}

/// With a time line below each request, if there are any.
fn text(report: &Report, program: &str, lines: &[String]) -> String {
    let program = near(program);
    let footer = footer(report.records, report.rate, &report.quality);
    let footer = format!("{footer}{}", kernel::lacking(report.kernel.as_ref()));
    if report.count + report.incomplete.unfinished == 0 {
        return format!(
            "{program}: no request was marked. Call tw_req_start and tw_req_end of \
             tailwater/profile.h where the program begins and ends one; in Rust, wrap its future in \
             tailwater_marks::Marked. {UNMARKED}.\n\n{footer}"
        );
    }
    let mut out = format!(
        "{program}: {} requests, p50 {}, p99 {}, p99.9 {}, p99.99 {}\n",
        count(report.count),
        shown(report.p50_ns),
        shown(report.p99_ns),
        shown(report.p999_ns),
        shown(report.p9999_ns)
    );
    out.extend(under_way(&report.incomplete));
    out.push_str(&format!("\n{}\n", table(&report.slowest)));
    for (nth, row) in report.slowest.iter().enumerate() {
        out.push_str(&story(row, report.kernel.as_ref()));
        out.extend(lines.get(nth).map(String::as_str));
    }
    out.extend(report.run_queue.as_ref().map(run_queue::told));
    out.extend(given_up(&report.incomplete).map(|line| format!("\n{line}")));
    format!("{out}\n{footer}")
}

fn table(rows: &[RequestRow]) -> String {
    let heads = ["request", "at", "took", "running", "waiting", "queued", "pending", "unknown"];
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let parts = row.parts;
            let mut cells = vec![row.request.to_string(), format!("+{}", shown(row.start_ns))];
            let times = [
                row.total_ns,
                parts.running_ns,
                parts.waiting_ns,
                parts.queued_ns,
                parts.pending_ns,
                parts.unknown_ns,
            ];
            cells.extend(times.map(shown));
            cells
        })
        .collect();
    grid(&heads, 1, &rows)
}

/// What a request waited for and where it ran, in lines.
fn story(row: &RequestRow, coverage: Option<&Coverage>) -> String {
    let mut out = format!("\nrequest {}, {}:\n", row.request, shown(row.total_ns));
    out.push_str(&within(row));
    out.push_str(&lines::story(row.lines.as_ref()));
    if let Some(account) = &row.kernel {
        let beside = kernel::Beside { waited_ns: row.waited_ns, waits: &row.waits, coverage };
        out.push_str(&kernel::told(account, &beside));
        out.push_str(&without_thread(row.total_ns, row.parts, account.total_ns));
    }
    if row.left_out > 0 {
        out.push_str(&format!("  {} details of it are not listed\n", row.left_out));
    }
    out
}

/// Where the time went that the kernel's account leaves out, if that is more than half of the request's.
fn without_thread(total_ns: u64, parts: Parts, with_thread_ns: u64) -> String {
    if with_thread_ns >= total_ns / 2 {
        return String::new();
    }
    format!(
        "  A thread had it for {} of {}. It was queued for {}, and pending for {}.\n",
        shown(with_thread_ns),
        shown(total_ns),
        shown(parts.queued_ns),
        shown(parts.pending_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Mainly it ran" was all that was said of a request of 10 ms which ran for 4 µs.
    #[test]
    fn of_a_request_that_no_thread_had_for_most_of_its_time_that_is_told() {
        let parts = Parts {
            running_ns: 4_000,
            queued_ns: 4_000_000,
            pending_ns: 6_000_000,
            ..Parts::default()
        };
        assert_eq!(
            without_thread(10_004_000, parts, 4_000),
            "  A thread had it for 4.00 µs of 10.0 ms. It was queued for 4.00 ms, and pending for 6.00 ms.\n"
        );
        assert_eq!(without_thread(10_000, parts, 5_000), "");
    }
}
