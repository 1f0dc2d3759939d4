//! Where in a function its time went, as `tailwater profile report` and `requests` tell it by lines.

use crate::profiled::{alone, folder, in_time, record_program, succeeds, text, tools};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The line of the source that ends with a comment of these words.
fn line(words: &str) -> String {
    let source = std::fs::read_to_string(tools().sources().join("places.c")).expect("the source");
    let comment = format!("/* {words} */");
    let at = source.lines().position(|line| line.ends_with(&comment)).expect("the comment");
    format!("places.c:{}", at + 1)
}

/// The same without the file.
fn number(words: &str) -> String {
    line(words).split_once(':').expect("a number").1.to_owned()
}

fn tailwater(trace: &Path, words: &[&str]) -> String {
    let mut command = Command::new(&tools().tailwater);
    text(&succeeds(command.arg("profile").args(words).arg(trace)).stdout)
}

fn json(trace: &Path, words: &[&str]) -> Value {
    serde_json::from_str(&tailwater(trace, &[words, &["--json"]].concat())).expect("an object")
}

/// The one function of this name.
fn function<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["functions"].as_array()?.iter().find(|row| row["name"] == name)
}

/// Whether a line is that, with or without what was inlined there.
fn is_at(found: &Value, words: &str) -> bool {
    found.as_str().is_some_and(|found| {
        found.split(',').next().is_some_and(|place| place.ends_with(&line(words)))
    })
}

/// The slow call and the nested ones by the program's clock, less a hundredth: the trace has another clock.
const SLOW_NS: u64 = 1_980_000;
const NESTED_NS: u64 = 29_700_000;

fn ns(bounds: &Value, which: &str) -> u64 {
    bounds[which].as_u64().expect("a number")
}

#[test]
fn the_time_of_a_function_is_told_by_the_lines_that_call() {
    let _alone = alone();
    let folder = folder("places");
    let program = folder.join("places");
    tools().compiled("CC", "-g -pthread", "places.c", &program);
    let trace = folder.join("x.trace");
    let report = in_time(40, |calls| {
        succeeds(record_program(&folder, &program).arg(calls));
        let report = json(&trace, &["report", "--callees", "--by-line", "--limit", "0"]);
        // A machine may be too busy for the scanner to look in time; then there is more to look at.
        let has = |name| function(&report, name).is_some();
        let all = ["handle", "sorts", "compare", "nest_outer", "nest_inner", "waits", "maintain"];
        let calls = function(&report, "handle").and_then(|it| it["callees"].as_array());
        let was_held = report["locks"].as_array().is_some_and(|locks| !locks.is_empty());
        let is_seen = all.into_iter().all(has) && calls.is_some_and(|calls| calls.len() == 3);
        (is_seen && was_held).then_some(report)
    });
    the_slow_line_comes_first(&report);
    what_a_library_called_has_no_line(&report);
    a_holder_is_known_by_line(&report);
    requests_name_the_lines(&trace);
    a_set_counts_each_moment_once(&trace);
    slow_calls_are_told_by_the_line_that_was_slow(&trace);
    flame_graphs_have_the_path(&trace);
}

/// The sanitizer ends a program by 66 in which it found a race, or a thread that nobody joined.
#[test]
fn a_sanitizer_of_races_finds_none_in_what_is_recorded() {
    let _alone = alone();
    let folder = folder("places-races");
    let program = folder.join("places");
    tools().compiled("CC", "-g -pthread -fsanitize=thread", "places.c", &program);
    // What was not recorded has no races.
    in_time(40, |calls| {
        succeeds(record_program(&folder, &program).arg(calls));
        let report = json(&folder.join("x.trace"), &["report", "--limit", "0"]);
        function(&report, "handle").is_some().then_some(())
    });
}

fn the_slow_line_comes_first(report: &Value) {
    let handle = function(report, "handle").expect("it was seen");
    let callees = handle["callees"].as_array().expect("a list");
    let slow = callees.iter().find(|row| is_at(&row["line"], "the slow call"));
    let slow = slow.unwrap_or_else(|| panic!("{callees:#?}"));
    assert_eq!(slow["callee"], "busy");
    let inlined = format!(
        ", inlined slow_path at line {}, slowest_part at line {}",
        number("the slow path"),
        number("the slowest part")
    );
    assert!(slow["line"].as_str().is_some_and(|line| line.ends_with(&inlined)), "{slow}");
    assert!(ns(&slow["max"], "high_ns") >= SLOW_NS, "{slow}");
    assert!(ns(&slow["p50"], "high_ns") >= SLOW_NS, "only the slow ones come from there: {slow}");
    for words in ["the quick call", "the last call"] {
        assert!(callees.iter().any(|row| is_at(&row["line"], words)), "{words}: {callees:#?}");
    }
    let own = ns(&handle["self"], "low_ns");
    assert!(own < ns(&handle["total"], "low_ns") / 2, "its time is that of its calls: {handle}");
}

