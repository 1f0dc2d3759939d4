//! A validation in pictures: gains by the model and by trial, and a request in its parts.

use super::Validation;
use super::text::{input, percent, range, sentences};
use tailwater_report::{RangeBar, RangeRow, Ranges, illustrated};
use tailwater_tune::accelerator::validation::Compared;

/// Names and SVG documents.
pub(super) fn of(found: &Validation) -> Vec<(String, String)> {
    vec![("gains".into(), gains(found).svg()), ("parts".into(), parts(found).svg())]
}

/// The text with its pictures.
pub(super) fn page(found: &Validation, text: &str, pictures: &[(String, String)]) -> String {
    let [verdict, ..] = sentences(found);
    illustrated(found.case.title(), Some(&verdict), text, pictures)
}

fn gains(found: &Validation) -> Ranges {
    let row = |compared: &Compared| {
        let (low, high) = (compared.predicted.low, compared.predicted.high);
        let tip =
            format!("predicted {}, {}", percent(compared.predicted.speedup), range(low, high));
        let gain = |from: f64, to: f64, lane, tip| {
            bar(((from - 1.0) * 100.0, (to - 1.0) * 100.0), lane, lane, "", tip)
        };
        let measured = compared.measured.map(|found| {
            let tip =
                format!("measured {}, {}", percent(found.speedup), range(found.low, found.high));
            gain(found.low, found.high, 1, tip)
        });
        RangeRow {
            label: label(compared),
            bars: std::iter::once(gain(low, high, 0, tip)).chain(measured).collect(),
            mark: None,
        }
    };
    Ranges {
        title: found.case.title().into(),
        subtitle: "gain in throughput, by the model and by trial".into(),
        axis: "%".into(),
        base: 0.0,
        series: vec!["predicted, 5–95 %".into(), "measured, 95 %".into()],
        mark: String::new(),
        rows: found.cells.iter().map(row).collect(),
    }
}

/// Layers of a request's parts.
const ALL_ELSE: usize = 0;
const KERNEL: usize = 1;
const LEFT: usize = 2;

/// As Figures 6.16 to 6.18: a request without the accelerator, and below it with it.
fn parts(found: &Validation) -> Ranges {
    let row = |compared: &Compared| {
        let parts = compared.request()?;
        let all_else = 1.0 - parts.kernel;
        let part = |from: f64, to: f64, lane, layer, name| {
            let what = ["all else", "the kernel", "what an offload takes"][layer];
            let tip = format!("{what}: {:.1} %", (to - from) * 100.0);
            bar((from * 100.0, to * 100.0), lane, layer, name, tip)
        };
        let mut bars =
            vec![part(0.0, all_else, 0, ALL_ELSE, "without"), part(all_else, 1.0, 0, KERNEL, "")];
        // By noise a request may take less than all else does.
        if let Some(with) = parts.with {
            bars.push(part(0.0, all_else.min(with), 1, ALL_ELSE, "with"));
            bars.extend((with > all_else).then(|| part(all_else, with, 1, LEFT, "")));
        }
        Some(RangeRow { label: label(compared), bars, mark: None })
    };
    Ranges {
        title: found.case.title().into(),
        subtitle: "a request without the accelerator and with it, in parts".into(),
        axis: "% of the host's time for a request without it".into(),
        base: 0.0,
        series: vec!["all else".into(), "the kernel".into(), "what an offload takes".into()],
        mark: String::new(),
        rows: found.cells.iter().filter_map(row).collect(),
    }
}

fn bar(ends: (f64, f64), lane: usize, series: usize, name: &str, tip: String) -> RangeBar {
    RangeBar { ends, lane, series, name: name.into(), tip }
}

fn label(compared: &Compared) -> String {
    let a = input(&compared.predicted, "A").unwrap_or(1.0);
    let cell = &compared.cell;
    format!("{}, {} B, A {a:.0}", cell.threading.name(), cell.bytes)
}
