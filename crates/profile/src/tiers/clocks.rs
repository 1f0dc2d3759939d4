//! What is told of the traces' clocks.

use super::axis::{Axis, Basis};
use super::calls::Messages;
use super::counter::Counter;
use super::survey::Tier;
use crate::record::Ticks;
use serde::Serialize;

/// What is known of a trace's clock.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClockRow {
    /// The trace.
    pub trace: String,
    /// How its clock was brought to the first one's.
    pub basis: Basis,
    /// The trace whose counter it reads, where that is how.
    pub counter_of: Option<String>,
    /// Calls with another trace that both ends told of wholly, and that say how its clock goes.
    pub calls: u64,
    /// How far it is ahead of the first trace's clock, in nanoseconds: in the middle of its requests.
    pub ahead_ns: i64,
    /// How far the truth may be from that: the errors on the way from the first trace add up.
    pub error_ns: u64,
    /// How far the calls on that way contradict each other or what is known otherwise, at most: zero where they do not.
    pub contradiction_ns: u64,
    /// How far its calls exclude that it reads the counter of an earlier trace, as it seems to: zero where they do not.
    pub counter_excluded_ns: u64,
}

/// Of each trace.
pub(super) fn rows(
    tiers: &[Tier],
    axis: &Axis,
    counters: &[Counter],
    messages: &Messages,
) -> Vec<ClockRow> {
    let contradictions = axis.contradictions();
    let row = |(tier, it): (usize, &Tier)| {
        let lead = axis.lead_at(tier, middle(it));
        // Of each call it has read one message: the call or the answer.
        let read = messages.iter().filter(|((_, reader), _)| *reader == tier);
        ClockRow {
            trace: it.name.clone(),
            basis: axis.basis(tier),
            counter_of: axis.counter_of(tier).map(|other| tiers[other].name.clone()),
            calls: read.map(|(_, messages)| messages.len() as u64).sum(),
            ahead_ns: lead.ahead,
            error_ns: lead.error,
            contradiction_ns: contradictions[tier],
            counter_excluded_ns: counters[tier].excluded_ns,
        }
    };
    tiers.iter().enumerate().map(row).collect()
}

/// The middle of a trace's requests.
fn middle(tier: &Tier) -> Ticks {
    let first = tier.requests.iter().map(|one| one.start).min();
    let last = tier.requests.iter().map(|one| one.end).max();
    // A mark that came far too late may be of before the start.
    first.zip(last).map_or(0, |(first, last)| first + last.saturating_sub(first) / 2)
}
