//! The profiler at work on whole programs. What clients see while a server is recorded (`profile recorded` of
//! `benches/profile`), and what the server's own clock says beside the report (`profile clocked`). What keeping the slowest
//! requests takes (`profile kept`), what a comparison of traces finds (`profile compared`), and which causes of slow requests
//! are named (`profile caused`).

use super::{head, line, with_range};
use serde_json::Value;
use tailwater_report::{count, percent, time};
use tailwater_stats::result::Spread;

/// Of the runs of a round, the one of the plain build.
const PLAIN: usize = 2;

/// A line for each server and quantile: medians of clients' latency, and ratios within a pair with their range. The plain build has its
/// columns where a result has it.
pub(super) fn recorded(results: &[String]) -> String {
    let results: Vec<Value> = results.iter().map(|result| read(result)).collect();
    let has_plain = |result: &Value| result["pairs"][0].get(PLAIN).is_some();
    let is_plain_there = results.iter().any(has_plain);
    let mut heads = vec!["server", "quantile", "not recorded", "recorded", "ratio"];
    if is_plain_there {
        heads.extend(["plain build", "to plain"]);
    }
    let heads: Vec<String> = heads.into_iter().map(str::to_owned).collect();
    let mut text = head(&heads);
    for result in &results {
        for (key, shown) in [("p50_us", "p50"), ("p99_us", "p99"), ("p999_us", "p99.9")] {
            let pairs = result["pairs"].as_array().expect("a list");
            let of = |at: usize| -> Vec<f64> {
                pairs.iter().map(|pair| pair[at][key].as_f64().expect("a number")).collect()
            };
            let (unrecorded, seen) = (of(0), of(1));
            let over = |bases: &[f64]| {
                let ratios = bases.iter().zip(&seen).map(|(base, seen)| seen / base);
                with_range(&ratios.collect::<Vec<f64>>())
            };
            let mut cells = vec![
                result["title"].as_str().expect("a title").to_owned(),
                shown.to_owned(),
                time(Spread::of(&unrecorded).median),
                time(Spread::of(&seen).median),
                over(&unrecorded),
            ];
            if has_plain(result) {
                let plain = of(PLAIN);
                cells.extend([time(Spread::of(&plain).median), over(&plain)]);
            } else if is_plain_there {
                cells.extend(["–".to_owned(), "–".to_owned()]);
            }
            text += &line(&cells);
        }
    }
    text
}

#[test]
fn what_is_recorded_is_held_against_the_plain_build_where_there_is_one() {
    let run = |us: f64| serde_json::json!({ "p50_us": us, "p99_us": us, "p999_us": us });
    let result = |title: &str, round: Vec<Value>| {
        serde_json::json!({ "title": title, "pairs": [round] }).to_string()
    };
    let two = result("a", vec![run(10.0), run(15.0)]);
    let three = result("b", vec![run(10.0), run(15.0), run(5.0)]);
    assert!(!recorded(std::slice::from_ref(&two)).contains("plain"));
    let table = recorded(&[two, three]);
    let rows: Vec<&str> = table.lines().collect();
    let head = "| server | quantile | not recorded | recorded | ratio | plain build | to plain |";
    assert_eq!(rows[0], head);
    assert_eq!(rows[2], "| a | p50 | 10.0 µs | 15.0 µs | 1.50 [1.50–1.50] | – | – |");
    let last = "| b | p99.9 | 10.0 µs | 15.0 µs | 1.50 [1.50–1.50] | 5.00 µs | 3.00 [3.00–3.00] |";
    assert_eq!(rows[7], last);
}

