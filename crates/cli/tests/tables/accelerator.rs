//! The thesis' chapter VI beside the model, from the example files.

use super::{head, line};
use tailwater_tune::accelerator::{Input, Outcome, Study, file};

fn studies(text: &str) -> Vec<Study> {
    let none = |name: &str| Err(format!("{name} is not at hand"));
    let described = file::parse("example", text, &none).expect("a sound example");
    let study = |case| Study::of(case, None, 1).expect("an outcome");
    described.cases.iter().map(study).collect()
}

fn percent(factor: f64) -> f64 {
    (factor - 1.0) * 100.0
}

/// A line for each number that is printed, and one for each latency that is not.
pub(super) fn cases(text: &str) -> String {
    let heads = ["case", "equation", "quantity", "printed, %", "ours, %", "", "measured there, %"];
    let mut table = head(&heads.map(Into::into));
    for study in studies(text) {
        let stated = study.stated.as_ref().expect("each case is printed");
        let (of_throughput, of_latency) = equations(study.threading);
        let measured = stated.measured.map_or_else(|| "–".into(), |value| value.to_string());
        let mut add =
            |equation: &str, what: &str, printed: Option<f64>, factor: f64, measured: &str| {
                let shown = printed.map_or_else(|| "–".into(), |value| value.to_string());
                let verdict = printed.map_or("", |printed| verdict(printed, percent(factor)));
                let ours = format!("{:.3}", percent(factor));
                let cells = [&study.name, equation, what, &shown, &ours, verdict, measured];
                table += &line(&cells.map(str::to_owned));
            };
        add(of_throughput, "throughput", stated.speedup, study.outcome.speedup, &measured);
        if let Some(factor) = study.outcome.latency {
            add(of_latency, "latency", stated.latency, factor, "–");
        }
    }
    table
}

fn equations(threading: &str) -> (&'static str, &'static str) {
    match threading {
        "sync" => ("6.1", "6.1"),
        "sync-os" => ("6.3", "6.5"),
        "async" => ("6.6", "6.8"),
        "async-distinct" => ("6.3, one o₁", "6.5"),
        _ => ("6.6", "6.8"),
    }
}

/// How a printed number relates to ours, at its own digits.
fn verdict(printed: f64, ours: f64) -> &'static str {
    let digits = printed.to_string().split_once('.').map_or(0, |(_, part)| part.len());
    let scale = 10_f64.powi(digits as i32);
    let is = |value: f64| (value / scale - printed).abs() < 1e-9;
    match (is((ours * scale).round()), is((ours * scale + 1e-9).floor())) {
        (true, _) => "same",
        (false, true) => "same, cut off",
        _ => "**does not follow**",
    }
}

/// What follows where work is counted by bytes, for each design off the chip.
pub(super) fn bytes(text: &str) -> String {
    let heads = [
        "design",
        "pays from, B",
        "in the thesis",
        "of all offloads, %",
        "carry of the work, % or more",
        "gain, %",
        "printed, %",
    ];
    let mut table = head(&heads.map(Into::into));
    for study in studies(text) {
        let bar = study.tornado.iter().find(|bar| bar.input == Input::Share);
        let bar = bar.expect("the share is an interval");
        let gain = |factor: Option<f64>| percent(factor.expect("an outcome"));
        let (thesis, printed) = match study.name.as_str() {
            "Sync" => ("425", "9"),
            "Sync-OS" => ("not printed", "1.6"),
            _ => ("not printed", "9.6"),
        };
        let Outcome { offload, break_even_bytes, .. } = study.outcome;
        table += &line(&[
            study.name.clone(),
            format!("{:.0}", break_even_bytes.expect("Cb is known")),
            thesis.into(),
            format!("{:.1}", offload.count / 15_008.0 * 100.0),
            format!("{:.1}", bar.ends.0 * 100.0),
            format!("{:.1}–{:.1}", gain(bar.speedups.0), gain(bar.speedups.1)),
            printed.into(),
        ]);
    }
    table
}
