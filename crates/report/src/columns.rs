//! The columns that the terminal table and the page share.

use crate::format::{self, ColumnUnit, NOTHING};
use crate::model::{Group, Line, Point};
use crate::quantity::Quantity;

/// One column.
pub(crate) struct Column {
    /// Its heading, one word or unit a line. See [`Column::head`].
    head: &'static str,
    /// What the number means, for the page.
    pub(crate) meaning: &'static str,
    /// When a terminal is too narrow the highest goes first; 0 always stays.
    pub(crate) dispensable: u8,
    cell: fn(&Group<'_>, &Line<'_>, &Point<'_>) -> Cell,
}

/// One number, and how it should strike the eye.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Tone,
    /// Its range, for the pointer; empty where there is none.
    pub(crate) tip: String,
}

/// A judgement that colour may repeat but never carries alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    Plain,
    Good,
    Fair,
    Poor,
}

/// Stands in a heading for the group's unit of time.
const TIME: &str = "{time}";

impl Column {
    /// Its heading above the numbers of a group, one word or unit a line.
    pub(crate) fn head(&self, group: &Group<'_>) -> String {
        self.head.replace(TIME, ColumnUnit::of(group.slo_us).name())
    }

    /// Its heading without the unit of time.
    pub(crate) fn name(&self) -> String {
        self.head.replace(TIME, "").replace('\n', " ").trim().to_owned()
    }

    /// Whether it holds numbers, which stand flush right.
    pub(crate) fn is_number(&self) -> bool {
        self.head != CONTROLLER
    }

    /// The cell of one controller at one demand.
    pub(crate) fn cell(&self, group: &Group<'_>, line: &Line<'_>, point: &Point<'_>) -> Cell {
        (self.cell)(group, line, point)
    }
}

const CONTROLLER: &str = "controller";

/// All columns, left to right.
pub(crate) const COLUMNS: [Column; 17] = [
    Column {
        head: "demand",
        meaning: "Intended load as a multiple of capacity; the mean where it changes in steps.",
        dispensable: 0,
        cell: |_, _, point| {
            // A load by hand knows no capacity that it could be a multiple of.
            let known = point.demand > 0.0;
            Cell::plain(if known { format::demand(point.demand) } else { NOTHING.to_owned() })
        },
    },
    Column {
        head: CONTROLLER,
        meaning: "The overload controller, with its profile and overrides; ! where no repetition is valid.",
        dispensable: 0,
        cell: |_, line, point| controller(line, point),
    },
    Column {
        head: "offered\nk/s",
        meaning: "Requests that the schedule intended, thousands per second.",
        dispensable: 2,
        cell: |_, _, point| number(point, Quantity::Offered, format::thousands),
    },
    Column {
        head: "goodput\nk/s",
        meaning: "Answers within the SLO, thousands per second.",
        dispensable: 0,
        cell: |_, _, point| number(point, Quantity::Goodput, format::thousands),
    },
    Column {
        head: "% of\ncap.",
        meaning: "Goodput as a share of capacity.",
        dispensable: 3,
        cell: |group, _, point| match group.capacity_rps {
            unknown if unknown <= 0.0 => Cell::plain(NOTHING.to_owned()),
            _ => number(point, Quantity::OfCapacity, format::percent),
        },
    },
    Column {
        head: "% of\nbound",
        meaning: "Goodput as a share of what no controller can beat; ? where it exceeds that by more than chance explains.",
        dispensable: 0,
        cell: |_, _, point| of_bound(point),
    },
    Column {
        head: "p50\n{time}",
        meaning: "Median latency of served requests, from their intended time.",
        dispensable: 5,
        cell: |group, _, point| time(group, point, Quantity::P50),
    },
    Column {
        head: "p99\n{time}",
        meaning: "99th percentile of latency; red above the SLO.",
        dispensable: 0,
        cell: p99,
    },
    Column {
        head: "p99.9\n{time}",
        meaning: "99.9th percentile of latency.",
        dispensable: 4,
        cell: |group, _, point| time(group, point, Quantity::P999),
    },
    Column {
        head: "drops\n%",
        meaning: "Shed by the server, as a share of what it received.",
        dispensable: 1,
        cell: |_, _, point| number(point, Quantity::Drop, format::percent),
    },
    Column {
        head: "exp'd\n%",
        meaning: "Given up at the client before sending, as a share of all intended requests.",
        dispensable: 6,
        cell: |_, _, point| number(point, Quantity::Expired, format::percent),
    },
    Column {
        head: "late\n%",
        meaning: "Served after the SLO, as a share of all intended requests.",
        dispensable: 7,
        cell: |_, _, point| number(point, Quantity::Late, format::percent),
    },
    Column {
        head: "lost\n%",
        meaning: "Never answered, or never sent because the generator could not, as a share of all intended requests.",
        dispensable: 8,
        cell: |_, _, point| number(point, Quantity::Lost, format::percent),
    },
    Column {
        head: "reject\np50 {time}",
        meaning: "From sending a request to receiving its reject, median.",
        dispensable: 9,
        cell: |group, _, point| time(group, point, Quantity::RejectP50),
    },
    Column {
        head: "lag\np99 {time}",
        meaning: "How far the load generator fell behind its own schedule, 99th percentile.",
        dispensable: 10,
        cell: |group, _, point| time(group, point, Quantity::LatenessP99),
    },
    Column {
        head: "CPU\nµs/rq",
        meaning: "CPU of the server per request it received; busy time where it spins.",
        dispensable: 11,
        cell: |_, _, point| number(point, Quantity::Cpu, |ns| format::significant(ns / 1e3)),
    },
    Column {
        head: "valid",
        meaning: "Valid repetitions, of all that took place.",
        dispensable: 0,
        cell: |_, _, point| validity(point),
    },
];

