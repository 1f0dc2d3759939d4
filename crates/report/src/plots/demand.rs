//! Pictures against demand: one value per controller and demand.

use super::{Frame, Plot, plain_tick, shows_something, time_tick, with_range};
use crate::format;
use crate::model::{Line, spread_of};
use crate::quantity::Quantity;
use crate::svg::chart::{Axis, Chart, Mark, Reference, Series};
use crate::svg::scale::Scale;

/// One kind of picture.
struct Kind {
    name: &'static str,
    title: &'static str,
    quantity: Quantity,
    /// Multiplies the quantity into the unit of the axis.
    unit: f64,
    y_label: &'static str,
    log: bool,
    references: &'static [Known],
    /// Drawn though nothing was measured: that nothing was in time is a result.
    always: bool,
}

/// Lines that the eye compares with.
#[derive(Clone, Copy)]
enum Known {
    Capacity,
    Bound,
    Slo,
    HalfSlo,
}

const RATE: &str = "thousand requests/s";

const KINDS: [Kind; 9] = [
    Kind {
        name: "goodput",
        title: "Goodput",
        quantity: Quantity::Goodput,
        unit: 1e-3,
        y_label: RATE,
        log: false,
        references: &[Known::Capacity, Known::Bound],
        always: true,
    },
    Kind {
        name: "throughput",
        title: "Throughput",
        quantity: Quantity::Throughput,
        unit: 1e-3,
        y_label: RATE,
        log: false,
        references: &[Known::Capacity],
        always: false,
    },
    latency("p50", "Median latency", Quantity::P50),
    latency("p99", "99th percentile of latency", Quantity::P99),
    latency("p999", "99.9th percentile of latency", Quantity::P999),
    Kind {
        name: "drops",
        title: "Drop rate",
        quantity: Quantity::Drop,
        unit: 100.0,
        y_label: "% of requests received by the server",
        log: false,
        references: &[],
        always: false,
    },
    Kind {
        name: "reject",
        title: "Reject delay",
        quantity: Quantity::RejectP50,
        unit: 1.0,
        y_label: "median from sending to reject, log scale",
        log: true,
        references: &[Known::Slo],
        always: false,
    },
    Kind {
        name: "lateness",
        title: "Lateness of the load generator",
        quantity: Quantity::LatenessP99,
        unit: 1.0,
        y_label: "99th percentile behind schedule, log scale",
        log: true,
        references: &[Known::HalfSlo],
        always: false,
    },
    Kind {
        name: "cpu",
        title: "Server CPU per request",
        quantity: Quantity::Cpu,
        unit: 1e-3,
        y_label: "µs per request received",
        log: false,
        references: &[],
        always: false,
    },
];

const fn latency(name: &'static str, title: &'static str, quantity: Quantity) -> Kind {
    let y_label = "from the intended time, log scale";
    let references = &[Known::Slo];
    Kind { name, title, quantity, unit: 1.0, y_label, log: true, references, always: false }
}

/// The pictures against demand that show something: a simulation, for one, has no lateness.
pub(super) fn plots(frame: &Frame<'_>) -> Vec<Plot> {
    KINDS.iter().filter_map(|kind| plot(frame, kind)).collect()
}

fn plot(frame: &Frame<'_>, kind: &Kind) -> Option<Plot> {
    let series: Vec<Series> = frame.group.lines.iter().map(|line| of_line(line, kind)).collect();
    if !kind.always && !shows_something(&series) {
        return None;
    }
    let references: Vec<Reference> =
        kind.references.iter().filter_map(|known| reference(frame, *known)).collect();
    let marks = || series.iter().flat_map(|series| series.points.iter().flatten());
    let mut heights: Vec<f64> = marks().flat_map(|mark| [mark.low, mark.y, mark.high]).collect();
    heights.extend(references.iter().flat_map(|r| r.points.iter().map(|point| point.1)));
    let y = if kind.log { Scale::log(&heights) } else { Scale::from_zero(&heights) };
    let tick = if kind.log { time_tick } else { plain_tick };
    let how = "median, bars min–max";
    let svg = Chart {
        look: frame.look,
        title: format!("{} against demand", kind.title),
        subtitle: frame.subtitle(how),
        x: Axis {
            label: "demand (× capacity)".to_owned(),
            scale: Scale::around(&frame.group.demands(), 0.05),
            tick: plain_tick,
        },
        y: Axis { label: kind.y_label.to_owned(), scale: y, tick },
        series,
        references,
        steps: Vec::new(),
    }
    .svg();
    Some(frame.plot(kind.name, kind.title, how, svg))
}

fn of_line(line: &Line<'_>, kind: &Kind) -> Series {
    let points = line.points.iter().map(|point| {
        let spread = point.spread(kind.quantity).filter(|_| point.valid > 0)?;
        // Zero has no place on a logarithmic axis.
        if kind.log && spread.median <= 0.0 {
            return None;
        }
        let show = |value: f64| match kind.log {
            true => format::time(value),
            false => format::significant(value * kind.unit),
        };
        Some(Mark {
            x: point.demand,
            y: spread.median * kind.unit,
            low: spread.min * kind.unit,
            high: spread.max * kind.unit,
            at: format::demand(point.demand),
            value: with_range(spread, show),
        })
    });
    Series { index: line.index, label: line.label.clone(), points: points.collect(), dense: false }
}

fn reference(frame: &Frame<'_>, known: Known) -> Option<Reference> {
    let group = frame.group;
    let level = |label: String, dash, y: f64| {
        (y > 0.0 && y.is_finite()).then(|| Reference { label, dash, points: vec![(0.0, y)] })
    };
    match known {
        Known::Capacity => level("capacity".to_owned(), "7 4", group.capacity_rps / 1e3),
        Known::Slo => {
            level(format!("SLO {}", format::round_time(group.slo_us)), "7 4", group.slo_us)
        }
        Known::HalfSlo => level(
            format!("validity limit {} (half the SLO)", format::round_time(group.slo_us / 2.0)),
            "7 4",
            group.slo_us / 2.0,
        ),
        Known::Bound => bound(frame),
    }
}

/// The bound belongs to the demand, not to a controller.
fn bound(frame: &Frame<'_>) -> Option<Reference> {
    let demands = frame.group.demands();
    let points: Vec<(f64, f64)> = demands
        .into_iter()
        .filter_map(|demand| {
            // It was made of the capacity around the runs, which may be what voided them.
            let valid = frame.group.at(demand).filter(|(_, point)| point.valid > 0);
            let all = valid.filter_map(|(_, point)| point.median(Quantity::Bound));
            Some((demand, spread_of(all.collect())?.median / 1e3))
        })
        .collect();
    let label = "bound (no controller can beat it)".to_owned();
    (!points.is_empty()).then_some(Reference { label, dash: "2 3", points })
}
