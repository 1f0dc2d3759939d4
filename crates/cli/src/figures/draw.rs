//! From runs to pictures.

use super::figure::{Course, Drawn, Figure, Panel, Quantity};
use super::results::Results;
use tailwater_report::{AxisKind, LineStyle, Picture, PictureAxis, PictureLine, Stated};
use tailwater_stats::result::Run;

/// Bins of a line over time that are drawn; more than a picture has pixels help nobody.
const BINS_MAX: usize = 1_200;

/// One panel of a figure.
pub(super) fn svg(figure: &Figure, panel: &Panel, results: &Results) -> String {
    let runs = panel.from.iter().flat_map(|name| results.runs(name));
    let runs: Vec<&Run> = runs.filter(|run| (panel.keep)(run)).collect();
    let (x, y) = axes(&panel.drawn);
    let stated =
        panel.stated.iter().map(|mark| Stated { label: mark.label.into(), x: mark.x, y: mark.y });
    Picture {
        title: format!("{} Fig. {}: {}", capital(figure.paper), figure.number, figure.title),
        subtitle: format!("{}; simulated, dashed: stated in the paper's text", panel.title),
        x,
        y,
        lines: lines(&panel.drawn, &runs),
        stated: stated.collect(),
    }
    .svg()
}

fn axes(drawn: &Drawn) -> (PictureAxis, PictureAxis) {
    let axis = |label: &str, kind| PictureAxis { label: label.into(), kind };
    match drawn {
        Drawn::Points { x, y, .. } => (axis(x.label, x.axis), axis(y.label, y.axis)),
        Drawn::Course(course) => {
            (axis("time (s)", AxisKind::FromZero), axis(course.label, course.axis))
        }
    }
}

/// A line for each label, in the order of their first runs.
fn lines(drawn: &Drawn, runs: &[&Run]) -> Vec<PictureLine> {
    let mut lines: Vec<PictureLine> = Vec::new();
    for run in runs {
        let (points, style) = match drawn {
            Drawn::Points { x, y, style } => (point(run, x, y).into_iter().collect(), *style),
            Drawn::Course(course) => (over_time(run, course), LineStyle::Dense),
        };
        match lines.iter_mut().find(|line| line.label == run.profile) {
            Some(line) => line.points.extend(points),
            None => lines.push(PictureLine { label: run.profile.clone(), points, style }),
        }
    }
    lines
}

fn point(run: &Run, x: &Quantity, y: &Quantity) -> Option<(f64, f64)> {
    Some(((x.of)(run)?, (y.of)(run)?))
}

fn over_time(run: &Run, course: &Course) -> Vec<(f64, f64)> {
    let Some(series) = &run.series else {
        return Vec::new();
    };
    let values = (course.of)(series);
    let each = values.len().div_ceil(BINS_MAX).max(1);
    let bin_s = series.bin_us / 1e6 * each as f64;
    let shown = |chunk: &[f64]| match course.axis {
        // Of delays the largest counts, so that no stall disappears.
        AxisKind::Log | AxisKind::LogTime => chunk.iter().copied().fold(0.0, f64::max),
        _ => chunk.iter().sum::<f64>() / chunk.len() as f64,
    };
    let zeros_shown = matches!(course.axis, AxisKind::FromZero | AxisKind::Around);
    values
        .chunks(each)
        .enumerate()
        .map(|(at, chunk)| ((at as f64 + 0.5) * bin_s, shown(chunk) * course.unit))
        .filter(|(_, value)| zeros_shown || *value > 0.0)
        .collect()
}

fn capital(name: &str) -> String {
    let mut rest = name.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}