/// A line for each server under an open load: what is asked of it, how late that was sent, and how many rounds do not count.
pub(super) fn open(results: &[String]) -> String {
    let heads = [
        "server",
        "a closed loop gets",
        "offered",
        "share %",
        "the load",
        "sent late at most, p99",
        "rounds",
        "set aside",
    ];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        let offer = |key: &str| result["offer"][key].as_f64().expect("an open load");
        let rate = |key: &str| format!("{}/s", count(offer(key).round() as u64));
        let rounds = result["pairs"].as_array().expect("a list");
        let runs = rounds.iter().flat_map(|round| round.as_array().expect("a list"));
        let late = runs.map(|run| run["late_p99_us"].as_f64().expect("a number"));
        let late = Spread::of(&late.collect::<Vec<_>>()).max;
        assert!(late <= offer("late_us_max"), "a run counts that was sent {late} µs late");
        let aside = result["set_aside"].as_array().map_or(0, Vec::len);
        text += &line(&[
            word(&result, "title").to_owned(),
            rate("closed_per_second"),
            rate("requests_per_second"),
            percent(offer("share")),
            if result["offer"]["spins"] == true { "spins" } else { "sleeps" }.to_owned(),
            time(late),
            rounds.len().to_string(),
            aside.to_string(),
        ]);
    }
    text
}

#[test]
fn an_open_load_is_told_with_how_late_it_was() {
    let run = |us: f64| serde_json::json!({ "late_p99_us": us });
    let offer = serde_json::json!({
        "share": 0.2, "closed_per_second": 80_000.4, "requests_per_second": 16_000.1, "late_us_max": 100.0, "spins": false
    });
    let calm =
        serde_json::json!({ "title": "x 1", "offer": offer, "pairs": [[run(8.0), run(12.0)]] });
    let mut late = calm.clone();
    late["offer"]["spins"] = true.into();
    late["set_aside"] = serde_json::json!([[run(8.0), run(900.0)]]);
    let table = open(&[calm.to_string(), late.to_string()]);
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows[0], "| x 1 | 80,000/s | 16,000/s | 20 | sleeps | 12.0 µs | 1 | 0 |");
    assert_eq!(rows[1], "| x 1 | 80,000/s | 16,000/s | 20 | spins | 12.0 µs | 1 | 1 |");
}

/// A line for each server and way of recording it: what clients see over what they see of the same server unrecorded in the same
/// round. The first for each server has that itself.
pub(super) fn options(results: &[String]) -> String {
    let heads =
        ["server", "recorded with", "p50", "p99", "p99.9", "requests per second", "events lost"];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        let (title, rounds) = (result["title"].as_str().expect("a title"), &result["rounds"]);
        let rounds = rounds.as_array().expect("a list");
        let number = |reading: &Value, key: &str| reading[key].as_f64().expect("a number");
        let plain = |key: &str| {
            let of: Vec<f64> = rounds.iter().map(|round| number(&round["plain"], key)).collect();
            Spread::of(&of).median
        };
        let [p50, p99, p999] = ["p50_us", "p99_us", "p999_us"].map(plain).map(time);
        let rate = plain("requests") / number(&result, "seconds");
        let rate = format!("{rate:.0}");
        let own = [title.into(), "not recorded".into(), p50, p99, p999, rate, "–".into()];
        text += &line(&own);
        for (at, way) in result["ways"].as_array().expect("a list").iter().enumerate() {
            let ratios = |key: &str| {
                let over = |round: &Value| {
                    number(&round["recorded"][at], key) / number(&round["plain"], key)
                };
                format!("× {}", with_range(&rounds.iter().map(over).collect::<Vec<_>>()))
            };
            let [p50, p99, p999, rate] = ["p50_us", "p99_us", "p999_us", "requests"].map(ratios);
            let way = way.as_str().expect("a name").to_owned();
            let lost = rounds.iter().map(|round| round["lost_events"][at].as_u64());
            let lost = lost.sum::<Option<u64>>().map_or_else(|| "–".into(), count);
            text += &line(&[title.into(), way, p50, p99, p999, rate, lost]);
        }
    }
    text
}

