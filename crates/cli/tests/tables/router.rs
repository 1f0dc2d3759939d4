//! The proxy of Router beside nutcracker, and what the death of a node costs.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::{count, time};
use tailwater_stats::PairedRatio;

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
    curve: Curve,
    control: Curve,
}

/// The 99th percentile in bins around deaths, or around moments at which nothing died.
#[derive(Deserialize)]
struct Curve {
    bins: Vec<Bin>,
}

#[derive(Deserialize)]
struct Bin {
    from_ms: i64,
    /// None where it has failed.
    p99_us: Option<f64>,
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

/// A part of the time that files of before 29 November 2026 pool with a longer one alone: milliseconds from and to.
const FIRST: (i64, i64) = (50, 100);

/// A line for each part of the time after a death. Where the bins right after the first 50 ms are no part, they have a line of
/// their own.
pub(super) fn deaths(result: &str) -> String {
    let found: Deaths = serde_json::from_str(result).expect("what it writes");
    let heads = ["after the death", "p99", "p99 without a death", "ratio"];
    let mut lines: Vec<((i64, i64), String)> = found.recoveries.iter().map(pooled).collect();
    if lines.iter().all(|(ms, _)| *ms != FIRST) {
        lines.extend(by_bins(&found));
    }
    lines.sort_by_key(|(ms, _)| *ms);
    lines.into_iter().fold(head(&heads.map(Into::into)), |table, (_, line)| table + &line)
}

fn pooled(it: &Recovery) -> ((i64, i64), String) {
    let (from, to) = (it.from_ms, it.to_ms);
    let cells = [
        format!("{from} to {to} ms"),
        time(it.p99_us),
        time(it.control_p99_us),
        ratio(it.ratio, it.interval),
    ];
    ((from, to), line(&cells))
}

fn ratio(ratio: f64, (low, high): (f64, f64)) -> String {
    format!("× {ratio:.2} ({low:.2} to {high:.2})")
}

/// The file has no single requests, so the interval is of the bins' ratios. Nothing where a bin has none.
fn by_bins(found: &Deaths) -> Option<((i64, i64), String)> {
    let (from, to) = FIRST;
    let of = |curve: &Curve| -> Option<Vec<f64>> {
        let bins = curve.bins.iter().filter(|bin| (from..to).contains(&bin.from_ms));
        bins.map(|bin| bin.p99_us).collect()
    };
    let (deaths, control) = (of(&found.curve)?, of(&found.control)?);
    let pairs: Vec<(f64, f64)> = control.iter().copied().zip(deaths.iter().copied()).collect();
    let PairedRatio { ratio: mean, low, high, .. } = PairedRatio::of(&pairs).ok()?;
    let range = |of: &[f64]| {
        let least = of.iter().copied().fold(f64::INFINITY, f64::min);
        format!("{} to {}", time(least), time(of.iter().copied().fold(0.0, f64::max)))
    };
    let cells = [
        format!("{from} to {to} ms, {} bins", pairs.len()),
        range(&deaths),
        range(&control),
        ratio(mean, (low, high)),
    ];
    Some(((from, to), line(&cells)))
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
            "control_p99_us":414,"ratio":0.934,"interval":[0.83,1.03]}],
            "curve":{"bins":[{"from_ms":40,"p99_us":900},{"from_ms":50,"p99_us":400},{"from_ms":90,"p99_us":450},
            {"from_ms":100,"p99_us":null}]},"control":{"bins":[{"from_ms":50,"p99_us":320},{"from_ms":90,"p99_us":360}]}}"#,
    );
    // Two ratios of 1.25 have no spread. The bin that has failed is behind them.
    let wanted = "| 50 to 100 ms, 2 bins | 400 µs to 450 µs | 320 µs to 360 µs | × 1.25 (1.25 to 1.25) |\n\
                  | 50 to 500 ms | 387 µs | 414 µs | × 0.93 (0.83 to 1.03) |\n";
    assert!(table.ends_with(wanted), "{table}");
    let table = deaths(
        r#"{"deaths":9,"requests":10,"failed":0,"wrong":[],"recoveries":[{"from_ms":50,"to_ms":100,"p99_us":400,
            "control_p99_us":400,"ratio":1.0,"interval":[0.95,1.05]}],
            "curve":{"bins":[{"from_ms":50,"p99_us":400}]},"control":{"bins":[{"from_ms":50,"p99_us":320}]}}"#,
    );
    let wanted = "| 50 to 100 ms | 400 µs | 400 µs | × 1.00 (0.95 to 1.05) |\n";
    assert!(table.ends_with(wanted) && !table.contains("bins"), "{table}");
}

/// The goals that docs/router.md calls met.
#[test]
fn the_proxy_keeps_its_goals() {
    let Proxies { rates } =
        serde_json::from_str(&crate::read("results/proxies.json")).expect("a result");
    assert!(!rates.is_empty() && rates.iter().all(|it| it.counted > 0 && it.median >= 0.9));
    let found = crate::read("results/router-failover.json");
    let drawn = self::deaths(&found);
    let Deaths { deaths, requests, failed, wrong, recoveries, .. } =
        serde_json::from_str(&found).expect("a result");
    assert!(deaths > 0 && requests > 0 && failed == 0 && wrong.is_empty(), "{failed} {wrong:?}");
    let back = recoveries.iter().find(|it| (it.from_ms, it.to_ms) == (50, 500));
    let back = back.expect("behind the first 50 ms");
    assert!(back.interval.1 < 1.1, "{:?}", back.interval);
    // What the rule pools away stands on the page.
    assert!(drawn.contains("| 50 to 100 ms"), "{drawn}");
}
