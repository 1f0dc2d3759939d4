//! Predictions of the accelerator model beside trials: a line for each design.

use super::{head, line};
use serde_json::Value;
use tailwater_stats::result::Spread;

/// From the file that `tailwater accelerate validate --out` writes.
pub(super) fn table(result: &str) -> String {
    let result: Value = serde_json::from_str(result).expect("a validation");
    let cells = result["cells"].as_array().expect("cells");
    let heads = [
        "design",
        "cells",
        "within 3.7 points",
        "if nothing were gained",
        "covered by inputs alone",
        "covered",
        "half width, points",
        "median difference, points",
        "largest, points",
    ];
    let mut table = head(&heads.map(Into::into));
    let mut designs: Vec<String> = Vec::new();
    cells.iter().map(design).for_each(|name| {
        if !designs.contains(&name) {
            designs.push(name);
        }
    });
    for name in &designs {
        let of_it: Vec<&Value> = cells.iter().filter(|cell| design(cell) == *name).collect();
        table += &line(&row(name, &of_it));
    }
    let all: Vec<&Value> = cells.iter().collect();
    table + &line(&row("all", &all))
}

/// A request without the accelerator and with it, in two parts: a line for each cell of the files.
pub(super) fn parts(results: &[String]) -> String {
    let heads = [
        "case",
        "design",
        "bytes",
        "all else",
        "the kernel without",
        "what is left of it with",
        "freed",
    ];
    let mut table = head(&heads.map(Into::into));
    for result in results {
        let result: Value = serde_json::from_str(result).expect("a validation");
        let case = result["case"].as_str().expect("a case");
        for cell in result["cells"].as_array().expect("cells") {
            table += &line(&in_parts(case, cell));
        }
    }
    table
}

/// The kernel's share is of the calibration, what is freed of the trials.
fn in_parts(case: &str, cell: &Value) -> [String; 7] {
    let inputs = cell["predicted"]["inputs"].as_array().expect("inputs");
    let alpha = inputs.iter().find(|input| input["input"] == "alpha").expect("alpha");
    let kernel = alpha["mean"].as_f64().expect("a share");
    let shown = |share: f64| format!("{:.1}", share * 100.0);
    let with = cell["measured"]["speedup"].as_f64().map(|speedup| 1.0 / speedup);
    let of_trials = |share: Option<f64>| share.map_or("–".into(), shown);
    [
        case.into(),
        design(cell),
        cell["bytes"].to_string(),
        shown(1.0 - kernel),
        shown(kernel),
        of_trials(with.map(|with| with - (1.0 - kernel))),
        of_trials(with.map(|with| 1.0 - with)),
    ]
}

/// What the cells of `sync-os` come to where o₁ is charged by the switches that were counted: a line for each.
pub(super) fn switches(result: &str) -> String {
    let result: Value = serde_json::from_str(result).expect("a validation");
    let heads = ["bytes", "A", "switches of an offload", "points", "points, by switches"];
    let cells = result["cells"].as_array().expect("cells").iter();
    let cells = cells.filter(|cell| cell["threading"] == "sync-os");
    head(&heads.map(Into::into)) + &cells.map(|cell| line(&by_switches(cell))).collect::<String>()
}

/// Equation 6.3 charges 2·o₁ for each offload. Here it does so for each that had its thread leave the core.
fn by_switches(cell: &Value) -> [String; 5] {
    let inputs = cell["predicted"]["inputs"].as_array().expect("inputs");
    let input = |name: &str| {
        let of_it = inputs.iter().find(|input| input["input"] == name).expect("an input");
        of_it["mean"].as_f64().expect("a number")
    };
    let measured = |key: &str| cell["measured"][key].as_f64().expect("a number");
    let without = 1e9 / input("n");
    let predicted = without / cell["predicted"]["speedup"].as_f64().expect("a factor");
    let switches = measured("switches");
    let charged = predicted - 2.0 * input("o1") * (1.0 - switches.min(1.0));
    [
        cell["bytes"].to_string(),
        format!("{:.1}", input("A")),
        format!("{switches:.2}"),
        format!("{:+.1}", measured("points")),
        format!("{:+.1}", (without / charged - measured("speedup")) * 100.0),
    ]
}

