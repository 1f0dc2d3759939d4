//! The proxy of Router beside nutcracker, and what the death of a node costs.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::{count, time};

#[derive(Deserialize)]
struct Proxies {
    rates: Vec<Rate>,
}

/// Requests per CPU time of the proxy ÷ those of nutcracker, over quads.
#[derive(Deserialize)]
struct Rate {
    requests_per_second: f64,
    median: f64,
    least: f64,
    largest: f64,
    router_us: f64,
    nutcracker_us: f64,
    counted: u64,
}

/// A line for each rate.
pub(super) fn proxies(result: &str) -> String {
    let Proxies { rates } = serde_json::from_str(result).expect("what the proxies' bench writes");
    let heads = ["requests/s", "÷ nutcracker's", "proxy, CPU", "nutcracker, CPU", "quads"];
    let mut table = head(&heads.map(Into::into));
    for it in rates {
        table += &line(&[
            count(it.requests_per_second as u64),
            format!("{:.2} [{:.2}–{:.2}]", it.median, it.least, it.largest),
            time(it.router_us),
            time(it.nutcracker_us),
            it.counted.to_string(),
        ]);
    }
    table
}

#[derive(Deserialize)]
struct Deaths {
    deaths: u64,
    requests: u64,
    failed: u64,
    wrong: Vec<serde_json::Value>,
    recoveries: Vec<Recovery>,
}

/// So long after a death, beside rounds without one.
#[derive(Deserialize)]
struct Recovery {
    from_ms: i64,
    to_ms: i64,
    p99_us: f64,
    control_p99_us: f64,
    ratio: f64,
    interval: (f64, f64),
}

/// A line for each part of the time after a death.
pub(super) fn deaths(result: &str) -> String {
    let Deaths { recoveries, .. } = serde_json::from_str(result).expect("what it writes");
    let heads = ["after the death", "p99", "p99 without a death", "ratio"];
    let mut table = head(&heads.map(Into::into));
    for Recovery { from_ms, to_ms, p99_us, control_p99_us, ratio, interval: (low, high) } in
        recoveries
    {
        table += &line(&[
            format!("{from_ms} to {to_ms} ms"),
            time(p99_us),
            time(control_p99_us),
            format!("× {ratio:.2} ({low:.2} to {high:.2})"),
        ]);
    }
    table
}

#[test]
fn each_rate_has_its_ratio_and_each_part_its_interval() {
    let table = proxies(
        r#"{"rates":[{"requests_per_second":5000,"median":1.049,"least":0.98,"largest":1.05,
            "router_us":14.7,"nutcracker_us":15.1,"counted":4}]}"#,
    );
    assert!(table.ends_with("| 5,000 | 1.05 [0.98–1.05] | 14.7 µs | 15.1 µs | 4 |\n"), "{table}");
    let table = deaths(
        r#"{"deaths":9,"requests":10,"failed":0,"wrong":[],"recoveries":[{"from_ms":50,"to_ms":500,"p99_us":387,
            "control_p99_us":414,"ratio":0.934,"interval":[0.83,1.03]}]}"#,
    );
    let wanted = "| 50 to 500 ms | 387 µs | 414 µs | × 0.93 (0.83 to 1.03) |\n";
    assert!(table.ends_with(wanted), "{table}");
}

/// The goals that docs/router.md calls met.
#[test]
fn the_proxy_keeps_its_goals() {
    let Proxies { rates } =
        serde_json::from_str(&crate::read("results/proxies.json")).expect("a result");
    assert!(!rates.is_empty() && rates.iter().all(|it| it.counted > 0 && it.median >= 0.9));
    let found = crate::read("results/router-failover.json");
    let Deaths { deaths, requests, failed, wrong, recoveries } =
        serde_json::from_str(&found).expect("a result");
    assert!(deaths > 0 && requests > 0 && failed == 0 && wrong.is_empty(), "{failed} {wrong:?}");
    let back = recoveries.iter().find(|it| it.from_ms == 50).expect("behind the first 50 ms");
    assert!(back.interval.1 < 1.1, "{:?}", back.interval);
}
