//! `report --lines`: which calls count as slow.

use super::made::{US, function, profile, told, trace, vague};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tailwater_profile::record::{Clock, Record, Sample, Thread, ThreadId};

/// Of each of these functions so many calls of 10 µs, of which the last takes 300 µs and has a sample.
fn recorded(name: &str, functions: &[(&str, u64)]) -> PathBuf {
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let thread = Record::Thread(Thread { id: ThreadId(0), tid: 100, name: String::new() });
    let (mut records, mut samples) = (vec![Record::Clock(clock), thread.clone()], vec![thread]);
    let (mut at, mut calls) = (0, vec![]);
    for (id, (name, count)) in (1..).zip(functions) {
        records.push(function(id, name));
        for nth in 1..=*count {
            let took = if nth == *count { 300 } else { 10 };
            calls.push(Record::Call(vague(id, (at, 0), (at + took, 0), 0)));
            at += 1_000;
        }
        let thread = ThreadId(0);
        let sample = Sample { thread, at: (at - 1_000 + 150) * US, address: 4_096 * u64::from(id) };
        samples.push(Record::Sample(sample));
    }
    records.extend(calls);
    trace(&format!("{name}.lines"), &samples, 0);
    trace(name, &records, 0)
}

fn slow(path: &Path, lines: &str) -> Vec<(String, u64)> {
    let json = told(&profile("report", path, &[lines, "--json"]));
    let report: Value = serde_json::from_str(&json).expect("an object");
    let lines = report["slow_lines"].as_array().expect("a list");
    let named =
        |one: &Value| (one["function"].as_str().map(str::to_owned), one["samples"].as_u64());
    lines.iter().map(named).map(|(name, samples)| (name.unwrap(), samples.unwrap())).collect()
}

#[test]
fn of_few_calls_none_is_slow_and_the_table_says_so() {
    let path = recorded("few.trace", &[("often", 100), ("seldom", 99)]);
    assert_eq!(slow(&path, "--lines"), [("often".to_owned(), 1)]);
    assert_eq!(slow(&path, "--lines=p50").len(), 2);
    assert!(slow(&path, "--lines=p99.9").is_empty());
    let text = told(&profile("report", &path, &["--lines"]));
    assert!(text.contains("Slow: calls of p99 or more, of functions of which 100 calls"), "{text}");
    let text = told(&profile("report", &path, &["--lines=p99.9"]));
    assert!(text.contains("No sample lies in a slow call: one of p99.9 or more"), "{text}");
}

#[test]
fn samples_that_cannot_be_read_are_told_and_not_taken_for_none() {
    let path = recorded("unread.trace", &[("often", 100)]);
    let samples = PathBuf::from(format!("{}.lines", path.display()));
    std::fs::write(&samples, "of another kind").expect("in the test's folder");
    let output = profile("report", &path, &["--lines"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("unread.trace.lines: ") && said.contains("is left out"), "{said}");
    std::fs::remove_file(&samples).expect("it was written");
    let output = profile("report", &path, &["--lines"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("found no samples of it") && !said.contains("left out"), "{said}");
}

#[test]
fn functions_of_the_last_table_are_told_apart() {
    let inner = "std::map<int, std::vector<int, std::allocator<int>>>";
    let long = |argument: &str| format!("space::of::names::handle<{argument}, {inner}>(int)");
    let [one, other] = ["first", "second"].map(long);
    let path = recorded("alike.trace", &[(&one, 100), (&other, 100)]);
    let text = told(&profile("report", &path, &["--lines", "--limit", "1"]));
    let table = text.split_once("at, in slow calls").expect("a table").1;
    let names: Vec<&str> = table.lines().filter(|line| line.contains("handle")).collect();
    assert_eq!(names.len(), 2, "{text}");
    let cell = |line: &str| line.split("  ").next().map(str::to_owned);
    assert_ne!(cell(names[0]), cell(names[1]), "{text}");
}

#[test]
fn the_last_table_keeps_to_the_functions_that_are_named() {
    let path = recorded("asked.trace", &[("often", 100), ("other", 100)]);
    let asked = |words: &[&str]| {
        let words: Vec<&str> = [&["--lines", "--json"], words].concat();
        let report: Value =
            serde_json::from_str(&told(&profile("report", &path, &words))).expect("an object");
        let lines = report["slow_lines"].as_array().expect("a list").iter();
        lines.map(|one| one["function"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(asked(&[]), ["often", "other"]);
    assert_eq!(asked(&["--function", "other"]), ["other"]);
    // Functions of too few calls are in no other table, and slow all the same.
    assert_eq!(asked(&["--min-count", "101"]), ["often", "other"]);
}
