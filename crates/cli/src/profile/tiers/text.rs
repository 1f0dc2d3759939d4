//! The joined requests for a terminal.

use super::page::timeline;
use crate::profile::blame::within;
use crate::profile::bounds::shown;
use crate::profile::footer::footer;
use crate::profile::incomplete::{given_up, under_way};
use crate::profile::kernel;
use crate::profile::page;
use crate::profile::reading::near;
use crate::profile::run_queue;
use std::cmp::Reverse;
use tailwater_profile::requests::RunQueue;
use tailwater_profile::tiers::{Basis, ClockRow, Report, RootRow, TierRequest, TierRow};
use tailwater_report::{count, grid};

/// Requests told of below one of the first trace.
const STORIES_MAX: usize = 5;

/// With a time line below each request, if asked for.
pub(super) fn text(report: &Report, is_drawn: bool) -> String {
    let mut out = String::new();
    for trace in &report.traces {
        out.push_str(&line(trace));
    }
    out.push_str(&format!("\n{}", joined(report)));
    for clock in &report.clocks[1..] {
        out.push_str(&told(clock, &report.traces[0].trace));
    }
    out.push_str(&format!("\n{}\n", table(report)));
    for root in &report.slowest {
        out.push_str(&story(root, report));
        if is_drawn {
            out.push_str(&page::text(&timeline(root, report)));
        }
    }
    out.push_str(&waited(report));
    for trace in &report.traces {
        out.push_str(&format!(
            "\n{}: {}{}\n",
            trace.trace,
            footer(trace.records, trace.rate, &trace.quality),
            kernel::lacking(trace.kernel.as_ref())
        ));
    }
    out
}

/// What all requests of each trace waited for a core; nothing where that is known of none.
fn waited(report: &Report) -> String {
    let rows = report.traces.iter();
    let known: Vec<(&str, &RunQueue)> =
        rows.filter_map(|row| Some((row.trace.as_str(), row.run_queue.as_ref()?))).collect();
    if known.is_empty() {
        return String::new();
    }
    let mut out = run_queue::told_of_each(&known);
    out.extend(report.traces.iter().filter_map(unwaited));
    out
}

/// Why a trace is not in that table, and what to type; `None` where it is, or has no request.
fn unwaited(trace: &TierRow) -> Option<String> {
    let TierRow { trace: name, program, quality, kernel, requests, .. } = trace;
    if *requests == 0 {
        return None;
    }
    if quality.kept.is_some() {
        return Some(format!(
            "{name} holds a part of its requests, so what all of them waited is not known: record it without --keep.\n"
        ));
    }
    let program = near(program);
    kernel.is_none().then(|| {
        format!(
            "{name} has no file of the kernel's beside it, so what its requests waited is not known. This writes one: \
             tailwater profile record --kernel -o TRACE -- {program} …\n"
        )
    })
}

fn line(trace: &TierRow) -> String {
    let left_out = match trace.left_out {
        0 => String::new(),
        more => format!("; the shortest {} found no room here and are not followed", count(more)),
    };
    let mut out = format!(
        "{} ({}): {} requests, p50 {}, p99 {}, p99.9 {}{left_out}\n",
        trace.trace,
        near(&trace.program),
        count(trace.requests),
        shown(trace.p50_ns),
        shown(trace.p99_ns),
        shown(trace.p999_ns)
    );
    let lines = [under_way(&trace.incomplete), given_up(&trace.incomplete)];
    out.extend(lines.into_iter().flatten().map(|line| format!("  {line}")));
    out
}

/// How many calls were found, and what may be wrong where there are none.
fn joined(report: &Report) -> String {
    let first = &report.traces[0].trace;
    if report.calls == 0 {
        return format!(
            "No request of {first} has told of a call to another process: name the trace of the process that calls the others \
             first. Servers of this toolkit tell of theirs; others by tw_req_sent and tw_req_called of tailwater/profile.h.\n"
        );
    }
    let doubled = match report.doubled_names {
        0 => String::new(),
        names => format!(
            "Names of calls that are told of more than once: {}. Which of these calls is which is not known, and none is followed.\n",
            count(names)
        ),
    };
    format!(
        "Of {} calls of requests of {first} the other traces tell of {}.\n{doubled}",
        count(report.calls),
        count(report.calls_found)
    )
}

