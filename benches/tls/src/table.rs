//! What people read.

use crate::peer::{CASES, Case, Peer};
use crate::run::Run;
use std::fmt::Write as _;

/// A line for each peer in each case: medians over the runs that count, and the ratio to the same system
/// without TLS, taken within each repetition.
pub(crate) fn of(runs: &[Run]) -> String {
    let mut text = String::from("Server CPU per request and round trips of a 64-byte echo.\n");
    for case in CASES {
        let _ = writeln!(
            text,
            "\n{:<6} {:<14} {:>10} {:>10} {:>10} {:>10} {:>10} {:>5}",
            case.name, "peer", "CPU ns", "p50 µs", "p99 µs", "CPU ratio", "p50 ratio", "runs"
        );
        for peer in Peer::ALL {
            line(&mut text, runs, case, peer);
        }
    }
    let discarded = runs.iter().filter(|run| run.disturbed).count();
    let _ = writeln!(text, "\n{discarded} of {} runs were disturbed and do not count.", runs.len());
    text
}

fn line(text: &mut String, runs: &[Run], case: Case, peer: Peer) {
    let mine: Vec<&Run> = counted(runs, case, peer).collect();
    if mine.is_empty() {
        let _ = writeln!(text, "{:<6} {:<14} every run was disturbed", "", peer.name());
        return;
    }
    let plain = if peer.is_tailwater() { Peer::Tailwater } else { Peer::Tonic };
    let ratio = |value: fn(&Run) -> f64| {
        let pairs = mine.iter().filter_map(|run| {
            let other = counted(runs, case, plain).find(|one| one.repetition == run.repetition)?;
            Some(value(run) / value(other))
        });
        median(pairs.collect()).map_or("-".into(), |ratio| format!("{ratio:.2}"))
    };
    let middle = |value: fn(&Run) -> f64| {
        median(mine.iter().map(|run| value(run)).collect()).unwrap_or(f64::NAN)
    };
    let _ = writeln!(
        text,
        "{:<6} {:<14} {:>10.0} {:>10.1} {:>10.1} {:>10} {:>10} {:>5}",
        "",
        peer.name(),
        middle(cpu),
        middle(p50_us),
        middle(|run| run.outcome.p99_ns as f64 / 1e3),
        ratio(cpu),
        ratio(p50_us),
        mine.len()
    );
}

fn counted(runs: &[Run], case: Case, peer: Peer) -> impl Iterator<Item = &Run> {
    runs.iter().filter(move |run| run.case == case && run.peer == peer && !run.disturbed)
}

fn cpu(run: &Run) -> f64 {
    run.outcome.cpu_ns_per_request()
}

fn p50_us(run: &Run) -> f64 {
    run.outcome.p50_ns as f64 / 1e3
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Outcome;

    fn run(repetition: usize, peer: Peer, cpu_ns: u64, disturbed: bool) -> Run {
        let outcome = Outcome {
            answers: 10,
            server_cpu_ns: 10 * cpu_ns,
            p50_ns: 1_000,
            ..Outcome::default()
        };
        Run { repetition, case: CASES[0], peer, outcome, disturbed }
    }

    #[test]
    fn ratios_are_taken_within_a_repetition_and_disturbed_runs_left_out() {
        let runs = [
            run(0, Peer::Tailwater, 100, false),
            run(0, Peer::TailwaterTls, 200, false),
            run(1, Peer::Tailwater, 1_000, false),
            run(1, Peer::TailwaterTls, 9_000, true),
            run(1, Peer::TailwaterTls, 2_200, false),
        ];
        let text = of(&runs);
        let line = text.lines().find(|line| line.contains("tailwater-tls")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["tailwater-tls", "1200", "1.0", "0.0", "2.10", "1.00", "2"]);
        assert!(text.ends_with("1 of 5 runs were disturbed and do not count.\n"));
    }
}
