//! `report --slowest`.

use crate::made::{US, fig1, function, profile, told, trace, vague};
use tailwater_profile::record::{Call, FunctionId, Record};

/// Fig. 1 with a parser within the request.
fn nested() -> Vec<Record> {
    let mut records = fig1();
    let place = records.iter().position(|one| matches!(one, Record::Wait(_))).expect("a wait");
    let parser = Call {
        parent: Some(FunctionId(1)),
        depth: 1,
        generation: 2,
        ..vague(3, (5_912, 0), (5_928, 0), 0)
    };
    records.insert(place + 1, Record::Call(parser));
    records.insert(1, function(3, "parse"));
    records
}

#[test]
fn the_slowest_calls_of_a_function_are_told_without_a_mark() {
    let path = trace("slowest.trace", &nested(), 0);
    let text = told(&profile("report", &path, &["--slowest", "20", "-f", "handle*"]));
    for line in [
        "bin/fig1: the 1 slowest of 1 calls of handle*",
        "call 1, 928 µs in thread requests (100):",
        "  waited 900 µs for mutex 0x5000 in handle_request()",
        "    held by thread snapshot (101) in fig1::snapshot",
        "    which was in fig1::snapshot 895 µs",
        "  handle_request(): ",
        "    → parse: 16.0 µs",
        "12 records. Lost: 0 calls",
    ] {
        assert!(text.contains(line), "{line} in:\n{text}");
    }
    let flags = ["--slowest", "1", "-f", "handle*", "--json"];
    let json: serde_json::Value =
        serde_json::from_str(&told(&profile("report", &path, &flags))).expect("JSON");
    let call = &json["slowest"][0];
    assert_eq!((&json["count"], &call["parts"]["waiting_ns"]), (&1.into(), &900_000.into()));
    assert_eq!(call["tree"]["callees"][0]["function"], "parse");
    assert_eq!(call["tree"]["callees"][0]["total"]["low_ns"], 16_000);
}

#[test]
fn what_is_small_or_deep_is_summed_up() {
    let mut records = vec![function(1, "outer")];
    // Nine callees of a millisecond and one of a microsecond, then a chain of twenty.
    for n in 0..10 {
        records.push(function(10 + n, &format!("callee{n}")));
        let took = if n == 0 { 1 } else { 1_000 };
        let start = u64::from(n) * 2_000;
        let call = vague(10 + n, (start + 10, 0), (start + 10 + took, 0), 0);
        let generation = 2 + u64::from(n);
        records.push(Record::Call(Call {
            parent: Some(FunctionId(1)),
            depth: 1,
            generation,
            ..call
        }));
    }
    records.extend((0..20).map(|n| function(30 + n, &format!("deep{n}"))));
    let deep = |n: u32| {
        let call = vague(30 + n, (30_000, 0), (50_000, 0), 0);
        Record::Call(Call { depth: n + 1, generation: 100 + u64::from(n), ..call })
    };
    records.extend((0..20).rev().map(deep));
    let outer = Call { generation: 1, start: 0, end: 60_000 * US, ..vague(1, (0, 0), (0, 0), 0) };
    records.push(Record::Call(outer));
    let path = trace("small.trace", &records, 0);
    let text = told(&profile("report", &path, &["--slowest", "1", "-f", "outer"]));
    let told_of = |name: &str| text.contains(&format!("→ {name}:"));
    assert!(told_of("deep0") && told_of("deep10") && !told_of("deep15"), "{text}");
    assert!(told_of("callee1") && !told_of("callee0") && !told_of("callee9"), "{text}");
    assert!(text.contains("    and 6 more; --json lists them"), "{text}");
}

#[test]
fn a_function_that_is_not_there_is_told_with_how_to_find_those_that_are() {
    let path = trace("nowhere.trace", &fig1(), 0);
    let text = told(&profile("report", &path, &["--slowest", "3", "-f", "nowhere"]));
    assert!(text.contains("called nowhere. `tailwater profile report --limit 0`"), "{text}");
    let refused = profile("report", &path, &["--slowest", "3"]);
    assert_eq!(refused.status.code(), Some(2), "which function?");
    let refused = profile("report", &path, &["--slowest", "3", "-f", "x", "--sort", "mean"]);
    assert_eq!(refused.status.code(), Some(2));
}
