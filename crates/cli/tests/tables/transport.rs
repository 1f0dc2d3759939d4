//! What an echo costs a server: `benches/transport`.

use super::{head, line, with_range};
use serde::Deserialize;
use tailwater_report::time;
use tailwater_stats::result::Spread;

#[derive(Deserialize)]
struct Report {
    rows: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    case: String,
    peer: String,
    repetition: u32,
    discarded: Option<String>,
    answers: u64,
    server_cpu_ns: u64,
    p50_ns: u64,
}

/// Microseconds of a run.
type Of = fn(&Run) -> f64;

const CPU: Of = |run| run.server_cpu_ns as f64 / run.answers as f64 / 1e3;
const ROUND_TRIP: Of = |run| run.p50_ns as f64 / 1e3;

/// Name in the file and in the page, and what counts of it.
const CASES: [(&str, &str, Of); 7] = [
    ("1000x1", "CPU, 1,000 connections × 1", CPU),
    ("50x16", "CPU, 50 × 16", CPU),
    ("spin", "round trip, both spinning", ROUND_TRIP),
    ("sleep", "round trip, both sleeping", ROUND_TRIP),
    ("fan-alone", "CPU, four leaves, 1 × 1", CPU),
    ("fan", "CPU, four leaves, 50 × 4", CPU),
    ("fan-8k", "CPU, four leaves, 8 KiB, 1 × 1", CPU),
];

/// A line for each case of the file: medians over the runs that stand, and ratios within a repetition.
pub(super) fn table(result: &str) -> String {
    let Report { rows } = serde_json::from_str(result).expect("a result of benches/transport");
    let heads = ["", "raw, µs", "tailwater, µs", "÷ raw", "tonic", "tarpc"];
    let mut text = head(&heads.map(Into::into));
    for (case, shown, of) in CASES {
        let standing = |peer: &str| -> Vec<&Run> {
            let ours = |run: &&Run| run.case == case && run.peer == peer;
            rows.iter().filter(ours).filter(|run| run.discarded.is_none()).collect()
        };
        let [raw, tailwater, tonic, tarpc] = ["raw", "tailwater", "tonic", "tarpc"].map(standing);
        if raw.is_empty() && tailwater.is_empty() {
            continue;
        }
        text += &line(&[
            shown.to_owned(),
            cell(&raw.iter().map(|run| of(run)).collect::<Vec<_>>()),
            cell(&tailwater.iter().map(|run| of(run)).collect::<Vec<_>>()),
            cell(&ratios(&tailwater, &raw, of)),
            beside(&tonic, &tailwater, of),
            beside(&tarpc, &tailwater, of),
        ]);
    }
    text
}

fn cell(values: &[f64]) -> String {
    if values.is_empty() { NOTHING.to_owned() } else { with_range(values) }
}

/// A peer's median, and by how much it exceeds ours.
fn beside(peer: &[&Run], ours: &[&Run], of: Of) -> String {
    let ratios = ratios(peer, ours, of);
    if ratios.is_empty() {
        return NOTHING.to_owned();
    }
    let median = |values: &[f64]| Spread::of(values).median;
    let theirs: Vec<f64> = peer.iter().map(|run| of(run)).collect();
    format!("{}: {:.1} × ours", time(median(&theirs)), median(&ratios))
}

fn ratios(over: &[&Run], under: &[&Run], of: Of) -> Vec<f64> {
    let ratio = |run: &&Run| {
        let other = under.iter().find(|other| other.repetition == run.repetition)?;
        Some(of(run) / of(other))
    };
    over.iter().filter_map(ratio).collect()
}

const NOTHING: &str = "–";

#[test]
fn ratios_are_within_a_repetition_and_discarded_runs_count_for_nothing() {
    let run = |peer: &str, repetition: u32, cpu_us: u64, discarded: &str| {
        format!(
            r#"{{ "case": "50x16", "peer": "{peer}", "repetition": {repetition}, "discarded": {discarded},
                "answers": 1000, "server_cpu_ns": {cpu_us}000000, "p50_ns": 1 }}"#
        )
    };
    let rows = [
        run("raw", 1, 2, "null"),
        run("raw", 2, 4, "null"),
        run("tailwater", 2, 6, "null"),
        run("tailwater", 1, 99, "\"noise\""),
        run("tailwater", 1, 4, "null"),
        run("tonic", 1, 40, "null"),
    ];
    let table = table(&format!(r#"{{ "rows": [{}] }}"#, rows.join(",")));
    let row = "| CPU, 50 × 16 | 3.00 [2.00–4.00] | 5.00 [4.00–6.00] | 1.75 [1.50–2.00] | 40.0 µs: 10.0 × ours | – |\n";
    assert!(table.ends_with(&format!("|---|\n{row}")), "{table}");
}