impl Cell {
    fn plain(text: String) -> Self {
        Self { text, tone: Tone::Plain, tip: String::new() }
    }
}

fn number(point: &Point<'_>, quantity: Quantity, show: impl Fn(f64) -> String) -> Cell {
    let Some(spread) = point.spread(quantity) else {
        return Cell::plain(NOTHING.to_owned());
    };
    let runs = if point.valid > 0 { point.valid } else { point.total };
    let tip = range(&show(spread.min), &show(spread.max), runs as usize);
    Cell { tip, ..Cell::plain(show(spread.median)) }
}

/// What repetitions range over; nothing of a single one.
pub(crate) fn range(least: &str, most: &str, runs: usize) -> String {
    match runs {
        0 | 1 => String::new(),
        runs if least == most => format!("the same in {runs} runs"),
        runs => format!("{least} to {most} in {runs} runs"),
    }
}

fn of_bound(point: &Point<'_>) -> Cell {
    // Without a bound the share is not zero, it does not exist.
    let bounded = point.median(Quantity::Bound).is_some();
    let Some(share) = point.median(Quantity::OfBound).filter(|share| bounded || *share > 0.0)
    else {
        return Cell::plain(NOTHING.to_owned());
    };
    let cell = number(point, Quantity::OfBound, format::percent);
    if let Some(why) = point.doubt() {
        let tips = [&*cell.tip, why].into_iter().filter(|tip| !tip.is_empty());
        let tip = tips.collect::<Vec<_>>().join("; ");
        return Cell { text: format!("{} ?", cell.text), tone: Tone::Fair, tip };
    }
    let tone = match share {
        _ if point.valid == 0 => Tone::Plain,
        // More than all is no better than all: earlier versions did not say what is in doubt.
        share if (0.95..=1.05).contains(&share) => Tone::Good,
        share if share >= 0.80 => Tone::Fair,
        _ => Tone::Poor,
    };
    Cell { tone, ..cell }
}

fn p99(group: &Group<'_>, _: &Line<'_>, point: &Point<'_>) -> Cell {
    let mut cell = time(group, point, Quantity::P99);
    let over = point.median(Quantity::P99).is_some_and(|p99| p99 > group.slo_us);
    if over && point.valid > 0 {
        cell.tone = Tone::Poor;
    }
    cell
}

fn validity(point: &Point<'_>) -> Cell {
    let text = format!("{}/{}", point.valid, point.total);
    match point.valid {
        0 => Cell { tone: Tone::Poor, ..Cell::plain(format!("{text} !")) },
        valid if valid < point.total => Cell { tone: Tone::Fair, ..Cell::plain(text) },
        _ => Cell::plain(text),
    }
}

/// In the unit of its column.
fn time(group: &Group<'_>, point: &Point<'_>, quantity: Quantity) -> Cell {
    let unit = ColumnUnit::of(group.slo_us);
    number(point, quantity, |us| unit.show(us))
}

/// The mark stands where no terminal is too narrow for it.
fn controller(line: &Line<'_>, point: &Point<'_>) -> Cell {
    let mark = if point.valid == 0 { " !" } else { "" };
    Cell::plain(format!("{}{mark}", line.label))
}
