//! `report --lines`: which calls count as slow.

use super::made::{US, function, profile, told, trace, vague};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tailwater_profile::record::{
    Call, Clock, Figure, FunctionId, Measured, Record, Sample, Thread, ThreadId,
};

/// Of each of these functions so many calls of 10 µs, of which the last takes 300 µs and has a sample.
fn recorded(name: &str, functions: &[(&str, u64)]) -> PathBuf {
    let one_is_slow = functions.iter().map(|(name, count)| (*name, *count, (1, 300)));
    recorded_with(name, &one_is_slow.collect::<Vec<Calls<'_>>>(), &[])
}

/// A function, how many calls it has, and how many of these are slow and take so many microseconds.
type Calls<'a> = (&'a str, u64, (u64, u64));

/// Of each function the last calls are slow, and each of these has a sample in its middle; others take 10 µs.
fn recorded_with(name: &str, functions: &[Calls<'_>], more: &[Record]) -> PathBuf {
    let [mut records, mut samples] = begun();
    records.extend_from_slice(more);
    let (mut at, mut calls) = (0, vec![]);
    for (id, (name, count, (slow, took_slow))) in (1..).zip(functions) {
        records.push(function(id, name));
        for nth in 0..*count {
            let is_slow = nth + slow >= *count;
            let took = if is_slow { *took_slow } else { 10 };
            calls.push(Record::Call(vague(id, (at, 0), (at + took, 0), 0)));
            if is_slow {
                let (thread, address) = (ThreadId(0), 4_096 * u64::from(id));
                let sample = Sample { thread, at: (at + took / 2) * US, address };
                samples.push(Record::Sample(sample));
            }
            at += 5_000;
        }
    }
    records.extend(calls);
    trace(&format!("{name}.lines"), &samples, 0);
    trace(name, &records, 0)
}

/// What a trace of one thread begins with, and its samples.
fn begun() -> [Vec<Record>; 2] {
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let thread = Record::Thread(Thread { id: ThreadId(0), tid: 100, name: String::new() });
    [vec![Record::Clock(clock), thread.clone()], vec![thread]]
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

/// The sample itself makes a quick call slow: most samples of slow calls may be of such.
#[test]
fn lines_that_add_the_most_to_slow_calls_come_first_though_others_have_more_samples() {
    let functions = [("quick", 400, (12, 30)), ("planted", 400, (6, 3_000))];
    let path = recorded_with("adds.trace", &functions, &[]);
    let order = [("planted".to_owned(), 6), ("quick".to_owned(), 12)];
    assert_eq!(slow(&path, "--lines"), order);
    let json = told(&profile("report", &path, &["--lines", "--json"]));
    let report: Value = serde_json::from_str(&json).expect("an object");
    let added = |nth: usize| {
        let added = &report["slow_lines"][nth]["added"];
        [&added["low_ns"], &added["high_ns"]].map(|ns| ns.as_u64().expect("a number") / 1_000)
    };
    // Samples come 997 times in a second, and so six stand for 6.02 ms of the 18 ms: for the rest it may have waited. Of the
    // 6.02 ms the usual 10 µs of each call may be a part.
    assert_eq!(added(0), [5_957, 6_018]);
    // Twelve times 20 µs, and the usual 10 µs are known to a percent.
    let [low, high] = added(1);
    assert!((235..=240).contains(&low) && (240..=245).contains(&high), "{low} to {high}");
    let text = told(&profile("report", &path, &["--lines"]));
    let (lines, functions) = text.split_once("functions by p99.99").expect("functions come last");
    let at = |name: &str| lines.find(&format!("\n{name} ")).unwrap_or_else(|| panic!("{text}"));
    assert!(at("planted") < at("quick"), "{text}");
    assert!(lines.contains("5.99 ms") && lines.contains("longer than the median"), "{text}");
    assert!(functions.contains("\nquick ") && !functions.contains("in slow calls"), "{text}");
}

/// A caller is as slow as what it calls, and the table of functions has it first.
#[test]
fn the_line_that_adds_the_most_is_of_the_callee_that_makes_its_caller_slow() {
    let [mut records, mut samples] = begun();
    records.extend([function(1, "caller"), function(2, "callee")]);
    for nth in 0..400 {
        let (at, took) = (nth * 5_000, if nth < 6 { 3_000 } else { 10 });
        let callee = vague(2, (at + 100, 0), (at + 100 + took, 0), 0);
        records.push(Record::Call(Call { parent: Some(FunctionId(1)), depth: 1, ..callee }));
        records.push(Record::Call(vague(1, (at, 0), (at + 200 + took, 0), 0)));
        let times = [500, 1_500, 2_500].into_iter().filter(|after| *after < took);
        samples.extend(times.map(|after| {
            let (thread, address) = (ThreadId(0), 4_096);
            Record::Sample(Sample { thread, at: (at + after) * US, address })
        }));
    }
    trace("adds-nested.trace.lines", &samples, 0);
    let path = trace("adds-nested.trace", &records, 0);
    assert_eq!(slow(&path, "--lines"), [("callee".to_owned(), 18)]);
    let text = told(&profile("report", &path, &["--lines"]));
    let (lines, functions) = text.split_once("functions by p99.99").expect("functions come last");
    assert!(lines.contains("\ncallee ") && !lines.contains("\ncaller "), "{text}");
    // Six times 2.99 ms.
    assert!(lines.contains("17.9 ms"), "{text}");
    let at = |name: &str| functions.find(&format!("\n{name} ")).unwrap_or_else(|| panic!("{text}"));
    assert!(at("caller") < at("callee"), "{text}");
}

/// Calls of the slowest requests alone do not tell how long others take.
#[test]
fn of_a_part_that_is_kept_slow_calls_count_as_wholes() {
    let kept = Record::Figure(Figure { what: Measured::Requests, value: 1_000_000 });
    // The planted path is in most calls that are left.
    let functions = [("quick", 20, (12, 30)), ("planted", 20, (12, 3_000))];
    let path = recorded_with("adds-kept.trace", &functions, &[kept]);
    assert_eq!(slow(&path, "--lines=p50")[0], ("planted".to_owned(), 12));
    let text = told(&profile("report", &path, &["--lines=p50"]));
    assert!(text.contains("12.0 ms") && text.contains("has slow requests alone"), "{text}");
}

#[test]
fn functions_of_the_table_of_lines_are_told_apart() {
    let inner = "std::map<int, std::vector<int, std::allocator<int>>>";
    let long = |argument: &str| format!("space::of::names::handle<{argument}, {inner}>(int)");
    let [one, other] = ["first", "second"].map(long);
    let path = recorded("alike.trace", &[(&one, 100), (&other, 100)]);
    let text = told(&profile("report", &path, &["--lines", "--limit", "1"]));
    let table = text.split_once("at, in slow calls").expect("a table").1;
    let (table, _) = table.split_once("functions by").expect("another table");
    let names: Vec<&str> = table.lines().filter(|line| line.contains("handle")).collect();
    assert_eq!(names.len(), 2, "{text}");
    let cell = |line: &str| line.split("  ").next().map(str::to_owned);
    assert_ne!(cell(names[0]), cell(names[1]), "{text}");
}

#[test]
fn lines_that_are_not_listed_are_counted() {
    let names: Vec<String> = (1..=7).map(|nth| format!("of{nth}")).collect();
    let functions: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 100)).collect();
    let path = recorded("unlisted-lines.trace", &functions);
    let text = told(&profile("report", &path, &["--lines"]));
    assert!(text.contains("\nand 2 more lines; --json lists them\n"), "{text}");
}

#[test]
fn the_table_of_lines_keeps_to_the_functions_that_are_named() {
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
    // Functions of too few calls are not in the other table, and slow all the same.
    assert_eq!(asked(&["--min-count", "101"]), ["often", "other"]);
}
