//! The profiler's guide: what was typed and said, and p99 before and after: `examples/profiling/guide.sh`.

use super::{head, line};
use serde_json::Value;
use tailwater_report::time;
use tailwater_stats::result::Spread;

/// Key in the file, and as it is shown.
const QUANTILES: [(&str, &str); 3] = [("p50_us", "p50"), ("p99_us", "p99"), ("p999_us", "p99.9")];

/// A line for each program and quantile: medians, and changes between neighbours within a quad with their range.
pub(super) fn table(results: &[String]) -> String {
    let heads = ["program", "quantile", "before", "after", "change", "range"];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        for (key, shown) in QUANTILES {
            let title = result["title"].as_str().expect("a title").to_owned();
            let cells = cells(&pairs(&result, key));
            text += &line(&[vec![title, shown.to_owned()], cells].concat());
        }
    }
    text
}

/// Before, after, change and range; dashes where only the trace was asked.
fn cells(pairs: &[(f64, f64)]) -> Vec<String> {
    if pairs.is_empty() {
        return vec!["–".to_owned(); 4];
    }
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let change = |(before, after): &(f64, f64)| (after / before - 1.0) * 100.0;
    let Spread { min, median, max } = Spread::of(&pairs.iter().map(change).collect::<Vec<_>>());
    vec![
        time(Spread::of(&before).median),
        time(Spread::of(&after).median),
        format!("**{}**", percent(median)),
        format!("{} to {}", percent(min), percent(max)),
    ]
}

/// A command with its output, as a terminal shows it; they count from 1.
pub(super) fn said(result: &str, number: &str) -> String {
    let result = read(result);
    let number: usize = number.parse().expect("the number of a block");
    let said = &result["said"][number - 1];
    let of = |key: &str| said[key].as_str().expect("a text").trim_end().to_owned();
    format!("```text\n$ {}\n{}\n```\n", of("typed"), of("output"))
}

fn read(result: &str) -> Value {
    serde_json::from_str(result).expect("a result of examples/profiling/guide.sh")
}

/// Before and after, of runs that followed one another: the first two of a quad, and the last two.
fn pairs(result: &Value, key: &str) -> Vec<(f64, f64)> {
    let number = |run: &Value| run[key].as_f64().expect("a number");
    let quads = result["quads"].as_array().expect("a list");
    let of = |quad: &Value| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| number(&quad[at]));
        [(a, b), (d, c)]
    };
    quads.iter().flat_map(of).collect()
}

fn percent(value: f64) -> String {
    format!("{value:+.0} %").replace('-', "−")
}
