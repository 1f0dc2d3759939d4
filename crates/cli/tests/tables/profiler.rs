//! The profiler at work on whole programs: what clients see while a server is recorded (`profile recorded` of
//! `benches/profile`), and what a comparison of traces finds (`examples/profiling/diff.sh`).

use super::{head, line, with_range};
use serde_json::Value;
use tailwater_report::time;
use tailwater_stats::result::Spread;

/// A line for each server and quantile: medians of clients' latency, and ratios within a pair with their range.
pub(super) fn recorded(results: &[String]) -> String {
    let heads = ["server", "quantile", "not recorded", "recorded", "ratio"];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        for (key, shown) in [("p50_us", "p50"), ("p99_us", "p99"), ("p999_us", "p99.9")] {
            let pairs = result["pairs"].as_array().expect("a list");
            let of = |at: usize| -> Vec<f64> {
                pairs.iter().map(|pair| pair[at][key].as_f64().expect("a number")).collect()
            };
            let (plain, seen) = (of(0), of(1));
            let ratios: Vec<f64> =
                plain.iter().zip(&seen).map(|(plain, seen)| seen / plain).collect();
            text += &line(&[
                result["title"].as_str().expect("a title").to_owned(),
                shown.to_owned(),
                time(Spread::of(&plain).median),
                time(Spread::of(&seen).median),
                with_range(&ratios),
            ]);
        }
    }
    text
}

/// Pairs of recordings, and of how many any function was named, or the planted one, or another.
pub(super) fn diff(result: &str) -> String {
    let result = read(result);
    let heads = ["second build", "pairs", "name a function", "name `stage_3`", "name another"];
    let mut text = head(&heads.map(Into::into));
    for (key, shown) in [("identical", "the same"), ("planted", "5 % more in `stage_3`")] {
        let pairs: Vec<Vec<&str>> =
            result[key].as_array().expect("a list").iter().map(moved).collect();
        let count = |names: &dyn Fn(&&str) -> bool| {
            pairs.iter().filter(|pair| pair.iter().any(names)).count().to_string()
        };
        text += &line(&[
            shown.to_owned(),
            pairs.len().to_string(),
            count(&|_| true),
            count(&|name| *name == PLANTED),
            count(&|name| *name != PLANTED),
        ]);
    }
    text
}

const PLANTED: &str = "stage_3";

/// The functions that a comparison named.
fn moved(verdict: &Value) -> Vec<&str> {
    let functions = verdict["functions"].as_array().expect("a list").iter();
    let named = functions.filter(|function| function["moved"] == true);
    named.map(|function| function["name"].as_str().expect("a name")).collect()
}

fn read(result: &str) -> Value {
    serde_json::from_str(result).expect("a result of the profiler's experiments")
}