/// A line for each planted cause, and for each control: how many of the slow requests have the planted cause, or where nothing is
/// planted any outside of their own running.
pub(super) fn causes(result: &str) -> String {
    let heads = ["planted", "slow requests", "named", "%", "nothing known, as events were lost"];
    let mut text = head(&heads.map(Into::into));
    for row in read(result)["rows"].as_array().expect("a list") {
        let number = |key: &str| row[key].as_u64().expect("a number");
        let share = number("named") as f64 / number("slowest") as f64;
        text += &line(&[
            row["planted"].as_str().expect("a name").to_owned(),
            number("slowest").to_string(),
            number("named").to_string(),
            format!("{:.1}", 100.0 * share),
            number("unknown").to_string(),
        ]);
    }
    text
}

/// A line for each tool that has read an export. The page of `suite demo`, which the same bench opens, is none.
pub(super) fn readers(result: &str) -> String {
    let mut text = head(&["format", "tool", "what it found"].map(Into::into));
    let result = read(result);
    let rows = result["rows"].as_array().expect("a list");
    for row in rows.iter().filter(|row| row["format"] != "demo") {
        assert_eq!(row["agrees"], true, "{row}");
        let of = |key: &str| row[key].as_str().expect("a text").to_owned();
        text += &line(&[format!("`{}`", of("format")), of("tool"), of("found")]);
    }
    text
}

/// A line for each server: how often the planted line came first of all, and its share of samples in slow calls.
pub(super) fn planted(results: &[String]) -> String {
    let heads = [
        "server",
        "planted in",
        "first of all lines",
        "first of its own lines",
        "first in slow requests",
        "samples of slow calls",
        "in the planted path, %",
    ];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        let runs = result["runs"].as_array().expect("a list");
        let number = |run: &Value, key: &str| run[key].as_f64().expect("a number");
        let first = |rank: &str| {
            format!("{} of {}", runs.iter().filter(|run| run[rank] == 1).count(), runs.len())
        };
        let samples =
            Spread::of(&runs.iter().map(|run| number(run, "samples")).collect::<Vec<_>>());
        let shares = runs.iter().map(|run| 100.0 * number(run, "planted") / number(run, "samples"));
        let shares = Spread::of(&shares.collect::<Vec<_>>());
        text += &line(&[
            result["title"].as_str().expect("a title").to_owned(),
            format!("`{}`", runs[0]["function"].as_str().expect("a name")),
            first("rank"),
            first("own_rank"),
            first("request_rank"),
            format!("{:.0} [{:.0}–{:.0}]", samples.median, samples.min, samples.max),
            format!("{:.0} [{:.0}–{:.0}]", shares.median, shares.min, shares.max),
        ]);
    }
    text
}

/// A line for each server and each side that is killed.
pub(super) fn killed(results: &[String]) -> String {
    let heads =
        ["server", "killed", "times", "the other goes on", "traces readable", "calls in them"];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        for (key, who) in [("recorders", "its recorder"), ("servers", "the server")] {
            let number =
                |of: &str| tailwater_report::count(result[key][of].as_u64().expect("a number"));
            text += &line(&[
                word(&result, "title").to_owned(),
                who.to_owned(),
                number("killed"),
                number("survived"),
                number("readable"),
                number("calls"),
            ]);
        }
    }
    text
}

/// A line for each server whose recordings filled their disks.
pub(super) fn full(results: &[String]) -> String {
    let heads = [
        "server",
        "disk",
        "filled, times",
        "the recorder says so",
        "the server goes on",
        "traces readable",
        "calls in them",
    ];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        let number = |of: &str| count(result[of].as_u64().expect("a number"));
        text += &line(&[
            word(&result, "title").to_owned(),
            format!("{} KiB", number("kilobytes")),
            number("times"),
            number("told"),
            number("survived"),
            number("readable"),
            number("calls"),
        ]);
    }
    text
}

#[test]
fn a_full_disk_is_told_with_what_outlived_it() {
    let result = serde_json::json!({
        "title": "x 1", "kilobytes": 512, "times": 10, "told": 9, "survived": 10, "readable": 8, "calls": 12_345
    });
    let table = full(&[result.to_string()]);
    assert!(table.ends_with("| x 1 | 512 KiB | 10 | 9 | 10 | 8 | 12,345 |\n"), "{table}");
}