fn what_a_library_called_has_no_line(report: &Value) {
    let sorts = function(report, "sorts").expect("it was seen");
    for row in sorts["callees"].as_array().expect("a list") {
        match row["callee"].as_str() {
            Some("compare") => assert_eq!(row["line"], Value::Null, "qsort called it"),
            _ => assert!(is_at(&row["line"], "after the sort"), "{row}"),
        }
    }
}

fn a_holder_is_known_by_line(report: &Value) {
    let locks = report["locks"].as_array().expect("a list");
    let lock = locks.iter().find(|row| row["lock"] == "lock").expect("it was waited for");
    assert_eq!((&lock["function"], &lock["holder"]), (&"waits".into(), &"maintain".into()));
    let found = lock["holder_line"].as_str().expect("a line");
    let inlined = format!("inlined audit at line {}", number("the holder's lock"));
    assert!(found.ends_with(&inlined), "{found}");
}

fn requests_name_the_lines(trace: &Path) {
    let said = tailwater(trace, &["requests"]);
    assert!(said.contains("in maintain at ") && said.contains("inlined audit"), "{said}");
    let called = format!("{})", line("in the request"));
    // On a full machine the scanner may have been away while the requests ran.
    let ran = said.contains("\n  ran in ");
    assert!(said.contains("(called at ") && (!ran || said.contains(&called)), "{said}");
}

/// On a busy machine another call may be slower than those that are slow by themselves.
fn slow_calls_are_told_by_the_line_that_was_slow(trace: &Path) {
    let found = json(trace, &["report", "--slowest", "20", "--function", "handle"]);
    let calls = found["slowest"].as_array().expect("a list");
    let trees = calls.iter().flat_map(|call| call["tree"]["callees"].as_array().expect("a list"));
    let slow = trees.filter(|callee| is_at(&callee["line"], "the slow call"));
    let slow: Vec<&Value> = slow.collect();
    assert!(!slow.is_empty(), "{found:#}");
    for callee in slow {
        assert_eq!((&callee["function"], &callee["calls"]), (&"busy".into(), &1.into()));
        assert!(ns(&callee["total"], "high_ns") >= SLOW_NS, "{callee}");
    }
    let said = tailwater(trace, &["report", "--slowest", "20", "--function", "handle"]);
    assert!(said.contains("→ busy at ") && said.contains(", inlined slow_path at line"), "{said}");
}

fn flame_graphs_have_the_path(trace: &Path) {
    let folded = tailwater(trace, &["export", "--to", "folded", "--function", "handle"]);
    assert!(folded.lines().any(|line| line.starts_with("main;handle;busy ")), "{folded}");
    assert!(!folded.contains("sorts"), "{folded}");
    for format in ["speedscope", "firefox", "perfetto"] {
        let file: Value = serde_json::from_str(&tailwater(trace, &["export", "--to", format]))
            .expect("an object");
        assert!(file.is_object(), "{format}");
    }
}

/// `nest_outer` takes 30 ms, with itself and `nest_inner` within.
fn a_set_counts_each_moment_once(trace: &Path) {
    let report = json(trace, &["report", "--function", "nest_*", "--sort", "total"]);
    let [outer, inner] =
        ["nest_outer", "nest_inner"].map(|name| function(&report, name).expect("seen"));
    let together = &report["together"];
    let number = |value: &Value| value.as_u64().expect("a number");
    let (calls, nested) = (number(&together["calls"]), number(&together["nested"]));
    let counted = |row: &Value| number(&row["count"]) + number(&row["left_out"]);
    assert_eq!(counted(outer) + counted(inner), calls + nested, "each call once: {together}");
    assert!(nested > 0 && number(&together["functions"]) == 2, "{together}");
    assert!(ns(&together["total"], "high_ns") >= NESTED_NS * calls, "{together}");
    let alone = ["low_ns", "high_ns"].map(|which| ns(&outer["total"], which));
    let total = ["low_ns", "high_ns"].map(|which| ns(&together["total"], which));
    assert!(total[0] <= alone[0] && total[1] < alone[1], "the inner ones count twice in {outer}");
    let table = tailwater(trace, &["report", "--function", "nest_*", "--sort", "self"]);
    assert!(table.contains("Together, 2 functions took "), "{table}");
}
