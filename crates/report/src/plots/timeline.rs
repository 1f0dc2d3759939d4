//! Pictures over time, for scenarios whose demand changes in steps.

use super::{Frame, Plot, plain_tick, shows_something, time_tick, with_range};
use crate::format;
use crate::model::{self, Line, spread_of};
use crate::svg::chart::{Axis, Chart, Mark, Reference, Series, Step};
use crate::svg::scale::Scale;
use std::collections::BTreeSet;
use tailwater_stats::result::Series as Bins;

/// Bins drawn at most; more are merged, since a picture has no more pixels than that.
const BINS_MAX: usize = 1_200;

/// Changes of demand drawn at most.
const STEPS_MAX: usize = 300;

/// One kind of picture.
struct Kind {
    name: &'static str,
    title: &'static str,
    values: fn(&Bins) -> &[f64],
    unit: f64,
    y_label: &'static str,
    /// A delay: logarithmic, zero means nothing measured, merged by the largest.
    delay: bool,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "goodput-over-time",
        title: "Goodput over time",
        values: |bins| &bins.goodput_rps,
        unit: 1e-3,
        y_label: "thousand requests/s",
        delay: false,
    },
    Kind {
        name: "p99-over-time",
        title: "99th percentile of latency over time",
        values: |bins| &bins.p99_us,
        unit: 1.0,
        y_label: "from the intended time, log scale",
        delay: true,
    },
    Kind {
        name: "reject-over-time",
        title: "Reject delay over time",
        values: |bins| &bins.reject_p50_us,
        unit: 1.0,
        y_label: "median from sending to reject, log scale",
        delay: true,
    },
];

/// The pictures over time: goodput, and the delays that occurred.
pub(super) fn plots(frame: &Frame<'_>) -> Vec<Plot> {
    KINDS.iter().filter_map(|kind| plot(frame, kind)).collect()
}

fn plot(frame: &Frame<'_>, kind: &Kind) -> Option<Plot> {
    let lines = &frame.group.lines;
    let series: Vec<Series> = lines.iter().map(|line| of_line(line, kind)).collect();
    if kind.delay && !shows_something(&series) {
        return None;
    }
    let references = references(frame, kind);
    let marks = || series.iter().flat_map(|series| series.points.iter().flatten());
    // The largest repetition may be a stall a thousand times higher; on a linear axis the medians
    // keep the scale, on a logarithmic one there is room for all.
    let mut heights: Vec<f64> = marks().map(|mark| mark.y).collect();
    if kind.delay {
        heights.extend(marks().flat_map(|mark| [mark.low, mark.high]));
    }
    heights.extend(references.iter().flat_map(|r| r.points.iter().map(|point| point.1)));
    let y = if kind.delay { Scale::log(&heights) } else { Scale::from_zero(&heights) };
    let tick = if kind.delay { time_tick } else { plain_tick };
    let times: Vec<f64> = marks().map(|mark| mark.x).chain([0.0, end(frame)]).collect();
    let how = how(frame);
    let svg = Chart {
        look: frame.look,
        title: kind.title.to_owned(),
        subtitle: frame.subtitle(&how),
        x: Axis {
            label: "time (s)".to_owned(),
            scale: Scale::around(&times, 0.0),
            tick: plain_tick,
        },
        y: Axis { label: kind.y_label.to_owned(), scale: y, tick },
        series,
        references,
        steps: steps(frame),
    }
    .svg();
    Some(frame.plot(kind.name, kind.title, &how, svg))
}

/// The valid courses of one controller.
fn courses<'a>(line: &'a Line<'_>) -> impl Iterator<Item = &'a Bins> {
    let runs = line.points.iter().flat_map(|point| &point.runs);
    runs.filter(|run| run.verdict.valid).filter_map(|run| run.series.as_ref())
}

fn first_course<'a>(frame: &'a Frame<'_>) -> Option<&'a Bins> {
    frame.group.lines.iter().flat_map(courses).find(|bins| bin_s(bins).is_some())
}

fn bin_s(bins: &Bins) -> Option<f64> {
    let seconds = bins.bin_us / 1e6;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}

fn of_line(line: &Line<'_>, kind: &Kind) -> Series {
    let merged: Vec<(f64, Vec<f64>)> = courses(line)
        .filter_map(|bins| {
            let values = (kind.values)(bins);
            let each = values.len().div_ceil(BINS_MAX).max(1);
            let drawn = values.chunks(each).map(|chunk| merge(chunk, kind.delay) * kind.unit);
            Some((bin_s(bins)? * each as f64, drawn.collect()))
        })
        .collect();
    let width = merged.first().map_or(0.0, |(width, _)| *width);
    // Runs of another bin width have no bin in common with the first.
    let alike: Vec<&Vec<f64>> =
        merged.iter().filter(|(w, _)| w.total_cmp(&width).is_eq()).map(|(_, v)| v).collect();
    let longest = alike.iter().map(|values| values.len()).max().unwrap_or(0);
    let points = (0..longest).map(|at| {
        let here = alike.iter().filter_map(|values| values.get(at).copied());
        let spread = spread_of(here.filter(|v| !kind.delay || *v > 0.0).collect())?;
        let x = (at as f64 + 0.5) * width;
        let (y, low, high) = (spread.median, spread.min, spread.max);
        let show =
            |value| if kind.delay { format::time(value) } else { format::significant(value) };
        let value = with_range(spread, show);
        Some(Mark { x, y, low, high, at: format!("{x:.3} s"), value })
    });
    Series { index: line.index, label: line.label.clone(), points: points.collect(), dense: true }
}

