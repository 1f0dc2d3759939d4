//! `[demand]`: how much is asked, run by run.

use super::item::Item;
use super::section::Section;
use crate::arrivals::Arrivals;
use crate::demand::Step;
use crate::limits;
use std::time::Duration;
use tailwater_core::duration::format_duration;
use tailwater_core::{Nanos, Rate, Ratio};

/// The demands that are tried.
#[derive(Clone, PartialEq, Debug)]
pub struct Demand {
    /// Each a run of its own; a cycle stands alone.
    pub courses: Vec<Course>,
    /// How requests are spread in time, each a configuration. Default Poisson.
    pub arrivals: Vec<Arrivals>,
}

/// The demand of one run.
#[derive(Clone, PartialEq, Debug)]
pub enum Course {
    /// The same throughout.
    Steady(Amount),
    /// Steps, repeated.
    Cycle(Cycle),
}

/// How much is asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// As a multiple of the capacity measured beside the run.
    OfCapacity(Ratio),
    /// In absolute terms.
    PerSecond(Rate),
}

/// Demand that changes in steps.
#[derive(Clone, PartialEq, Debug)]
pub struct Cycle {
    /// In order; warm-up offers the first.
    pub steps: Vec<CycleStep>,
    /// How often the whole cycle is played in one run, so that its repetitions can be overlaid.
    /// Default 1.
    pub repeat: u32,
    /// Width of the bins of the time series; each step is a multiple of it. Default 5 ms. Narrow bins
    /// hold too few requests for a 99th percentile unless many cycles are overlaid, wide ones hide
    /// what happens right after a step.
    pub bin: Duration,
}

/// One step of a cycle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CycleStep {
    /// How much is asked for when it begins.
    pub amount: Amount,
    /// How much when it ends, straight from the one to the other; the same where demand is constant.
    pub end: Amount,
    /// For how long.
    pub length: Duration,
}

impl Amount {
    /// In requests per second, for a measured capacity.
    #[must_use]
    pub fn rate(self, capacity: Rate) -> Rate {
        match self {
            Self::OfCapacity(ratio) => Rate(ratio.0 * capacity.0),
            Self::PerSecond(rate) => rate,
        }
    }

    /// The bare number, which orders amounts of the same kind.
    pub(super) const fn number(self) -> f64 {
        match self {
            Self::OfCapacity(ratio) => ratio.0,
            Self::PerSecond(rate) => rate.0,
        }
    }
}

impl CycleStep {
    /// In requests per second, for a measured capacity.
    #[must_use]
    pub fn at(&self, capacity: Rate) -> Step {
        let (rate, end) = (self.amount.rate(capacity), self.end.rate(capacity));
        Step { rate, end, length: self.length }
    }
}

impl Cycle {
    /// How long one cycle lasts.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.steps.iter().map(|step| step.length).sum()
    }

    /// How long all cycles last.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.period() * self.repeat
    }
}

const KINDS: [&str; 3] = ["of_capacity", "requests_per_second", "steps"];

impl Demand {
    /// The cycle, when demand changes within the run.
    #[must_use]
    pub fn cycle(&self) -> Option<&Cycle> {
        match self.courses.first() {
            Some(Course::Cycle(cycle)) => Some(cycle),
            _ => None,
        }
    }

    /// Notes that the window is not offered the demand in the mean.
    pub(super) fn refuse_misfits(&self, section: &Section<'_>, window: Duration) {
        let Some(item) = section.item("arrivals") else {
            return;
        };
        for arrivals in &self.arrivals {
            let why = match self.cycle() {
                None => arrivals.misfit(window),
                Some(cycle) => cycle
                    .steps
                    .iter()
                    .find_map(|step| arrivals.misfit_of_step(step.length, step.end != step.amount)),
            };
            if let Some(why) = why {
                item.problem(format!("{} is {arrivals}: {why}", item.name));
            }
        }
    }

    pub(super) fn read(section: &Section<'_>) -> Self {
        let courses = match section.only_one(&KINDS) {
            Some((2, item)) => vec![Course::Cycle(cycle(section, &item))],
            Some((kind, item)) => {
                refuse_without_steps(section);
                let amounts = item.each_distinct(|item| amount(item, kind));
                amounts.into_iter().map(Course::Steady).collect()
            }
            None => Vec::new(),
        };
        Self { courses, arrivals: arrivals(section) }
    }
}

fn arrivals(section: &Section<'_>) -> Vec<Arrivals> {
    let said = section.item("arrivals").map(|item| item.each_distinct(Item::word));
    said.filter(|arrivals| !arrivals.is_empty()).unwrap_or_else(|| vec![Arrivals::Poisson])
}

fn refuse_without_steps(section: &Section<'_>) {
    for item in ["repeat", "bin"].iter().filter_map(|key| section.item(key)) {
        item.problem(format!(
            "{} is given without demand.steps; leave it out, or describe the demand by steps",
            item.name
        ));
    }
}

/// `kind` is an index into [`KINDS`].
fn amount(item: &Item<'_>, kind: usize) -> Option<Amount> {
    item.number().map(|number| amount_of(number, kind))
}

fn amount_of(number: f64, kind: usize) -> Amount {
    match kind {
        0 => Amount::OfCapacity(Ratio(number)),
        _ => Amount::PerSecond(Rate(number)),
    }
}

fn cycle(section: &Section<'_>, item: &Item<'_>) -> Cycle {
    let bin = section.duration("bin");
    let bin = bin.unwrap_or(Duration::from_millis(5));
    let steps: Vec<CycleStep> = item.list().iter().filter_map(|item| step(item, bin)).collect();
    let repeat = section.whole("repeat");
    let cycle = Cycle { steps, repeat: repeat.unwrap_or(1), bin };
    check(&cycle, item);
    cycle
}

fn step(item: &Item<'_>, bin: Duration) -> Option<CycleStep> {
    let section = item.section()?;
    let (kind, asked) = section.only_one(&KINDS[..2])?;
    let begin = amount(&asked, kind)?;
    let end = match section.item("to") {
        Some(item) => {
            let most = [limits::OF_CAPACITY_MAX, limits::PER_SECOND_MAX][kind];
            amount_of(item.number_in(&(0.0..=most))?, kind)
        }
        None => begin,
    };
    let length = section.needed("for", |item| {
        let length = item.duration()?;
        if length.nanos().is_multiple_of(bin.nanos()) {
            return Some(length);
        }
        item.wrong(format_args!("a multiple of demand.bin, which is {},", format_duration(bin)))
    })?;
    Some(CycleStep { amount: begin, end, length })
}

fn check(cycle: &Cycle, item: &Item<'_>) {
    let length = cycle.length();
    if length > limits::DURATION_MAX {
        item.problem(format!(
            "{} last {} with all repeats; at most {} are needed",
            item.name,
            format_duration(length),
            format_duration(limits::DURATION_MAX)
        ));
    }
    let bins = length.as_nanos() / cycle.bin.as_nanos();
    if bins > limits::BINS_MAX {
        item.problem(format!(
            "{} with all repeats fill {bins} bins; at most {} are needed: widen demand.bin",
            item.name,
            limits::BINS_MAX
        ));
    }
    let is_pause = |step: &CycleStep| step.amount.number() == 0.0 && step.end.number() == 0.0;
    if !cycle.steps.is_empty() && cycle.steps.iter().all(is_pause) {
        item.problem(format!("{} ask for nothing; at least one above 0 is needed", item.name));
    }
}
