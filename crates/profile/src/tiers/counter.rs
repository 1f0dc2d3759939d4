//! Which traces read one counter.
//!
//! Where both the counter and the clock of two traces go together, both were recorded on one machine. On two machines
//! both would have to agree by chance. The calls check that: no message is read before it was sent.

use super::calls::{Message, Messages};
use super::offset::Offset;
use super::survey::Tier;
use crate::clock::Clocks;
use crate::record::{Clock, Ticks};

/// So close two traces' readings of one machine's clock are, by one's line from counter to clock, in nanoseconds. Calls that
/// exclude one counter by less do not win either: a server may mark its end some µs after its answer was read.
const SAME_NS: u64 = 100_000;

/// What is known of a trace's counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counter {
    /// The first of the traces that read it, whose line from counter to clock counts for all of them.
    pub(super) of: usize,
    /// It seems to be another trace's, too, and calls exclude that by so many nanoseconds; zero where that is not so.
    pub(super) excluded_ns: u64,
}

/// Of each trace.
pub(super) fn counters(tiers: &[Tier], messages: &Messages) -> Vec<Counter> {
    let own = |of| Counter { of, excluded_ns: 0 };
    let mut counters: Vec<Counter> = (0..tiers.len()).map(own).collect();
    for first in 0..tiers.len() {
        if counters[first].of == first {
            gather(first, tiers, messages, &mut counters);
        }
    }
    counters
}

/// Finds the traces with the counter of this one, among those behind it that have none yet.
fn gather(first: usize, tiers: &[Tier], messages: &Messages, counters: &mut [Counter]) {
    let line = &tiers[first].clocks;
    let mut same = vec![first];
    let seems = |it: &usize| counters[*it].of == *it && fits(line, &tiers[*it].clocks);
    let mut open: Vec<usize> = (first + 1..tiers.len()).filter(seems).collect();
    while !open.is_empty() {
        // One that calls can check against those that are known, if there is one.
        let checked =
            open.iter().position(|&it| same.iter().any(|&known| has(messages, known, it)));
        let tier = open.remove(checked.unwrap_or(0));
        let excluded = same.iter().map(|&known| excluded(messages, (known, tier), line)).max();
        let Counter { of, excluded_ns } = &mut counters[tier];
        match excluded.unwrap_or(0) {
            0 => {
                *of = first;
                same.push(tier);
            }
            more => *excluded_ns = more.max(*excluded_ns),
        }
    }
}

/// Both were recorded on one machine, since it was started, as it seems: one's line also fits the other's first reading.
fn fits(line: &Clocks, other: &Clocks) -> bool {
    let Clock { ticks, raw_ns, .. } = other.first();
    line.raw_ns(ticks).abs_diff(raw_ns) <= SAME_NS
}

fn has(messages: &Messages, one: usize, other: usize) -> bool {
    messages.contains_key(&(one, other))
}

/// By how much the messages between two traces exclude that both read one counter; zero up to [`SAME_NS`]. Where no other
/// lead fits them either they say nothing: of such calls something else is wrong.
fn excluded(messages: &Messages, (one, other): (usize, usize), line: &Clocks) -> u64 {
    let of = |pair| messages.get(&pair).into_iter().flatten();
    let (there, back) = (of((one, other)), of((other, one)));
    let early = |message: &Message<Ticks>| message.sent.saturating_sub(message.read);
    let early = there.clone().chain(back.clone()).map(early).max().unwrap_or(0);
    let early_ns = line.rate().ns(early);
    if early_ns <= SAME_NS {
        return 0;
    }
    let on_line = |message: &Message<Ticks>| message.on(line, line);
    match Offset::of(there.map(on_line), back.map(on_line)) {
        Some(offset) if offset.contradiction() == 0 => early_ns,
        _ => 0,
    }
}