fn design(cell: &Value) -> String {
    let name = cell["threading"].as_str().expect("a design");
    let others = cell["others_percent"].as_u64().expect("a share");
    if others > 0 { format!("{name}, others {others} %") } else { name.into() }
}

fn row(name: &str, cells: &[&Value]) -> [String; 9] {
    let measured: Vec<&Value> =
        cells.iter().map(|cell| &cell["measured"]).filter(|found| !found.is_null()).collect();
    let points: Vec<f64> =
        measured.iter().map(|found| found["points"].as_f64().expect("points").abs()).collect();
    let within = points.iter().filter(|points| **points <= 3.7).count();
    let speedup = |found: &&&Value| found["speedup"].as_f64().expect("a factor");
    let no_gain =
        measured.iter().filter(|found| (speedup(found) - 1.0).abs() * 100.0 <= 3.7).count();
    let by_inputs = measured.iter().filter(|found| found["covered"] == true).count();
    let is_covered = |cell: &&&Value| match cell["own_error"].is_null() {
        true => cell["measured"]["covered"] == true,
        false => cell["own_error"]["covered"] == true,
    };
    let covered = cells.iter().filter(is_covered).count();
    let end = |cell: &Value, of: &str| cell["own_error"][of].as_f64();
    let half = |cell: &&Value| Some((end(cell, "high")? - end(cell, "low")?) / 2.0 * 100.0);
    let half_widths: Vec<f64> = cells.iter().filter_map(half).collect();
    let shown = |values: &[f64], of: fn(Spread) -> f64| match values {
        [] => "–".into(),
        _ => format!("{:.1}", of(Spread::of(values))),
    };
    [
        name.into(),
        cells.len().to_string(),
        within.to_string(),
        no_gain.to_string(),
        by_inputs.to_string(),
        covered.to_string(),
        shown(&half_widths, |of| of.median),
        shown(&points, |of| of.median),
        shown(&points, |of| of.max),
    ]
}

#[test]
fn an_offload_whose_thread_keeps_the_core_is_charged_no_switch() {
    let cell = |switches: f64| {
        format!(
            r#"{{ "threading": "sync-os", "bytes": 64, "predicted": {{ "speedup": 0.8, "inputs": [
                {{ "input": "n", "mean": 1e5 }}, {{ "input": "o1", "mean": 1250 }}, {{ "input": "A", "mean": 9 }}] }},
                "measured": {{ "switches": {switches}, "points": -20, "speedup": 1 }} }}"#
        )
    };
    // A request of 10 µs is predicted to take 12.5, of which 2.5 are two switches.
    let table = switches(&format!(r#"{{ "cells": [{}, {}] }}"#, cell(0.0), cell(1.2)));
    assert!(
        table
            .ends_with("| 64 | 9.0 | 0.00 | -20.0 | +0.0 |\n| 64 | 9.0 | 1.20 | -20.0 | -20.0 |\n"),
        "{table}"
    );
}

#[test]
fn the_parts_of_a_request_are_shares_of_one_without_the_accelerator() {
    let cell = |measured: &str| {
        format!(
            r#"{{ "case": "aes", "cells": [{{ "threading": "sync", "bytes": 256, "others_percent": 0, "measured": {measured},
                "predicted": {{ "inputs": [{{ "input": "n", "mean": 9 }}, {{ "input": "alpha", "mean": 0.25 }}] }} }}] }}"#
        )
    };
    let table = parts(&[cell(r#"{ "speedup": 1.25 }"#), cell("null")]);
    for row in [
        "| aes | sync | 256 | 75.0 | 25.0 | 5.0 | 20.0 |",
        "| aes | sync | 256 | 75.0 | 25.0 | – | – |",
    ] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
}