/// How a trace's clock was brought to the first one's, and what speaks against that.
fn told(clock: &ClockRow, first: &str) -> String {
    let (trace, calls) = (&clock.trace, count(clock.calls));
    let other = clock.counter_of.as_deref().unwrap_or(first);
    let mut out = match clock.basis {
        Basis::First => String::new(),
        Basis::Unknown => format!("{trace}: no call joins it to {first}, so it is left out.\n"),
        Basis::SameCounter if clock.contradiction_ns > 0 => {
            format!("{trace}: by its counter it was recorded on one machine with {other}.\n")
        }
        Basis::SameCounter if clock.calls == 0 => {
            format!("{trace}: one counter of one machine with {other}; no call has checked that.\n")
        }
        Basis::SameCounter => format!(
            "{trace}: one counter of one machine with {other}; {calls} calls agree with that.\n"
        ),
        Basis::Calls => format!(
            "{trace}: its clock is {} {} {first}'s, ± {}, from {calls} calls.\n",
            shown(clock.ahead_ns.unsigned_abs()),
            if clock.ahead_ns < 0 { "behind" } else { "ahead of" },
            shown(clock.error_ns)
        ),
    };
    if clock.counter_excluded_ns > 0 {
        out.push_str(&format!(
            "{trace}: its counter and clock fit another trace's as if both were of one machine. Its calls exclude that by {}.\n",
            shown(clock.counter_excluded_ns)
        ));
    }
    if clock.contradiction_ns > 0 {
        out.push_str(&format!(
            "{trace}: its calls, or those on the way from {first}, contradict each other by {}: do not believe the times \
             between it and others.\n",
            shown(clock.contradiction_ns)
        ));
    }
    out
}

fn table(report: &Report) -> String {
    let mut heads = vec!["request", "at", "took"];
    heads.extend(report.traces.iter().map(|trace| trace.trace.as_str()));
    heads.extend(["between", "elsewhere"]);
    let rows: Vec<Vec<String>> = report
        .slowest
        .iter()
        .map(|root| {
            let between: u64 = root.parts.iter().map(|part| part.between_ns).sum();
            let mut cells = vec![
                root.request.to_string(),
                format!("+{}", shown(root.start_ns)),
                shown(root.total_ns),
            ];
            cells.extend(root.parts.iter().map(|part| shown(part.own_ns())));
            cells.extend([between, root.unrecorded_ns].map(shown));
            cells
        })
        .collect();
    grid(&heads, 1, &rows)
}

/// Which processes held a request up, most time first.
fn story(root: &RootRow, report: &Report) -> String {
    let mut met: Vec<&TierRequest> = root.requests.iter().filter(|one| one.held_ns > 0).collect();
    met.sort_by_key(|one| Reverse(one.held_ns));
    let mut out = format!("\nrequest {}, {}", root.request, shown(root.total_ns));
    let most = (0..root.parts.len()).max_by_key(|&trace| root.parts[trace].own_ns());
    if let Some(most) = most.filter(|&most| root.parts[most].own_ns() * 2 >= root.total_ns) {
        let (name, part) = (&report.traces[most].trace, &root.parts[most]);
        out.push_str(&format!(", mainly in {name}: {}", shown(part.own_ns())));
    }
    out.push_str(":\n");
    for one in met.iter().take(STORIES_MAX) {
        out.push_str(&held(one, report));
    }
    for (part, trace) in root.parts.iter().zip(&report.traces) {
        if part.between_ns * 20 >= root.total_ns {
            let between = shown(part.between_ns);
            out.push_str(&format!("  on the way to {} and back: {between}\n", trace.trace));
        }
    }
    if root.unrecorded_ns > 0 {
        let elsewhere = shown(root.unrecorded_ns);
        out.push_str(&format!("  in calls that no trace tells of: {elsewhere}\n"));
    }
    let more = met.len().saturating_sub(STORIES_MAX) as u64 + root.left_out;
    if more > 0 {
        out.push_str(&format!("  {} details of it are not listed\n", count(more)));
    }
    out
}

fn held(one: &TierRequest, report: &Report) -> String {
    let name = &report.traces[one.trace].trace;
    let Some(row) = &one.row else {
        return format!("  {name}: {}; its file has changed meanwhile\n", shown(one.held_ns));
    };
    let parts = row.parts;
    let parts = [
        ("running", parts.running_ns),
        ("waiting", parts.waiting_ns),
        ("queued", parts.queued_ns),
        ("pending", parts.pending_ns),
        ("unknown", parts.unknown_ns),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, ns)| *ns > 0)
        .map(|(what, ns)| format!("{what} {}", shown(ns)))
        .collect();
    let sign = if one.at_ns < 0 { "−" } else { "+" };
    let mut out = format!(
        "  {name}, its request {} at {sign}{}: {} of {} ({})\n",
        row.request,
        shown(one.at_ns.unsigned_abs()),
        shown(one.held_ns),
        shown(row.total_ns),
        parts.join(", ")
    );
    for line in within(row).lines() {
        out.push_str(&format!("  {line}\n"));
    }
    out
}
