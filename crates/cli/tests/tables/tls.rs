//! What TLS costs an echo: `benches/tls`.

use super::{head, line, with_range};
use serde_json::Value;
use tailwater_report::time;
use tailwater_stats::result::Spread;

/// Name in the file and in the page.
const CASES: [(&str, &str); 3] = [("100x1", "100 × 1"), ("16x16", "16 × 16"), ("1x1", "1 × 1")];
const PEERS: [&str; 2] = ["tailwater", "tonic"];

/// A line for each case and system: medians, and ratios within a repetition with their range.
pub(super) fn table(result: &str) -> String {
    let runs: Vec<Value> = serde_json::from_str(result).expect("a result of benches/tls");
    let heads = ["", "CPU per request", "with TLS", "ratio", "p50", "with TLS"];
    let mut text = head(&heads.map(Into::into));
    for (case, shown) in CASES {
        for peer in PEERS {
            let [plain, tls] =
                [peer.to_owned(), format!("{peer}-tls")].map(|peer| of(&runs, case, &peer));
            let ratios: Vec<f64> = plain
                .iter()
                .filter_map(|one| {
                    Some(
                        tls.iter().find(|two| two.repetition == one.repetition)?.cpu_us
                            / one.cpu_us,
                    )
                })
                .collect();
            let median = |runs: &[Reading], value: fn(&Reading) -> f64| {
                time(Spread::of(&runs.iter().map(value).collect::<Vec<_>>()).median)
            };
            text += &line(&[
                format!("{shown}, {peer}"),
                median(&plain, |run| run.cpu_us),
                median(&tls, |run| run.cpu_us),
                with_range(&ratios),
                median(&plain, |run| run.p50_us),
                median(&tls, |run| run.p50_us),
            ]);
        }
    }
    text
}

struct Reading {
    repetition: u64,
    cpu_us: f64,
    p50_us: f64,
}

/// The runs of a case that nothing disturbed.
fn of(runs: &[Value], case: &str, peer: &str) -> Vec<Reading> {
    let ours = runs.iter().filter(|run| {
        run["case"]["name"] == case && run["peer"] == peer && run["disturbed"] == false
    });
    let number = |value: &Value| value.as_f64().expect("a number");
    ours.map(|run| Reading {
        repetition: run["repetition"].as_u64().expect("a number"),
        cpu_us: number(&run["outcome"]["server_cpu_ns"]) / number(&run["outcome"]["answers"]) / 1e3,
        p50_us: number(&run["outcome"]["p50_ns"]) / 1e3,
    })
    .collect()
}
