//! The lines within functions, which `--lines` of `record` and `attach` samples.

use crate::profiled::neighbours::passed_over;
use crate::profiled::served::{Served, finishes};
use crate::profiled::{Recorded, alone, folder, in_time, record_with, succeeds, text, tools};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use tailwater_profile::record::{Record, Sample};

/// What is said where samples may not be taken.
const WITHOUT: &str = "recording without lines";
/// Samples that a function must have before its lines are judged.
const SAMPLES: u64 = 50;

/// The number of the line of the source that ends with a comment of these words.
fn number(words: &str) -> usize {
    let source = std::fs::read_to_string(tools().sources().join("lines.c")).expect("the source");
    let comment = format!("/* {words} */");
    source.lines().position(|line| line.ends_with(&comment)).expect("the comment") + 1
}

fn tailwater(trace: &Path, words: &[&str]) -> String {
    let mut command = Command::new(&tools().tailwater);
    text(&succeeds(command.arg("profile").args(words).arg(trace)).stdout)
}

fn json(trace: &Path, words: &[&str]) -> Value {
    serde_json::from_str(&tailwater(trace, &[words, &["--json"]].concat())).expect("an object")
}

fn first_line(sampled: &Value) -> &str {
    sampled["lines"][0]["line"].as_str().expect("a line")
}

fn samples(sampled: &Value) -> u64 {
    sampled["samples"].as_u64().unwrap_or(0)
}

#[test]
fn a_slow_path_that_was_inlined_is_told_by_its_line() {
    let _alone = alone();
    let folder = folder("lines");
    let program = folder.join("lines");
    tools().compiled("CC", "-g -pthread", "lines.c", &program);
    let trace = folder.join("x.trace");
    let function = |report: &Value, name: &str| -> Option<Value> {
        let rows = report["functions"].as_array()?;
        rows.iter().find(|row| row["name"] == name).map(|row| row["lines"].clone())
    };
    let found = in_time(1_000, |calls| {
        // A slow call is on a core for some 4 ms.
        let mut record = record_with(&folder, &["--lines=5000"], &program);
        let done = succeeds(record.arg(calls));
        if text(&done.stderr).contains(WITHOUT) {
            return Some(Err(text(&done.stderr)));
        }
        // Few calls of the one are slow, and all of the other.
        let lines = [("handle", "--lines"), ("callee", "--lines=p50")]
            .map(|(name, lines)| function(&json(&trace, &["report", lines, "--limit", "0"]), name));
        let [Some(handle), Some(callee)] = lines else { return None };
        let is_enough = [&handle, &callee].iter().all(|lines| samples(lines) >= SAMPLES);
        is_enough.then_some(Ok((handle, callee)))
    });
    let (handle, callee) = match found {
        Ok(found) => found,
        Err(why) => return passed_over(&why),
    };
    let planted = format!("lines.c:{}", number("the planted path"));
    let inlined = format!(", inlined planted_slow_path at line {}", number("the slow line"));
    let is_planted = |line: &str| line.contains(&planted) && line.contains(&inlined);
    assert!(is_planted(first_line(&handle)), "{handle}");
    let expected = format!("lines.c:{}", number("the callee's line"));
    assert!(first_line(&callee).ends_with(&expected), "{callee}");
    assert!(!first_line(&callee).contains("inlined"), "{callee}");
    let told = tailwater(&trace, &["report", "--lines=p99.9", "--function", "handle"]);
    assert!(told.contains("or more itself: ") && told.contains(&planted), "{told}");
    // Of all functions, too: no caller has the samples of what it calls.
    let report = json(&trace, &["report", "--lines"]);
    assert_eq!(report["samples"]["every_ns"], 200_000, "5,000 in a second");
    let first = &report["slow_lines"][0];
    assert_eq!(first["function"], "handle", "{first}");
    assert!(is_planted(first["line"].as_str().unwrap_or_default()), "{first}");
    // Single calls and requests have lines of their own.
    let slow = json(&trace, &["report", "--slowest", "5", "--function", "handle"]);
    let requests = json(&trace, &["requests", "--slowest", "5"]);
    for rows in [&slow["slowest"], &requests["slowest"]] {
        let rows = rows.as_array().expect("rows");
        let mut sampled = rows.iter().map(|row| &row["lines"]).filter(|it| samples(it) >= 3);
        assert!(sampled.any(|it| is_planted(first_line(it))), "{rows:?}");
    }
    let told = tailwater(&trace, &["report", "--slowest", "5", "--function", "handle"]);
    assert!(told.contains("samples of where it ran"), "{told}");
    // Another build in its place has other lines.
    tools().compiled("CC", "-g -O1 -pthread", "lines.c", &program);
    let told = tailwater(&trace, &["report", "--lines"]);
    assert!(
        told.contains("is not the file that was recorded") && !told.contains(&planted),
        "{told}"
    );
}

