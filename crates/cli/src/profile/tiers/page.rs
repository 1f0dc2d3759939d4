//! The joined requests on a page: one time line for each, over all processes.

use crate::profile::bounds::shown;
use tailwater_profile::requests::State;
use tailwater_profile::tiers::{Doing, Report, RootRow, TierRequest};
use tailwater_report::{RangeBar, RangeRow, Ranges, illustrated};

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
    let picture = |(nth, root): (usize, &RootRow)| {
        (format!("request-{}", nth + 1), timeline(root, report).svg())
    };
    let pictures: Vec<(String, String)> = report.slowest.iter().enumerate().map(picture).collect();
    let names: Vec<&str> = report.traces.iter().map(|trace| trace.trace.as_str()).collect();
    illustrated(&format!("Slowest requests over {}", names.join(", ")), None, text, &pictures)
}

/// What held the request up above, and below a row for each request of the tree: its states, and under these its calls.
fn timeline(root: &RootRow, report: &Report) -> Ranges {
    let mut drawn: Vec<&TierRequest> = root.requests.iter().collect();
    // The first is the request itself.
    drawn[1..].sort_by_key(|one| std::cmp::Reverse(one.held_ns));
    let left_out = drawn.len().saturating_sub(ROWS_MAX);
    drawn.truncate(ROWS_MAX);
    drawn.sort_by_key(|one| one.at_ns);
    let path =
        RangeRow { label: "where the time went".into(), bars: path(root, report), mark: None };
    let rows = drawn.into_iter().map(|one| row(one, root, report));
    let more = match left_out {
        0 => String::new(),
        more => format!("; {more} more requests had less of it"),
    };
    Ranges {
        title: format!("Request {}, {}", root.request, shown(root.total_ns)),
        subtitle: format!("each process's part on one clock, its calls below{more}"),
        axis: "microseconds since it began".into(),
        base: 0.0,
        series: SERIES.map(str::to_owned).to_vec(),
        mark: String::new(),
        rows: std::iter::once(path).chain(rows).collect(),
    }
}

fn path(root: &RootRow, report: &Report) -> Vec<RangeBar> {
    let bar = |step: &tailwater_profile::tiers::PathStep| {
        let process = &report.traces[root.requests[step.request].trace].trace;
        let series = series(step.doing);
        let name = match step.doing {
            Doing::Between => format!("to {process} and back"),
            Doing::Unrecorded => format!("a call of {process}"),
            _ => process.clone(),
        };
        let tip = format!("{name}, {}: {}", SERIES[series], shown(step.ns));
        let at = step.at_ns as i64;
        RangeBar { ends: (us(at), us(at + step.ns as i64)), lane: 0, series, name, tip }
    };
    root.steps.iter().map(bar).collect()
}

fn row(one: &TierRequest, root: &RootRow, report: &Report) -> RangeRow {
    let steps = one.row.iter().flat_map(|row| &row.steps).map(|step| {
        let at = one.at_ns + step.at_ns as i64;
        let series = series(doing(step.state));
        let thread = step.thread.as_ref().map_or(String::new(), |it| format!(" in thread {it}"));
        let tip = format!("{}{thread}: {}", SERIES[series], shown(step.ns));
        let ends = (us(at), us(at + step.ns as i64));
        RangeBar { ends, lane: 0, series, name: SERIES[series].into(), tip }
    });
    let legs = one.legs.iter().map(|leg| {
        let end = leg.answered_ns.unwrap_or(root.total_ns as i64);
        let called = leg.request.and_then(|place| root.requests.get(place));
        let name = called
            .map_or("a call that no trace tells of", |it| report.traces[it.trace].trace.as_str());
        let answer = if leg.answered_ns.is_some() { "" } else { ", not answered meanwhile" };
        let tip = format!("call to {name}{answer}: {}", shown((end - leg.sent_ns).unsigned_abs()));
        let ends = (us(leg.sent_ns), us(end));
        RangeBar { ends, lane: 1, series: CALL, name: format!("→ {name}"), tip }
    });
    let number = one.row.as_ref().map_or(String::new(), |row| format!(" {}", row.request));
    RangeRow {
        label: format!("{}{number}", report.traces[one.trace].trace),
        bars: steps.chain(legs).collect(),
        mark: None,
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

/// Nanoseconds as the axis has them.
const fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}