/// A line for each server: the p99.9 of the function that handles requests, as it measured that and as the report tells it.
pub(super) fn clocked(results: &[String]) -> String {
    let heads = [
        "function",
        "own p99.9",
        "call to return",
        "report",
        "width %",
        "holds the own",
        "overlaps both",
        "calls told %",
        "holds theirs",
    ];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        let runs = result["runs"].as_array().expect("a list");
        let of = |key: &str| -> Vec<f64> {
            runs.iter().map(|run| run[key].as_f64().unwrap_or(f64::INFINITY)).collect()
        };
        let (low, high) = (of("low_ns"), of("high_ns"));
        let (own, around) = (of("own_ns"), of("around_ns"));
        let bounds: Vec<(f64, f64)> = low.into_iter().zip(high).collect();
        let holds = |values: &[f64]| {
            let within = |((low, high), value): (&(f64, f64), &f64)| low <= value && value <= high;
            let holding = bounds.iter().zip(values).filter(|&pair| within(pair)).count();
            format!("{holding} of {}", values.len())
        };
        let clocks = own.iter().zip(&around);
        let meets = |((low, high), (own, around)): &(&(f64, f64), (&f64, &f64))| {
            low <= *around && *own <= high
        };
        let meeting = bounds.iter().zip(clocks).filter(meets).count();
        let median = |values: Vec<f64>| Spread::of(&values).median;
        let (lows, highs): (Vec<f64>, Vec<f64>) = bounds.iter().copied().unzip();
        let widths: Vec<f64> = bounds.iter().map(|&(low, high)| width(low, high)).collect();
        let Spread { min, median: middle, max } = Spread::of(&widths);
        let told = of("told").iter().zip(of("made")).map(|(told, made)| told / made).collect();
        text += &line(&[
            format!(
                "{}, `{}`",
                result["title"].as_str().expect("a title"),
                word(&result, "function")
            ),
            time(median(own.clone()) / 1e3),
            time(median(around.clone()) / 1e3),
            format!("{} to {}", time(median(lows) / 1e3), time(median(highs) / 1e3)),
            format!("{} [{}–{}]", percent(middle), percent(min), percent(max)),
            holds(&own),
            format!("{meeting} of {}", own.len()),
            percent(median(told)),
            holds(&of("own_of_told_ns")),
        ]);
    }
    text
}

/// How far bounds are apart, as a share of the middle between them.
fn width(low: f64, high: f64) -> f64 {
    if high.is_finite() { (high - low) / f64::midpoint(low, high) } else { f64::INFINITY }
}

