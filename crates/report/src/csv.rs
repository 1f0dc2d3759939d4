//! Results as comma-separated values, for spreadsheets and statistics programs.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tailwater_stats::agreement::Agreement;
use tailwater_stats::result::{Experiment, Run, TierReading};

/// What tells runs apart stands first.
const FIRST: [&str; 7] =
    ["controller", "profile", "clients", "slo_us", "demand_ratio", "repetition", "valid"];

/// One line for each run, also the invalid, under the names that the JSON has; what is nested there has a dot:
/// `fates.ok`. Texts of a list are joined by `; `. Lists of numbers and of readings are left to the JSON. What a spreadsheet
/// would take for a formula has an apostrophe before it, in all tables.
#[must_use]
pub fn runs_csv(experiment: &Experiment) -> String {
    let rows: Vec<BTreeMap<String, String>> = experiment.runs.iter().map(flat).collect();
    let rest: BTreeSet<&String> =
        rows.iter().flat_map(BTreeMap::keys).filter(|key| !FIRST.contains(&key.as_str())).collect();
    let heads: Vec<&str> = FIRST.into_iter().chain(rest.into_iter().map(String::as_str)).collect();
    let row = |row: &BTreeMap<String, String>| -> Vec<String> {
        heads.iter().map(|&head| row.get(head).cloned().unwrap_or_default()).collect()
    };
    text(&heads, rows.iter().map(row))
}

/// One line for each bin of each run, where demand changes within runs; `None` where it does not.
#[must_use]
pub fn series_csv(experiment: &Experiment) -> Option<String> {
    let heads = [
        "controller",
        "profile",
        "clients",
        "slo_us",
        "repetition",
        "valid",
        "time_us",
        "demand_ratio",
        "offered_rps",
        "goodput_rps",
        "p99_us",
        "reject_p50_us",
    ];
    let rows: Vec<Vec<String>> = experiment.runs.iter().flat_map(bins).collect();
    (!rows.is_empty()).then(|| text(&heads, rows.into_iter()))
}

/// One line for each tier of each run, under the names that the JSON has; `None` where there are no tiers. The front
/// has no name, and reasons of sheds are left to the JSON.
#[must_use]
pub fn tiers_csv(experiment: &Experiment) -> Option<String> {
    let heads = [
        "controller",
        "profile",
        "clients",
        "slo_us",
        "demand_ratio",
        "repetition",
        "valid",
        "tier",
        "nodes",
        "received_rps",
        "served_rps",
        "drop_ratio",
        "delay_us",
        "cores_used",
        "cpu_ns_per_request",
        "memory_bytes",
    ];
    let of_run = |run: &Run| run.tiers.iter().map(|tier| tier_row(run, tier)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = experiment.runs.iter().flat_map(of_run).collect();
    (!rows.is_empty()).then(|| text(&heads, rows.into_iter()))
}

/// One line for each configuration that two results share.
#[must_use]
pub fn comparison_csv(found: &Agreement) -> String {
    let heads = [
        "controller",
        "profile",
        "clients",
        "slo_us",
        "demand_ratio",
        "goodput_of_capacity_first",
        "goodput_of_capacity_second",
        "difference_points",
        "p99_us_first",
        "p99_us_second",
    ];
    let row = |point: &tailwater_stats::agreement::PairedPoint| {
        vec![
            point.controller.clone(),
            point.profile.clone(),
            point.clients.to_string(),
            point.slo_us.to_string(),
            point.demand_ratio.to_string(),
            point.goodput_of_capacity.0.to_string(),
            point.goodput_of_capacity.1.to_string(),
            point.difference().to_string(),
            point.p99_us.0.to_string(),
            point.p99_us.1.to_string(),
        ]
    };
    text(&heads, found.points.iter().map(row))
}

fn bins(run: &Run) -> Vec<Vec<String>> {
    let Some(series) = &run.series else {
        return Vec::new();
    };
    let row = |at: usize| {
        let here = |values: &[f64]| values.get(at).map_or(String::new(), ToString::to_string);
        vec![
            run.asked.controller.clone(),
            run.asked.profile.clone(),
            run.asked.clients.to_string(),
            run.asked.slo_us.to_string(),
            run.asked.repetition.to_string(),
            run.verdict.valid.to_string(),
            (at as f64 * series.bin_us).to_string(),
            here(&series.demand_ratio),
            here(&series.offered_rps),
            here(&series.goodput_rps),
            here(&series.p99_us),
            here(&series.reject_p50_us),
        ]
    };
    (0..series.offered_rps.len()).map(row).collect()
}

/// What is not known is empty.
fn tier_row(run: &Run, tier: &TierReading) -> Vec<String> {
    let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    vec![
        run.asked.controller.clone(),
        run.asked.profile.clone(),
        run.asked.clients.to_string(),
        run.asked.slo_us.to_string(),
        run.asked.demand_ratio.to_string(),
        run.asked.repetition.to_string(),
        run.verdict.valid.to_string(),
        tier.tier.clone(),
        tier.nodes.to_string(),
        known(tier.received_rps),
        known(tier.served_rps),
        known(tier.drop_ratio),
        tier.delay_us.to_string(),
        known(tier.cores_used),
        known(tier.cpu_ns_per_request),
        tier.memory_bytes.to_string(),
    ]
}

fn flat(run: &Run) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let value = serde_json::to_value(run).expect("the result model has only string keys");
    flatten("", &value, &mut found);
    found
}

fn flatten(name: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&below(key), value, found);
            }
        }
        Value::Array(all) => {
            let texts: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
            if let Some(texts) = texts {
                found.insert(name.to_owned(), texts.join("; "));
            }
        }
        Value::Null => {}
        Value::String(text) => drop(found.insert(name.to_owned(), text.clone())),
        other => drop(found.insert(name.to_owned(), other.to_string())),
    }
}

/// Spreadsheets take what begins so for a formula, and run it (OWASP, CSV Injection).
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A text that no spreadsheet runs: an apostrophe stands before what looks like a formula. Numbers stay as they are.
fn inert(cell: &str) -> String {
    let is_formula = cell.starts_with(FORMULA) && cell.parse::<f64>().is_err();
    if is_formula { format!("'{cell}") } else { cell.to_owned() }
}

fn text(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let sound = "a vector takes everything, and all rows are as long as their heading";
    writer.write_record(heads.iter().map(|head| inert(head))).expect(sound);
    for row in rows {
        writer.write_record(row.iter().map(|cell| inert(cell))).expect(sound);
    }
    String::from_utf8(writer.into_inner().expect(sound)).expect("it was made of text")
}
