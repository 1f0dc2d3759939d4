//! Which calls are told of.

use crate::functions::{BoundedDurations, Interval};
use crate::hash::Map;
use crate::record::{Call, CallFlags, Function, FunctionId, Record, ThreadId, Ticks};
use std::collections::BTreeSet;

/// Functions whose durations are kept apart; a call of a further one is not chosen.
const FUNCTIONS_MAX: usize = 16_384;

/// Which calls are told of, with all that lies within them.
#[derive(Debug)]
pub enum Choice {
    /// All.
    All,
    /// Those of some functions that took longer than this, in ticks, by what they surely took.
    Longer(Longer),
    /// Those within the time that threads worked for some requests.
    Working(Working),
}

/// When each thread worked for the requests: when a turn began, and the latest end of all turns that began no later.
#[derive(Debug, Default)]
pub struct Working(Map<ThreadId, Vec<(Ticks, Ticks)>>);

/// For each chosen function what a call must have taken.
#[derive(Debug, Default)]
pub struct Longer(Map<FunctionId, Option<Ticks>>);

/// Finds the calls of some functions that are above a percentile of each: a reading of its own, before the one that
/// uses the choice.
pub struct Tail {
    includes: Box<dyn Fn(&Function) -> bool>,
    quantile: Option<f64>,
    members: BTreeSet<FunctionId>,
    calls: u64,
    spreads: Map<FunctionId, BoundedDurations>,
}

impl Choice {
    pub(super) fn includes(&self, call: &Call) -> bool {
        match self {
            Self::All => true,
            Self::Longer(Longer(than)) => than.get(&call.function).is_some_and(|than| {
                let took = Interval::of(call);
                than.is_none_or(|than| !took.is_unknown() && took.low > than)
            }),
            Self::Working(working) => working.holds(call),
        }
    }
}

impl Working {
    /// Of turns: whose, from when, and until when.
    pub(super) fn new(mut turns: Vec<(ThreadId, Ticks, Ticks)>) -> Self {
        turns.sort_unstable();
        let mut threads: Map<ThreadId, Vec<(Ticks, Ticks)>> = Map::default();
        for (thread, from, to) in turns {
            let own = threads.entry(thread).or_default();
            let latest = own.last().map_or(to, |(_, latest)| to.max(*latest));
            own.push((from, latest));
        }
        Self(threads)
    }

    /// Whether one turn may have had the whole call, by when it surely was on; where no time is sure, its middle. Marks are exact.
    fn holds(&self, call: &Call) -> bool {
        let is_cut = call.flags.has(CallFlags::STARTED_BEFORE | CallFlags::UNFINISHED);
        let Some(turns) = self.0.get(&call.thread).filter(|_| !is_cut) else { return false };
        let from = call.start.saturating_add(call.start_slack.into());
        let to = call.end.saturating_sub(call.end_slack.into());
        let middle = call.start.midpoint(call.end);
        let (from, to) = if from <= to { (from, to) } else { (middle, middle) };
        let begun = turns.partition_point(|(began, _)| *began <= from);
        turns[..begun].last().is_some_and(|(_, latest)| to <= *latest)
    }
}

impl Tail {
    /// Of functions that `includes` says yes to, the calls above this quantile of the function, from 0 to 1; without one, all.
    #[must_use]
    pub fn new(quantile: Option<f64>, includes: impl Fn(&Function) -> bool + 'static) -> Self {
        let (members, spreads) = (BTreeSet::new(), Map::default());
        Self { includes: Box::new(includes), quantile, members, calls: 0, spreads }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        match record {
            Record::Function(function)
                if self.members.len() < FUNCTIONS_MAX && (self.includes)(function) =>
            {
                self.members.insert(function.id);
            }
            Record::Call(call) if self.members.contains(&call.function) => {
                self.calls += 1;
                let took = Interval::of(call);
                if self.quantile.is_some() && !took.is_unknown() {
                    self.spreads
                        .entry(call.function)
                        .or_insert_with(BoundedDurations::new)
                        .add(took);
                }
            }
            _ => {}
        }
    }

    /// Functions that were found.
    #[must_use]
    pub fn functions(&self) -> usize {
        self.members.len()
    }

    /// Their calls.
    #[must_use]
    pub const fn calls(&self) -> u64 {
        self.calls
    }

    /// All calls of the same functions, however long they took.
    #[must_use]
    pub fn all(&self) -> Choice {
        Choice::Longer(Longer(self.members.iter().map(|id| (*id, None)).collect()))
    }

    /// Concludes.
    #[must_use]
    pub fn finish(self) -> Choice {
        let than = |id: &FunctionId| match self.quantile {
            None => Some((*id, None)),
            Some(quantile) => Some((*id, Some(self.spreads.get(id)?.below(quantile)))),
        };
        Choice::Longer(Longer(self.members.iter().filter_map(than).collect()))
    }
}
