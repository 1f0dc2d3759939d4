//! The joined requests on a page: one time line for each, over all processes.

use crate::profile::bounds::shown;
use tailwater_profile::requests::State;
use tailwater_profile::tiers::{Doing, Report, RootRow, TierRequest};
use tailwater_report::{Timeline, TimelineBar, TimelineRow, timelines};

/// Requests drawn of a tree: those that had most of the time.
const ROWS_MAX: usize = 40;
/// What bars are of; each has a colour.
const SERIES: [&str; 8] = [
    "running",
    "waiting for a lock",
    "queued",
    "pending",
    "unknown",
    "between two processes",
    "in no trace",
    "a call, from sent to answered",
];
const CALL: usize = 7;

pub(super) fn page(report: &Report, text: &str) -> String {
    let picture =
        |(nth, root): (usize, &RootRow)| (format!("request-{}", nth + 1), timeline(root, report));
    let lines: Vec<(String, Timeline)> = report.slowest.iter().enumerate().map(picture).collect();
    let names: Vec<&str> = report.traces.iter().map(|trace| trace.trace.as_str()).collect();
    timelines(&format!("Slowest requests over {}", names.join(", ")), text, &lines)
}

/// What held the request up above, and below a row for each request of the tree: its states, and under these its calls.
pub(super) fn timeline(root: &RootRow, report: &Report) -> Timeline {
    let mut drawn: Vec<&TierRequest> = root.requests.iter().collect();
    // The first is the request itself.
    drawn[1..].sort_by_key(|one| std::cmp::Reverse(one.held_ns));
    let left_out = drawn.len().saturating_sub(ROWS_MAX);
    drawn.truncate(ROWS_MAX);
    drawn.sort_by_key(|one| one.at_ns);
    let path = TimelineRow { label: "where the time went".into(), bars: path(root, report) };
    let rows = drawn.into_iter().map(|one| row(one, root, report));
    let rows: Vec<TimelineRow> = std::iter::once(path).chain(rows).collect();
    // By clocks that are known by bounds a part of it may lie before its beginning.
    let ends = || rows.iter().flat_map(|row| &row.bars).map(|bar| bar.ends);
    let from = ends().map(|(from, _)| from).chain([0]).min().unwrap_or(0);
    let to = ends().map(|(_, to)| to).chain([root.total_ns as i64]).max().unwrap_or(0);
    let more = match left_out {
        0 => String::new(),
        more => format!("; {more} more requests had less of it"),
    };
    Timeline {
        title: format!("Request {}, {}", root.request, shown(root.total_ns)),
        subtitle: format!(
            "each process's part on one clock, its calls below; times since it began{more}"
        ),
        ends: (from, to),
        series: SERIES.map(str::to_owned).to_vec(),
        rows,
        arrows: vec![],
    }
}

fn path(root: &RootRow, report: &Report) -> Vec<TimelineBar> {
    let part = |step: &tailwater_profile::tiers::PathStep| {
        let process = &report.traces[root.requests[step.request].trace].trace;
        let series = series(step.doing);
        let name = match step.doing {
            Doing::Between => format!("to {process} and back"),
            Doing::Unrecorded => format!("a call of {process}"),
            _ => process.clone(),
        };
        let tip = format!("{name}, {}: {}", SERIES[series], shown(step.ns));
        let at = step.at_ns as i64;
        bar(at, at + step.ns as i64, (0, series), name, tip)
    };
    root.steps.iter().map(part).collect()
}

fn row(one: &TierRequest, root: &RootRow, report: &Report) -> TimelineRow {
    let steps = one.row.iter().flat_map(|row| &row.steps).map(|step| {
        let at = one.at_ns + step.at_ns as i64;
        let series = series(doing(step.state));
        let thread = step.thread.as_ref().map_or(String::new(), |it| format!(" in thread {it}"));
        let tip = format!("{}{thread}: {}", SERIES[series], shown(step.ns));
        bar(at, at + step.ns as i64, (0, series), SERIES[series].into(), tip)
    });
    let legs = one.legs.iter().map(|leg| {
        let end = leg.answered_ns.unwrap_or(root.total_ns as i64);
        let called = leg.request.and_then(|place| root.requests.get(place));
        let name = called
            .map_or("a call that no trace tells of", |it| report.traces[it.trace].trace.as_str());
        let answer = if leg.answered_ns.is_some() { "" } else { ", not answered meanwhile" };
        let tip = format!("call to {name}{answer}: {}", shown((end - leg.sent_ns).unsigned_abs()));
        bar(leg.sent_ns, end, (1, CALL), format!("→ {name}"), tip)
    });
    let number = one.row.as_ref().map_or(String::new(), |row| format!(" {}", row.request));
    TimelineRow {
        label: format!("{}{number}", report.traces[one.trace].trace),
        bars: steps.chain(legs).collect(),
    }
}

const fn series(doing: Doing) -> usize {
    match doing {
        Doing::Running => 0,
        Doing::Waiting => 1,
        Doing::Queued => 2,
        Doing::Pending => 3,
        Doing::Unknown => 4,
        Doing::Between => 5,
        Doing::Unrecorded => 6,
    }
}

const fn doing(state: State) -> Doing {
    match state {
        State::Running => Doing::Running,
        State::Waiting => Doing::Waiting,
        State::Queued => Doing::Queued,
        State::Pending => Doing::Pending,
        State::Unknown => Doing::Unknown,
    }
}

/// A bar in a lane, of a series.
const fn bar(
    from: i64,
    to: i64,
    (lane, series): (usize, usize),
    name: String,
    tip: String,
) -> TimelineBar {
    TimelineBar { ends: (from, to), unsure: (0, 0), lane, series, name, tip }
}