/// A line for each recording of which the slowest requests were kept.
pub(super) fn kept(results: &[String]) -> String {
    let heads = [
        "server",
        "recorded",
        "requests",
        "kept",
        "own above",
        "missing",
        "marks lost",
        "disk at most",
        "trace",
        "memory at most",
    ];
    let mut text = head(&heads.map(Into::into));
    for result in results.iter().map(|result| read(result)) {
        let number = |value: &Value| value.as_u64().expect("a number");
        let of = |key: &str| number(&result[key]);
        let usage = |key: &str| megabytes(number(&result["usage"][key]));
        let rate = count(result["requests_per_second"].as_f64().expect("a rate") as u64);
        text += &line(&[
            word(&result, "title").to_owned(),
            format!("{} s at {rate}/s", count(of("seconds"))),
            count(of("recorded")),
            format!("{} and longer", time(of("at_least_ns") as f64 / 1e3)),
            count(of("own_above")),
            count(of("missing")),
            count(of("lost_marks")),
            usage("disk_max"),
            megabytes(of("trace_bytes")),
            usage("recorder_max"),
        ]);
    }
    text
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Pairs of builds, and of how many any function was named, or the planted one for what it does itself, or another.
pub(super) fn diff(result: &str) -> String {
    let result = read(result);
    let planted = word(&result, "function");
    let percent = result["percent"].as_f64().expect("a number");
    let slower = format!("{percent} % more in `{planted}`");
    let named = format!("name `{planted}` by itself");
    let heads = [
        "second build",
        "pairs",
        "recordings of each",
        "functions compared",
        "name a function",
        named.as_str(),
        "name another",
    ];
    let mut text = head(&heads.map(Into::into));
    for (key, shown) in [("identical", "the same"), ("planted", slower.as_str())] {
        let pairs = result[key].as_array().expect("a list");
        let compared: Vec<f64> =
            pairs.iter().map(|pair| pair["functions"].as_f64().expect("a number")).collect();
        let naming = |is_meant: &dyn Fn(&Value) -> bool| {
            let moved =
                |pair: &&Value| pair["moved"].as_array().expect("a list").iter().any(is_meant);
            pairs.iter().filter(moved).count().to_string()
        };
        text += &line(&[
            shown.to_owned(),
            pairs.len().to_string(),
            result["recordings"].to_string(),
            format!("{:.0}", Spread::of(&compared).median),
            naming(&|_| true),
            naming(&|one| one["name"] == planted && one["by_itself"] == true),
            naming(&|one| one["name"] != planted),
        ]);
    }
    text
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().expect("a text")
}

fn read(result: &str) -> Value {
    serde_json::from_str(result).expect("a result of the profiler's experiments")
}

#[test]
fn bounds_hold_what_lies_between_them_and_no_upper_bound_is_infinitely_wide() {
    let run = |own: u64, high: Option<u64>| serde_json::json!({ "made": 200, "told": 100, "own_ns": own, "around_ns": own + 50, "own_of_told_ns": 1_000, "low_ns": 900, "high_ns": high });
    let result = |runs: &[Value]| {
        serde_json::json!({ "title": "x 1", "function": "f", "runs": runs }).to_string()
    };
    let narrow = result(&[run(880, Some(1_100)), run(800, Some(1_100)), run(1_000, Some(1_100))]);
    let endless = result(&[run(1_000, None)]);
    let table = clocked(&[narrow, endless]);
    let lines: Vec<&str> = table.lines().skip(2).collect();
    assert!(
        lines[0].starts_with(
            "| x 1, `f` | 0.88 µs | 0.93 µs | 0.90 µs to 1.10 µs | 20 [20–20] | 1 of 3 | 2 of 3 |"
        ),
        "{table}"
    );
    assert!(lines[0].ends_with("| 50 | 3 of 3 |"), "{table}");
    assert!(lines[1].contains("to – | – [–––] | 1 of 1 |"), "{table}");
}

#[test]
fn a_kept_part_is_told_with_what_it_took() {
    let result = serde_json::json!({
        "title": "x 1", "seconds": 3_600, "requests_per_second": 20_000.0, "recorded": 72_000_000, "at_least_ns": 250_000,
        "own_above": 71_900, "missing": 0, "lost_marks": 3, "trace_bytes": 1_500_000,
        "usage": { "disk_max": 2_000_000, "recorder_max": 30_000_000 }
    });
    let table = kept(&[result.to_string()]);
    let row = "| x 1 | 3,600 s at 20,000/s | 72,000,000 | 250 µs and longer | 71,900 | 0 | 3 | 2.0 MB | 1.5 MB | 30.0 MB |\n";
    assert!(table.ends_with(row), "{table}");
}

#[test]
fn a_function_that_is_not_the_planted_one_is_another() {
    let pair = |names: &[&str]| {
        let moved: Vec<Value> = names
            .iter()
            .map(|name| serde_json::json!({ "name": name, "by_itself": true }))
            .collect();
        serde_json::json!({ "functions": 30, "moved": moved })
    };
    let result = serde_json::json!({
        "function": "f", "percent": 5.0, "recordings": 20, "identical": [pair(&[]), pair(&["g"])], "planted": [pair(&["f", "g"]), pair(&["f"])]
    });
    let table = diff(&result.to_string());
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows[0], "| the same | 2 | 20 | 30 | 1 | 0 | 1 |");
    assert_eq!(rows[1], "| 5 % more in `f` | 2 | 20 | 30 | 2 | 2 | 1 |");
}
