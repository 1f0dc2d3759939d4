//! What tailwater promises of its transport, beside what was measured. Goals are ratios within one
//! interleaved run: absolute numbers belong to a machine.

use super::cases::Peer;
use super::report::{Of, Report};
use crate::drive::Outcome;
use std::fmt::Write;

/// One promise.
struct Goal {
    case: &'static str,
    what: &'static str,
    of: Of,
    unit: Peer,
    promise: Promise,
}

enum Promise {
    /// Tailwater's number is at most this many times the unit's.
    AtMost(f64),
    /// Tailwater's number is smaller than the unit's by at least this factor.
    Better(f64),
}

const CPU: (&str, Of) = ("CPU per request", Outcome::cpu_ns_per_request);
const ROUND_TRIP: (&str, Of) = ("median round trip", |outcome| outcome.p50_ns as f64);

const fn goal(case: &'static str, of: (&'static str, Of), unit: Peer, promise: Promise) -> Goal {
    Goal { case, what: of.0, of: of.1, unit, promise }
}

const GOALS: [Goal; 12] = [
    goal("1000x1", CPU, Peer::Raw, Promise::AtMost(1.25)),
    goal("1000x1", CPU, Peer::Tonic, Promise::Better(3.5)),
    goal("50x16", CPU, Peer::Raw, Promise::AtMost(3.0)),
    goal("50x16", CPU, Peer::Tonic, Promise::Better(10.0)),
    goal("50x16", CPU, Peer::Tarpc, Promise::Better(2.5)),
    goal("spin", ROUND_TRIP, Peer::Raw, Promise::AtMost(1.3)),
    goal("sleep", ROUND_TRIP, Peer::Raw, Promise::AtMost(1.1)),
    goal("fan", CPU, Peer::Raw, Promise::AtMost(1.35)),
    goal("fan", CPU, Peer::Tonic, Promise::Better(3.0)),
    goal("fan-alone", CPU, Peer::Raw, Promise::AtMost(1.35)),
    goal("fan-alone", CPU, Peer::Tonic, Promise::Better(3.0)),
    goal("fan-8k", CPU, Peer::Raw, Promise::AtMost(1.2)),
];

/// One line for each goal whose runs there are; empty without any, and for sizes that mean nothing.
pub(super) fn render(report: &Report) -> String {
    let lines = GOALS.iter().filter_map(|goal| line(goal, report));
    let lines: String = if report.short { String::new() } else { lines.collect() };
    if lines.is_empty() {
        return lines;
    }
    format!("goals of tailwater (medians of ratios within a repetition)\n{lines}")
}

fn line(goal: &Goal, report: &Report) -> Option<String> {
    let (over, under) = match goal.promise {
        Promise::AtMost(_) => (Peer::Tailwater, goal.unit),
        Promise::Better(_) => (goal.unit, Peer::Tailwater),
    };
    let found = report.ratio(goal.case, over, under, goal.of)?.median;
    let (kept, words, limit) = match goal.promise {
        Promise::AtMost(limit) => (found <= limit, "at most", limit),
        Promise::Better(limit) => (found >= limit, "better by", limit),
    };
    let verdict = if kept { "met" } else { "missed" };
    let unit = goal.unit.name();
    let mut line = String::new();
    writeln!(
        line,
        "  {verdict:<6}  {:<6}  {:<17}  {found:.2} × against {unit}, needed {words} {limit} ×",
        goal.case, goal.what
    )
    .ok()?;
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn goals_are_judged_in_their_own_direction() {
        let mut report = report(&[
            ("1000x1", Peer::Raw, 1, 100, false),
            ("1000x1", Peer::Tailwater, 1, 130, false),
            ("1000x1", Peer::Tonic, 1, 520, false),
        ]);
        let text = render(&report);
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with("missed") && lines[0].contains("1.30 × against raw"));
        assert!(lines[1].starts_with("met") && lines[1].contains("4.00 × against tonic"));
        report.short = true;
        assert_eq!(render(&report), "");
    }
}
