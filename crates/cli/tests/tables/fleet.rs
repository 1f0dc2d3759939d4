//! How the simulator grows: `benches/fleet`.

use super::{head, line, with_range};
use serde::Deserialize;
use tailwater_report::count;
use tailwater_stats::result::Spread;

#[derive(Deserialize)]
struct Report {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    clients: u64,
    events: u64,
    cpu_ns: u64,
    peak_bytes: u64,
}

/// A line for each number of clients: medians over its runs, and the range of the time.
pub(super) fn table(result: &str) -> String {
    let Report { runs } = serde_json::from_str(result).expect("a result of benches/fleet");
    let mut sizes: Vec<u64> = runs.iter().map(|run| run.clients).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let heads = ["clients", "CPU time, s", "ns for each event", "memory, MiB"];
    let mut text = head(&heads.map(Into::into));
    for clients in sizes {
        let of = |value: fn(&Run) -> f64| -> Vec<f64> {
            runs.iter().filter(|run| run.clients == clients).map(value).collect()
        };
        let event = of(|run| run.cpu_ns as f64 / run.events as f64);
        let memory = of(|run| run.peak_bytes as f64 / f64::from(1 << 20));
        text += &line(&[
            count(clients),
            with_range(&of(|run| run.cpu_ns as f64 / 1e9)),
            format!("{:.0}", Spread::of(&event).median),
            format!("{:.1}", Spread::of(&memory).median),
        ]);
    }
    text
}

#[test]
fn sizes_come_in_order_with_the_medians_of_their_runs() {
    let run = |clients: u64, cpu_ms: u64| {
        format!(
            r#"{{ "clients": {clients}, "events": 1000000, "cpu_ns": {cpu_ms}000000, "peak_bytes": 3145728 }}"#
        )
    };
    let runs = [run(10_000, 50), run(1_000, 30), run(1_000, 20), run(1_000, 90)];
    let table = table(&format!(r#"{{ "runs": [{}] }}"#, runs.join(",")));
    let rows =
        "| 1,000 | 0.03 [0.02–0.09] | 30 | 3.0 |\n| 10,000 | 0.05 [0.05–0.05] | 50 | 3.0 |\n";
    assert!(table.ends_with(rows), "{table}");
}
