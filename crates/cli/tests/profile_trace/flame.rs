//! `flame`: slow calls beside all, in numbers, in words and on a page.

use super::export::{PARSE_US, REQUEST_US, requests};
use super::made::{US, function, profile, told, trace, vague};
use serde_json::Value;
use std::path::PathBuf;
use tailwater_profile::record::{Call, Clock, FunctionId, Mark, MarkKind, Record, ThreadId};

const OF_REQUESTS: [&str; 4] = ["--function", "ns::request*", "--above", "p98"];

/// Ten of a thousand requests take 9.96 ms instead of 100 µs, all of that more in the parser.
#[test]
fn each_frame_has_its_time_in_slow_calls_and_in_all() {
    let flags = [&OF_REQUESTS[..], &["--json"]].concat();
    let json = told(&profile("flame", &requests("flame-json.trace"), &flags));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["tail"]["calls"], 10);
    assert_eq!(json["all"]["calls"], 1_000);
    assert_eq!(json["tail"]["total_ns"], 10 * 9_960 * US);
    assert_eq!(json["all"]["total_ns"], (PARSE_US + REQUEST_US) * US);
    let frames = json["frames"].as_array().expect("frames");
    let names: Vec<&str> = frames.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["main", "ns::request(int; char)", "parse"]);
    for (at, slow, all) in [
        (0_usize, (10 * 9_960, 0), (PARSE_US + REQUEST_US, 0)),
        (1, (10 * 9_960, 10 * 60), (PARSE_US + REQUEST_US, REQUEST_US)),
        (2, (10 * 9_900, 10 * 9_900), (PARSE_US, PARSE_US)),
    ] {
        for (side, (us, self_us)) in [("tail", slow), ("all", all)] {
            assert_eq!(frames[at][side]["ns"], us * US, "{side}: {}", frames[at]);
            assert_eq!(frames[at][side]["self_ns"], self_us * US, "{side}: {}", frames[at]);
        }
        assert_eq!(frames[at]["depth"], at);
    }
    assert_eq!(frames[2]["tail"]["per_call_ns"], 9_900_000.0);
    let grown = frames[2]["grown"].as_f64().expect("a number");
    assert!((grown - (99.0 / 99.6 - 138.6 / 198.6)).abs() < 1e-9, "{grown}");
}

#[test]
fn a_table_has_the_functions_whose_own_time_grew() {
    let text = told(&profile("flame", &requests("flame-text.trace"), &OF_REQUESTS));
    let head = "bin/fig1: 10 calls of ns::request* above p98, beside all 1,000\n";
    assert!(text.starts_with(head), "{text}");
    let row = text.lines().find(|line| line.starts_with("parse ")).expect("the parser");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert!(words.ends_with(&["9.90", "ms", "99", "139", "µs", "70", "+29.6"]), "{row}");
    assert!(!text.lines().any(|line| line.starts_with("ns::request")), "its share shrank: {text}");
}

/// A hundred requests of 100 µs, of which one takes 900 µs. Of each `handle` has all but 10 µs; a loop goes on around them.
fn marked(name: &str) -> PathBuf {
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let mut records = vec![Record::Clock(clock), function(1, "main_loop"), function(2, "handle")];
    for n in 0..100 {
        let (start, took) = (n * 1_000, if n == 50 { 900 } else { 100 });
        let mark = |kind, at| {
            Record::Mark(Mark { thread: ThreadId(0), request: n + 1, kind, at: at * US })
        };
        let call = vague(2, (start + 5, 0), (start + took - 5, 0), 0);
        let call = Call { generation: n + 2, depth: 1, parent: Some(FunctionId(1)), ..call };
        records.push(mark(MarkKind::Start, start));
        records.push(Record::Call(call));
        records.push(mark(MarkKind::End, start + took));
    }
    records.push(Record::Call(Call { generation: 1, ..vague(1, (0, 0), (100_000, 0), 0) }));
    trace(name, &records, 0)
}

#[test]
fn without_a_function_slow_requests_are_beside_all_requests() {
    let path = marked("flame-marked.trace");
    let json = told(&profile("flame", &path, &["--json"]));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    for (side, requests, us) in [("tail", 1, 890), ("all", 100, 99 * 90 + 890)] {
        assert_eq!(json[side]["calls"], requests, "{side}");
        assert_eq!(json[side]["total_ns"], us * US, "{side}");
        assert_eq!(json["frames"][1][side]["per_call_ns"], (us * US / requests) as f64, "{side}");
    }
    let names = [0_usize, 1].map(|at| json["frames"][at]["name"].as_str().unwrap_or_default());
    assert_eq!(names, ["main_loop", "handle"]);
    let text = told(&profile("flame", &path, &[]));
    assert!(text.starts_with("bin/fig1: 1 request above p99, beside all 100\n"), "{text}");
    assert!(
        text.contains("No function has a larger share of the slow ones than of all."),
        "{text}"
    );
}

/// As of `keep`, which kept one of a hundred where this refused.
#[test]
fn of_few_requests_the_slowest_is_above_any_percentile() {
    let path = marked("flame-marked-few.trace");
    let text = told(&profile("flame", &path, &["--above", "p99.9"]));
    assert!(text.starts_with("bin/fig1: 1 request above p99.9, beside all 100\n"), "{text}");
    let part = path.with_file_name("flame-marked-kept.trace");
    let flags = ["--above", "p99.9", "-o", part.to_str().expect("a path")];
    told(&profile("keep", &path, &flags));
    let json = told(&profile("requests", &part, &["--json"]));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["slowest"].as_array().map(Vec::len), Some(1), "{json}");
}

#[test]
fn a_page_has_both_graphs_and_fetches_nothing() {
    let path = requests("flame-page.trace");
    let page = path.with_extension("html");
    let flags = [&OF_REQUESTS[..], &["--page", page.to_str().expect("a path")]].concat();
    told(&profile("flame", &path, &flags));
    let page = std::fs::read_to_string(page).expect("a page");
    for part in [
        "<h1>Slow calls of ns::request* in bin/fig1</h1>",
        "10 calls of ns::request* above p98, 9.96 ms each.",
        "1,000 calls of ns::request*, 199 µs each.",
        "class=\"grew-3\" style=\"left:0.0000%;width:99.3976%;top:72px\" data-frame=\"3\" data-until=\"3\"",
        "class=\"grew-3\" style=\"left:0.0000%;width:69.7885%;top:72px\" data-frame=\"3\" data-until=\"3\"",
        "slow: 9.90 ms of each, 99 %; itself 9.90 ms\nall: 139 µs of each, 70 %; itself 139 µs\n+29.6 points in slow ones; itself +29.6",
        ">ns::request(int; char)</button>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn what_cannot_be_drawn_is_refused_with_what_to_do() {
    let path = requests("flame-refused.trace");
    let few = [
        function(1, "handle"),
        Record::Call(Call { generation: 1, ..vague(1, (0, 0), (10, 0), 0) }),
        Record::Call(Call { generation: 2, ..vague(1, (20, 0), (90, 0), 0) }),
    ];
    let few = trace("flame-few.trace", &few, 0);
    for (path, flags, why) in [
        (&path, &["--json"][..], "no request was marked: name a function by --function"),
        (&path, &["-f", "nowhere"], "`tailwater profile report --limit 0` lists those"),
        (&path, &["-f", "parse", "--above", "p100"], "a percentile below p100 is needed"),
        (&few, &["-f", "handle"], "2 calls; p99 needs 100 or more"),
    ] {
        let refused = profile("flame", path, flags);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains(why), "{said}");
        assert!(refused.stdout.is_empty(), "{refused:?}");
    }
}
