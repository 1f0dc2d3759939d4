//! What a person reads of a validation: a row for each cell, and what it comes to.

use super::Validation;
use crate::terminal::style;
use tailwater_report::{count, grid_within, wrap};
use tailwater_tune::accelerator::validation::{
    COVERED_MIN, Compared, HALF_WIDTH_MAX, POINTS_MAX, Prediction, ValidationVerdict, WITHIN_MIN,
};

/// Where no terminal says how wide it is.
const WIDTH: u16 = 80;

pub(super) fn of(found: &Validation) -> String {
    let heads = ["design", "bytes", "A", "predicted, %", "measured, %", "points"];
    let rows: Vec<Vec<String>> = found.cells.iter().map(row).collect();
    let width = style().width.unwrap_or(WIDTH);
    let table = grid_within(&heads, 1, &rows, Some(width));
    let told = sentences(found).map(|line| wrap(&line, width.into())).join("\n");
    format!("{}: predicted and measured gain\n\n{table}\n\n{told}", found.case.title())
}

fn row(compared: &Compared) -> Vec<String> {
    let (cell, predicted) = (&compared.cell, &compared.predicted);
    let others = match cell.others_percent {
        0 => String::new(),
        _ => " *".into(),
    };
    let bound = if predicted.bound == Some(predicted.speedup) { " §" } else { "" };
    let none = || ["too noisy".into(), "–".into()];
    let [measured, points] = compared.measured.map_or_else(none, |found| {
        let own = compared.own_error.map_or(found.covered, |own| own.covered);
        let outside = match (own, found.covered) {
            (true, true) => "",
            (true, false) => " †",
            (false, _) => " ‡",
        };
        [gain(found.speedup, found.low, found.high), format!("{:+.1}{outside}", found.points)]
    });
    vec![
        format!("{}{others}", cell.threading.name()),
        count(cell.bytes.into()),
        input(predicted, "A").map_or_else(String::new, |a| format!("{a:.1}")),
        format!("{}{bound}", gain(predicted.speedup, predicted.low, predicted.high)),
        measured,
        points,
    ]
}

/// A gain with its interval.
fn gain(speedup: f64, low: f64, high: f64) -> String {
    format!("{:.1} ({})", (speedup - 1.0) * 100.0, range(low, high))
}

/// The mean of an input.
pub(super) fn input(predicted: &Prediction, name: &str) -> Option<f64> {
    predicted.inputs.iter().find(|known| known.input == name).map(|known| known.mean)
}

pub(super) fn sentences(found: &Validation) -> [String; 3] {
    let verdict = match &found.verdict {
        Some(verdict) => of_verdict(verdict),
        None if found.has_measured() => {
            "A short run has no verdict: it shows that all works, not how close it comes.".into()
        }
        None => "No cell has two quads that count: this machine is too busy to tell.".into(),
    };
    let aside: u32 = found.cells.iter().map(|cell| cell.set_aside).sum();
    let (host, device) = found.cpu_cores;
    [
        verdict,
        "predicted: the model's gain in throughput, 5–95 %, by inputs that were measured one by one; measured: \
         with its interval of 95 %; points: predicted less measured. † The difference is more than the errors of inputs \
         and trials leave open, at 95 %; ‡ more than the model's own error leaves open, too, which is that of cells of \
         other sizes. § The accelerator has no time for more, by offloads without anything between. * Other hosts use the accelerator."
            .into(),
        format!(
            "Host on core {host}, accelerator on core {device}; {} of noise set aside; the hypervisor took {:.1} % of all \
             cores' time. Gains count the time that the host's threads ran.",
            match aside {
                1 => "1 quad".into(),
                many => format!("{} quads", count(many.into())),
            },
            found.steal * 100.0
        ),
    ]
}

fn of_verdict(verdict: &ValidationVerdict) -> String {
    let ValidationVerdict {
        cells,
        unmeasured,
        within,
        covered,
        points_median,
        points_max,
        holds,
        ..
    } = *verdict;
    let width = verdict.half_width_median.map_or_else(String::new, |points| {
        format!(", of ± {points:.1} points in the median ({HALF_WIDTH_MAX} at most)")
    });
    let lacking = match unmeasured {
        0 => String::new(),
        some => format!(" {some} more were too noisy."),
    };
    format!(
        "{}: of {cells} cells, {:.0} % differ by {POINTS_MAX} points or less ({:.0} % wanted; {:.0} % would if nothing were \
         ever gained), and intervals with the model's own error in other sizes{width}, cover {:.0} % ({:.0} % wanted). What is known of the inputs \
         alone covers {:.0} %. The median difference is {points_median:.1} points, the largest {points_max:.1}.{lacking}",
        if holds { "The model holds" } else { "The model does not hold" },
        within * 100.0,
        WITHIN_MIN * 100.0,
        verdict.within_without_gain * 100.0,
        covered * 100.0,
        COVERED_MIN * 100.0,
        verdict.covered_by_inputs * 100.0,
    )
}

pub(super) fn percent(factor: f64) -> String {
    format!("{:.1} %", (factor - 1.0) * 100.0)
}

pub(super) fn range(low: f64, high: f64) -> String {
    format!("{:.1}–{:.1}", (low - 1.0) * 100.0, (high - 1.0) * 100.0)
}
