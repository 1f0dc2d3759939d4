//! All traces' times on one axis: nanoseconds of the first trace's clock.

use super::calls::{Messages, time};
use super::counter::Counter;
use super::offset::{Lead, Offset};
use super::survey::Tier;
use crate::clock::Clocks;
use crate::hash::Map;
use crate::record::Ticks;
use serde::Serialize;

/// No time on the axis is farther from its origin, in nanoseconds: 73 years. A damaged clock's would overflow differences.
const FARTHEST: i64 = 1 << 61;

/// How a trace's clock was brought to the first one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It is the first trace's.
    First,
    /// It reads the counter of another trace, which says how its clock goes.
    SameCounter,
    /// From the times of the calls between them.
    Calls,
    /// No call joins it to the others: it is left out.
    Unknown,
}

/// The axis.
pub(super) struct Axis {
    /// By which each trace's ticks become time; traces with one counter have one.
    lines: Vec<Clocks>,
    places: Vec<Place>,
    /// Of each pair of traces with calls between them, the near one first: that which was joined to the axis earlier.
    offsets: Map<(usize, usize), Offset>,
}

/// How a trace's time comes to lie on the axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// As it is: by the first trace's counter.
    Counter,
    /// Less its lead over this trace, and then as that one's.
    Beside(usize),
    /// As that of this trace, whose counter it reads.
    With(usize),
    Unknown,
}

impl Axis {
    pub(super) fn new(tiers: &[Tier], counters: &[Counter], messages: &Messages) -> Self {
        let of = |counter: &Counter| match counter.of {
            0 => (tiers[0].clocks, Place::Counter),
            first => (tiers[first].clocks, Place::Unknown),
        };
        let (lines, places) = counters.iter().map(of).unzip();
        let mut axis = Self { lines, places, offsets: Map::default() };
        axis.join(counters, messages);
        axis
    }

    /// From the traces with the first one's counter outwards, call by call.
    fn join(&mut self, counters: &[Counter], messages: &Messages) {
        let all = 0..self.places.len();
        let mut order: Vec<usize> = all.clone().filter(|&it| self.knows(it)).collect();
        let mut next = 0;
        while let Some(&near) = order.get(next) {
            next += 1;
            for far in all.clone().filter(|far| !order[..next].contains(far)).collect::<Vec<_>>() {
                let Some(offset) = self.offset(messages, near, far) else { continue };
                self.offsets.insert((near, far), offset);
                if !self.knows(far) {
                    self.places[far] = Place::Beside(near);
                    order.push(far);
                    order.extend(self.bring_along(far, counters));
                }
            }
        }
    }

    /// Places the traces with the counter of one that has its place by calls.
    fn bring_along(&mut self, placed: usize, counters: &[Counter]) -> Vec<usize> {
        let same = |it: &usize| counters[*it].of == counters[placed].of && !self.knows(*it);
        let brought: Vec<usize> = (0..counters.len()).filter(same).collect();
        brought.iter().for_each(|&it| self.places[it] = Place::With(placed));
        brought
    }

    fn offset(&self, messages: &Messages, near: usize, far: usize) -> Option<Offset> {
        let messages = |from: usize, to: usize| {
            let (sent, read) = (&self.lines[from], &self.lines[to]);
            messages.get(&(from, to)).into_iter().flatten().map(|one| one.on(sent, read))
        };
        Offset::of(messages(near, far), messages(far, near))
    }

    pub(super) fn knows(&self, tier: usize) -> bool {
        self.places[tier] != Place::Unknown
    }

    pub(super) fn basis(&self, tier: usize) -> Basis {
        match self.places[tier] {
            Place::Counter if tier == 0 => Basis::First,
            Place::Counter | Place::With(_) => Basis::SameCounter,
            Place::Beside(_) => Basis::Calls,
            Place::Unknown => Basis::Unknown,
        }
    }

    /// The other trace whose counter it reads, and by which it has its place.
    pub(super) fn counter_of(&self, tier: usize) -> Option<usize> {
        match self.places[tier] {
            Place::Counter => (tier != 0).then_some(0),
            Place::With(other) => Some(other),
            Place::Beside(_) | Place::Unknown => None,
        }
    }

    /// How far a trace's clock is ahead of the axis at a time of its own, as far as is known.
    pub(super) fn lead_at(&self, tier: usize, ticks: Ticks) -> Lead {
        self.lead(tier, time(&self.lines[tier], ticks))
    }

    /// A time of a trace whose clock is so far ahead. One lead for a whole request: what is known changes from moment to
    /// moment, and lengths would with it.
    pub(super) fn at(&self, tier: usize, ticks: Ticks, ahead: i64) -> i64 {
        time(&self.lines[tier], ticks).saturating_sub(ahead).clamp(-FARTHEST, FARTHEST)
    }

    /// Of each trace by how much calls contradict its place: its own, or those on the way to it.
    pub(super) fn contradictions(&self) -> Vec<u64> {
        let mut own = vec![0; self.places.len()];
        for (&(near, far), offset) in &self.offsets {
            // The near one's place does not rest on these calls.
            own[far] = own[far].max(self.contradiction((near, far), offset));
        }
        (0..own.len()).map(|tier| self.way(tier).map(|it| own[it]).max().unwrap_or(0)).collect()
    }

    /// By how much a pair's calls contradict each other, and the places of both.
    fn contradiction(&self, (near, far): (usize, usize), offset: &Offset) -> u64 {
        let each_other = offset.contradiction();
        if self.places[far] == Place::Beside(near) {
            // The place is in their middle.
            return each_other;
        }
        let excluded = offset.times().map(|time| {
            let bounds = offset.at(time);
            let there = time.saturating_add(bounds.lead().ahead);
            bounds.excludes(self.lead_over((near, time), (far, there)))
        });
        excluded.max().unwrap_or(0).max(each_other)
    }

    /// How far a trace's clock is ahead of a near one's, each at a time of its own.
    fn lead_over(&self, (near, time): (usize, i64), (far, there): (usize, i64)) -> Lead {
        if self.placed(near) == self.placed(far) {
            // Of one counter, whatever is known of its own lead.
            return Lead::NONE;
        }
        self.lead(far, there).minus(self.lead(near, time))
    }

    /// The trace whose place this one has.
    fn placed(&self, tier: usize) -> usize {
        match self.places[tier] {
            Place::With(other) => other,
            _ => tier,
        }
    }

    /// The traces on whose places this one's rests, from its own on.
    fn way(&self, tier: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(tier), |&tier| match self.places[tier] {
            Place::Beside(base) | Place::With(base) => Some(base),
            Place::Counter | Place::Unknown => None,
        })
    }

    /// The sum of the leads on that way.
    fn lead(&self, tier: usize, mut own: i64) -> Lead {
        let mut sum = Lead::NONE;
        let mut far = self.placed(tier);
        while let Place::Beside(near) = self.places[far] {
            own = own.clamp(-FARTHEST, FARTHEST);
            let lead = self.offsets[&(near, far)].at_far(own).lead();
            sum = sum.plus(lead);
            own = own.saturating_sub(lead.ahead);
            far = self.placed(near);
        }
        sum
    }
}