/// Where no core is left for a scanner, and no function times itself, the program's own clock still interrupts it.
#[test]
fn where_no_call_was_seen_lines_are_told_all_the_same() {
    let _alone = alone();
    let folder = folder("lines-unscanned");
    let program = folder.join("lines");
    tools().compiled("CC", "-g -pthread", "lines.c", &program);
    let trace = folder.join("x.trace");
    let found = in_time(1_000, |calls| {
        let mut record = record_with(&folder, &["--lines=5000", "--scanners", "0"], &program);
        let done = succeeds(record.arg(calls));
        if text(&done.stderr).contains(WITHOUT) {
            return Some(Err(text(&done.stderr)));
        }
        let report = json(&trace, &["report", "--lines"]);
        (samples(&report["sampled"]) >= SAMPLES).then_some(Ok(report))
    });
    let report = match found {
        Ok(report) => report,
        Err(why) => return passed_over(&why),
    };
    assert_eq!(report["functions"].as_array().map(Vec::len), Some(0));
    assert!(first_line(&report["sampled"]).contains("lines.c:"), "{}", report["sampled"]);
    let told = tailwater(&trace, &["report", "--lines"]);
    assert!(told.contains("of where threads were, in calls or not:"), "{told}");
    let told = tailwater(&trace, &["report"]);
    assert!(
        told.contains("`report --lines` tells where threads were") && !told.contains("lines.c:"),
        "{told}"
    );
}

#[test]
fn without_samples_the_report_says_what_to_type() {
    let _alone = alone();
    let folder = folder("lines-none");
    let program = folder.join("lines");
    tools().compiled("CC", "-g -pthread", "lines.c", &program);
    let trace = folder.join("x.trace");
    let companion = folder.join("x.trace.lines");
    std::fs::write(&companion, "of before").expect("a file");
    succeeds(record_with(&folder, &[], &program).arg("200"));
    assert!(!companion.exists(), "it is of the recording before");
    let mut report = Command::new(&tools().tailwater);
    let refused = report.args(["profile", "report", "--lines"]).arg(&trace).output();
    let refused = refused.expect("it starts");
    assert_eq!(refused.status.code(), Some(2));
    let why = text(&refused.stderr);
    assert!(why.contains("found no samples") && why.contains("record --lines"), "{why}");
}

#[test]
fn threads_that_were_there_before_are_sampled_too() {
    let _alone = alone();
    let folder = folder("attach-lines");
    let trace = folder.join("x.trace");
    let served = Served::start();
    let lines = folder.join("x.trace.lines");
    for part in [&[][..], &["--last", "100ms"]] {
        let said = in_time(300, |ms| {
            let length = format!("{ms}ms");
            let options = [&["--lines=1000", "--for", length.as_str()], part].concat();
            let said = text(&finishes(&mut served.attach(&trace, &options)).stderr);
            if !lines.exists() {
                return Some(Err(said));
            }
            let recorded = Recorded::read(&lines);
            assert!(recorded.is_finished(), "{said}");
            let samples: Vec<Sample> = recorded.records.iter().filter_map(sample).collect();
            let of: BTreeSet<u32> = samples.iter().map(|sample| sample.thread.0).collect();
            let times = samples.iter().map(|sample| sample.at);
            let (first, last) = (times.clone().min()?, times.max()?);
            // Its ticks are nanoseconds, and a part has no more than was asked for.
            assert!(part.is_empty() || last - first <= 100_000_000, "{said}");
            // Its three threads sleep most of the time, and few samples are of the last moments.
            (of.len() >= 3 || !part.is_empty()).then_some(Ok(said))
        });
        match said {
            Ok(said) => assert_eq!(said.contains("Kept: "), !part.is_empty(), "{said}"),
            Err(said) => {
                assert!(said.contains(WITHOUT), "{said}");
                return passed_over(&said);
            }
        }
        finishes(
            Command::new(&tools().tailwater).args(["profile", "report", "--lines"]).arg(&trace),
        );
    }
}

fn sample(record: &Record) -> Option<Sample> {
    if let Record::Sample(sample) = record { Some(*sample) } else { None }
}
