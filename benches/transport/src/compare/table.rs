//! The report for people.

use super::cases::Peer;
use super::goals;
use super::report::{Of, Report};
use crate::drive::Outcome;
use std::fmt::Write;
use tailwater_stats::result::Spread;

const HEAD: [&str; 9] = [
    "peer",
    "runs",
    "requests/s",
    "CPU ns/request",
    "CPU / raw",
    "p50 µs",
    "p50 / raw",
    "p99 µs",
    "server / client CPU",
];

/// Where and how it was measured, a table for each case, the goals, the discarded runs.
pub(super) fn render(report: &Report) -> String {
    let machine = report.origin.machine();
    let mut text = format!(
        "64-byte echo on {} × {}, Linux {}; {} reception under load; seed {}; median [min–max]\n",
        machine.cores, machine.cpu, machine.kernel, report.reception, report.seed
    );
    if report.short {
        text.push_str("short: sizes too small to mean anything\n");
    }
    for case in report.cases() {
        let lines = Peer::ALL.iter().filter_map(|peer| line(report, case, *peer));
        let rows: Vec<Vec<String>> =
            std::iter::once(HEAD.map(str::to_owned).to_vec()).chain(lines).collect();
        text.push_str(&format!("\n{case}\n{}", align(&rows)));
    }
    for part in [goals::render(report), discards(report)] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text
}

fn line(report: &Report, case: &str, peer: Peer) -> Option<Vec<String>> {
    let spread = |of: Of, digits| Some(show(report.spread(case, peer, of)?, digits));
    let ratio = |of: Of| {
        let ratio = report.ratio(case, peer, Peer::Raw, of);
        ratio.map_or("–".to_owned(), |ratio| show(ratio, 2))
    };
    let median = |of: Of| Some(report.spread(case, peer, of)?.median);
    let p50 = |outcome: &Outcome| outcome.p50_ns as f64 / 1e3;
    Some(vec![
        peer.name().to_owned(),
        report.standing(case, peer).count().to_string(),
        spread(Outcome::answers_per_s, 0)?,
        spread(Outcome::cpu_ns_per_request, 0)?,
        ratio(Outcome::cpu_ns_per_request),
        spread(p50, 1)?,
        ratio(p50),
        spread(|outcome| outcome.p99_ns as f64 / 1e3, 1)?,
        format!(
            "{:.2} / {:.2}",
            median(|outcome| outcome.share(outcome.server_cpu_ns))?,
            median(|outcome| outcome.share(outcome.client_cpu_ns))?
        ),
    ])
}

fn show(spread: Spread, digits: usize) -> String {
    let Spread { min, median, max } = spread;
    if min == max {
        return format!("{median:.digits$}");
    }
    format!("{median:.digits$} [{min:.digits$}–{max:.digits$}]")
}

/// Columns two spaces apart; all but the first are numbers and stand to the right.
fn align(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            // Writing to a String cannot fail.
            let _ = match column {
                0 => write!(text, "  {cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}

fn discards(report: &Report) -> String {
    let lines = report.rows.iter().filter_map(|row| {
        let (why, peer, cpu) =
            (row.discarded.as_ref()?, row.peer.name(), row.outcome.cpu_ns_per_request());
        let (case, repetition) = (&row.case, row.repetition);
        Some(format!("  {case} {peer} repetition {repetition}: {why}; {cpu:.0} CPU ns/request\n"))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    format!("discarded\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn the_table_shows_medians_ratios_and_discards() {
        let text = render(&report(&[
            ("sleep", Peer::Tarpc, 1, 250, false),
            ("sleep", Peer::Raw, 1, 100, false),
            ("sleep", Peer::Tonic, 1, 900, true),
        ]));
        let lines: Vec<&str> = text.lines().collect();
        let row = |name: &str| lines.iter().find(|line| line.trim_start().starts_with(name));
        assert!(row("raw").unwrap().contains(" 100  "), "{text}");
        assert!(row("tarpc").unwrap().contains("250       2.50  "), "{text}");
        assert!(row("tonic").is_none(), "{text}");
        let discard = "sleep tonic repetition 1: noise; 900 CPU ns/request";
        assert!(row(discard).is_some(), "{text}");
        let widths: Vec<usize> = lines[3..6].iter().map(|line| line.chars().count()).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }
}
