//! The slowest requests on a page: the time line of each, thread by thread.

use super::bounds::{bounded, shown};
use super::reading::Trace;
use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tailwater_profile::history::{self, History};
use tailwater_profile::record::ThreadId;
use tailwater_profile::requests::{Report, RequestRow, State};
use tailwater_report::{RangeBar, RangeRow, Ranges, illustrated};

/// Threads drawn of a request: those that worked for it first, then those that did most.
const THREADS_MAX: usize = 12;
/// Levels of calls drawn of a thread, the outermost.
const LEVELS_MAX: usize = 16;
/// Calls drawn of a thread, and waits, the longest of each.
const BARS_MAX: usize = 1_000;
/// What bars are of; each has a colour.
const SERIES: [&str; 6] =
    ["running", "waiting for a lock", "in a function", "queued", "pending", "unknown"];
const WAITING: usize = 1;
const FUNCTION: usize = 2;

/// The page of a report on this trace, with what a terminal is told of it.
pub(super) fn page(
    trace: &Path,
    report: &Report,
    program: &str,
    text: &str,
) -> Result<String, Failure> {
    let reading = Trace::open(trace)?;
    let windows = report.slowest.iter().map(|row| row.span);
    let mut history = History::new(reading.header()).within(windows);
    let ending = reading.read(|item| {
        // Damage is told of in the report.
        if let Ok(record) = item {
            history.add(record);
        }
    });
    let history = history.finish(&ending);
    let picture = |(nth, row): (usize, &RequestRow)| {
        (format!("request-{}", nth + 1), timeline(row, &history).svg())
    };
    let pictures: Vec<(String, String)> = report.slowest.iter().enumerate().map(picture).collect();
    Ok(illustrated(&format!("Slowest requests of {program}"), None, text, &pictures))
}

/// A request's time from left to right: its own state above, and below what each thread did meanwhile.
fn timeline(row: &RequestRow, history: &history::Report) -> Ranges {
    let window = Window { from: row.start_ns, to: row.start_ns + row.total_ns };
    let mut lanes = lanes(history, &window);
    let is_own = |mark: &&history::MarkPoint| {
        mark.request == row.request && (window.from..=window.to).contains(&mark.at_ns)
    };
    let worked: BTreeSet<ThreadId> =
        history.marks.iter().filter(is_own).map(|mark| mark.thread).collect();
    let name = |thread: &ThreadId| {
        history.threads.iter().find(|(id, _)| id == thread).map_or("?", |(_, name)| name)
    };
    lanes.sort_by_key(|(thread, lane)| {
        (!worked.contains(thread), std::cmp::Reverse(lane.busy_ns), *thread)
    });
    let left_out = lanes.len().saturating_sub(THREADS_MAX);
    lanes.truncate(THREADS_MAX);
    let own = RangeRow { label: "the request".into(), bars: states(row), mark: None };
    let threads = lanes.into_iter().map(|(thread, lane)| RangeRow {
        label: name(&thread).to_owned(),
        bars: lane.bars,
        mark: None,
    });
    let more = match left_out {
        0 => String::new(),
        more => format!("; {more} more threads did less"),
    };
    Ranges {
        title: format!("Request {}, {}", row.request, shown(row.total_ns)),
        subtitle: format!("what each thread did meanwhile, callers above callees{more}"),
        axis: "microseconds since it began".into(),
        base: 0.0,
        series: SERIES.map(str::to_owned).to_vec(),
        mark: String::new(),
        rows: std::iter::once(own).chain(threads).collect(),
    }
}

/// A request's time, in nanoseconds since recording began.
struct Window {
    from: u64,
    to: u64,
}

impl Window {
    /// The part of a span within it, in microseconds since its beginning.
    fn cut(&self, start_ns: u64, ns: u64) -> Option<(f64, f64)> {
        let (from, to) = (start_ns.max(self.from), (start_ns + ns).min(self.to));
        let us = |at: u64| (at - self.from) as f64 / 1e3;
        (from < to).then(|| (us(from), us(to)))
    }
}

/// What a thread did.
#[derive(Default)]
struct Lane {
    bars: Vec<RangeBar>,
    busy_ns: u64,
}

/// The states of the request itself.
fn states(row: &RequestRow) -> Vec<RangeBar> {
    let bar = |step: &tailwater_profile::requests::Step| {
        let series = match step.state {
            State::Running => 0,
            State::Waiting => WAITING,
            State::Queued => 3,
            State::Pending => 4,
            State::Unknown => 5,
        };
        let thread =
            step.thread.as_ref().map_or(String::new(), |thread| format!(" in thread {thread}"));
        let from = step.at_ns as f64 / 1e3;
        RangeBar {
            ends: (from, from + step.ns as f64 / 1e3),
            lane: 0,
            series,
            name: SERIES[series].into(),
            tip: format!("{}{thread}: {}", SERIES[series], shown(step.ns)),
        }
    };
    row.steps.iter().map(bar).collect()
}

/// Calls and waits of all threads that touch the window. Waits lie on the first level, and calls below.
fn lanes(history: &history::Report, window: &Window) -> Vec<(ThreadId, Lane)> {
    let mut threads: BTreeMap<ThreadId, (Vec<&history::CallSpan>, Vec<&history::WaitSpan>)> =
        BTreeMap::new();
    for call in history.calls.iter().filter(|one| window.cut(one.start_ns, one.ns).is_some()) {
        threads.entry(call.thread).or_default().0.push(call);
    }
    for wait in history.waits.iter().filter(|one| window.cut(one.start_ns, one.ns).is_some()) {
        threads.entry(wait.thread).or_default().1.push(wait);
    }
    threads
        .into_iter()
        .map(|(thread, (calls, waits))| (thread, lane(calls, &waits, window)))
        .collect()
}

fn lane(mut calls: Vec<&history::CallSpan>, waits: &[&history::WaitSpan], window: &Window) -> Lane {
    // Of the levels that there are: what is not recorded leaves no hole.
    let depths: BTreeSet<u32> = calls.iter().map(|call| call.depth).collect();
    let level: BTreeMap<u32, usize> = depths.into_iter().take(LEVELS_MAX).zip(1..).collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.ns));
    let mut lane = Lane::default();
    let mut waits: Vec<_> = waits.iter().collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.ns));
    for wait in waits.into_iter().take(BARS_MAX) {
        let Some(ends) = window.cut(wait.start_ns, wait.ns) else { continue };
        let held =
            wait.holder.as_ref().map_or(String::new(), |holder| format!(", held by {holder}"));
        let held_in =
            wait.held_in.as_ref().map_or(String::new(), |function| format!(" in {function}"));
        let tip = format!(
            "waited {} for {} {:#x}{held}{held_in}",
            shown(wait.ns),
            wait.kind,
            wait.object
        );
        let name = format!("waits for {}{held}", wait.kind);
        lane.bars.push(RangeBar { ends, lane: 0, series: WAITING, name, tip });
    }
    for call in calls.iter().take(BARS_MAX) {
        let (Some(ends), Some(&level)) =
            (window.cut(call.start_ns, call.ns), level.get(&call.depth))
        else {
            continue;
        };
        if level == 1 {
            lane.busy_ns += ((ends.1 - ends.0) * 1e3) as u64;
        }
        let tip = format!("{}: {}", call.function, bounded(call.took));
        lane.bars.push(RangeBar {
            ends,
            lane: level,
            series: FUNCTION,
            name: call.function.clone(),
            tip,
        });
    }
    lane
}