/// Rates are averaged; of delays the largest counts, so that no stall disappears.
fn merge(chunk: &[f64], delay: bool) -> f64 {
    if delay {
        chunk.iter().copied().fold(0.0, f64::max)
    } else {
        chunk.iter().sum::<f64>() / chunk.len().max(1) as f64
    }
}

fn references(frame: &Frame<'_>, kind: &Kind) -> Vec<Reference> {
    let level = |label: String, dash, y: f64| Reference { label, dash, points: vec![(0.0, y)] };
    let mut references = Vec::new();
    if kind.delay {
        if frame.group.slo_us > 0.0 && frame.group.slo_us.is_finite() {
            let label = format!("SLO {}", format::round_time(frame.group.slo_us));
            references.push(level(label, "7 4", frame.group.slo_us));
        }
        return references;
    }
    if frame.group.capacity_rps > 0.0 {
        references.push(level("capacity".to_owned(), "7 4", frame.group.capacity_rps / 1e3));
    }
    if let Some((bins, width)) = first_course(frame).and_then(|b| Some((b, bin_s(b)?))) {
        let each = bins.offered_rps.len().div_ceil(BINS_MAX).max(1);
        let points = bins.offered_rps.chunks(each).enumerate().map(|(at, chunk)| {
            ((at as f64 + 0.5) * width * each as f64, merge(chunk, false) / 1e3)
        });
        let points: Vec<(f64, f64)> = points.collect();
        if points.len() > 1 {
            references.push(Reference { label: "offered".to_owned(), dash: "1 2", points });
        }
    }
    references
}

/// The places where demand changes, and to what.
fn steps(frame: &Frame<'_>) -> Vec<Step> {
    let Some((bins, width)) = first_course(frame).and_then(|b| Some((b, bin_s(b)?))) else {
        return Vec::new();
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut last = None;
    for (at, demand) in bins.demand_ratio.iter().enumerate().filter(|(_, d)| d.is_finite()) {
        if last.is_none_or(|last| !model::same(last, *demand)) {
            let label = format::demand(*demand);
            steps.push(Step { x: at as f64 * width, demand: *demand, label });
            last = Some(*demand);
        }
    }
    thinned(steps)
}

/// As many as the strip can show: a ramp changes in every bin. Small changes go first, since the large ones are what
/// the picture is about; where all are large, some of them.
fn thinned(steps: Vec<Step>) -> Vec<Step> {
    if steps.len() <= STEPS_MAX {
        return steps;
    }
    let highest = steps.iter().map(|step| step.demand).fold(0.0, f64::max);
    let mut least = highest / STEPS_MAX as f64;
    while least > 0.0 && least <= highest / 8.0 {
        let kept = changes_of(&steps, least);
        if kept.len() <= STEPS_MAX {
            let kept = steps.into_iter().enumerate().filter(|(at, _)| kept.contains(at));
            return kept.map(|(_, step)| step).collect();
        }
        least *= 2.0;
    }
    let each = steps.len().div_ceil(STEPS_MAX);
    steps.into_iter().step_by(each).collect()
}

/// The first, and each that differs by so much from the one kept before it.
fn changes_of(steps: &[Step], least: f64) -> BTreeSet<usize> {
    let mut last = f64::NEG_INFINITY;
    let mut kept = BTreeSet::new();
    for (at, step) in steps.iter().enumerate() {
        if (step.demand - last).abs() >= least {
            last = step.demand;
            kept.insert(at);
        }
    }
    kept
}

fn end(frame: &Frame<'_>) -> f64 {
    first_course(frame)
        .and_then(|bins| Some(bin_s(bins)? * bins.offered_rps.len() as f64))
        .unwrap_or(1.0)
}

fn how(frame: &Frame<'_>) -> String {
    let Some(bins) = first_course(frame) else {
        return "no valid run".to_owned();
    };
    let each = bins.offered_rps.len().div_ceil(BINS_MAX).max(1);
    let width = format::round_time(bins.bin_us * each as f64);
    let note = if each > 1 { ", merged by the largest delay" } else { "" };
    format!("bins of {width}{note}, median and min–max band")
}
