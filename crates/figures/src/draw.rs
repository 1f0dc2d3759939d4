//! From runs to pictures.

use crate::data::{Course, Drawn, Figure, Panel, Quantity};
use crate::results::Results;
use tailwater_report::{AxisKind, LineStyle, Picture, PictureAxis, PictureLine, Stated};
use tailwater_stats::result::{Run, Spread};

/// Bins of a line over time that are drawn; more than a picture has pixels help nobody.
const BINS_MAX: usize = 1_200;

/// A finished picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawing {
    /// `PAPER-figN-NAME.svg`.
    pub file: String,
    /// The document.
    pub svg: String,
}

/// Every panel of a figure.
#[must_use]
pub fn pictures(figure: &Figure, results: &Results) -> Vec<Drawing> {
    let drawing = |panel: &Panel| Drawing {
        file: format!("{}-fig{}-{}.svg", figure.paper, figure.number, panel.name),
        svg: svg(figure, panel, results),
    };
    figure.panels.iter().map(drawing).collect()
}

fn svg(figure: &Figure, panel: &Panel, results: &Results) -> String {
    let runs = figure.drawn_from(panel).iter().flat_map(|name| results.runs(name));
    let runs: Vec<&Run> = runs.filter(|run| panel.keep.takes(run)).collect();
    let (x, y) = axes(panel.drawn);
    let stated = panel.stated.iter().map(|mark| Stated {
        label: mark.label.clone(),
        x: (mark.from, mark.to),
        y: mark.y,
    });
    Picture {
        title: format!("{} Fig. {}: {}", capital(&figure.paper), figure.number, figure.title),
        subtitle: format!(
            "{}; simulated{}{}, dashed: stated in the paper's text",
            panel.title,
            of_seeds(panel.drawn, results.seeds),
            if results.short { ", short runs that are no result" } else { "" }
        ),
        x,
        y,
        lines: lines(panel.drawn, &runs),
        stated: stated.collect(),
    }
    .svg()
}

/// Which of several seeds are drawn.
fn of_seeds(drawn: Drawn, seeds: u32) -> String {
    match drawn {
        _ if seeds == 1 => String::new(),
        Drawn::Points { .. } => format!(", medians of {seeds} seeds"),
        Drawn::OverTime(_) => format!(", the first of {seeds} seeds"),
    }
}

fn axes(drawn: Drawn) -> (PictureAxis, PictureAxis) {
    let axis = |label: &str, kind| PictureAxis { label: label.into(), kind };
    match drawn {
        Drawn::Points { x, y, .. } => (axis(x.label(), x.axis()), axis(y.label(), y.axis())),
        Drawn::OverTime(course) => {
            (axis("time (s)", AxisKind::FromZero), axis(course.label(), course.axis()))
        }
    }
}

/// Variants of a controller share a line: the label up to ` · `.
fn line_of(label: &str) -> &str {
    label.split(" · ").next().unwrap_or(label)
}

/// A line for each label, in the order of their first runs.
fn lines(drawn: Drawn, runs: &[&Run]) -> Vec<PictureLine> {
    let mut lines: Vec<PictureLine> = Vec::new();
    // Repetitions of one run follow each other; each group begins with the first seed.
    for seeds in runs.chunk_by(|one, next| next.asked.repetition > one.asked.repetition) {
        let (points, style) = match drawn {
            Drawn::Points { x, y, style } => {
                (point(seeds, x, y).into_iter().collect(), style.into())
            }
            Drawn::OverTime(course) => {
                let valid = seeds.first().filter(|run| run.verdict.valid);
                (valid.map_or_else(Vec::new, |run| over_time(run, course)), LineStyle::Dense)
            }
        };
        let label = line_of(&seeds[0].asked.profile);
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.extend(points),
            None => lines.push(PictureLine { label: label.into(), points, style }),
        }
    }
    lines
}

/// The medians of one run's seeds, as far as they are valid.
fn point(seeds: &[&Run], x: Quantity, y: Quantity) -> Option<(f64, f64)> {
    let median = |quantity: Quantity| {
        let valid = seeds.iter().filter(|run| run.verdict.valid);
        let values: Vec<f64> = valid.filter_map(|run| quantity.of(run)).collect();
        (!values.is_empty()).then(|| Spread::of(&values).median)
    };
    Some((median(x)?, median(y)?))
}

fn over_time(run: &Run, course: Course) -> Vec<(f64, f64)> {
    let Some(series) = &run.series else {
        return Vec::new();
    };
    let values = course.of(series);
    let each = values.len().div_ceil(BINS_MAX).max(1);
    let bin_s = series.bin_us / 1e6 * each as f64;
    let shown = |chunk: &[f64]| match course.axis() {
        // Of delays the largest counts, so that no stall disappears.
        AxisKind::Log | AxisKind::LogTime => chunk.iter().copied().fold(0.0, f64::max),
        _ => chunk.iter().sum::<f64>() / chunk.len() as f64,
    };
    let zeros_shown = matches!(course.axis(), AxisKind::FromZero | AxisKind::Around);
    values
        .chunks(each)
        .enumerate()
        .map(|(at, chunk)| ((at as f64 + 0.5) * bin_s, shown(chunk)))
        .filter(|(_, value)| zeros_shown || *value > 0.0)
        .collect()
}

fn capital(name: &str) -> String {
    let mut rest = name.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{AskedRun, Rates, RunVerdict};

    #[test]
    fn seeds_of_one_run_are_one_point() {
        let run = |repetition, asked_rps, goodput_rps| Run {
            asked: AskedRun { profile: "a".into(), repetition, ..AskedRun::default() },
            rates: Rates { asked_rps, goodput_rps, ..Rates::default() },
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            ..Run::default()
        };
        let runs = [
            run(0, 1e3, 5e3),
            run(1, 1e3, 7e3),
            run(2, 1e3, 6e3),
            run(0, 2e3, 8e3),
            run(1, 2e3, 9e3),
            Run {
                verdict: RunVerdict { valid: false, ..run(2, 2e3, 99e3).verdict },
                ..run(2, 2e3, 99e3)
            },
            Run {
                verdict: RunVerdict { valid: false, ..run(0, 3e3, 99e3).verdict },
                ..run(0, 3e3, 99e3)
            },
        ];
        let drawn = Drawn::Points {
            x: Quantity::Demand,
            y: Quantity::Goodput,
            style: crate::data::PointStyle::Joined,
        };
        let lines = lines(drawn, &runs.iter().collect::<Vec<_>>());
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].points, [(1.0, 6.0), (2.0, 8.5)]);
    }
}
