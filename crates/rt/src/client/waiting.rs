//! Callers that wait for an answer, and what is needed to ask another replica for it.

use super::call::{Answer, CallError, Filler};
use super::channel::{Event, NewCall};
use slab::Slab;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailwater_control::retry::{Failure, Tries};
use tailwater_control::{Offer, Outcome, Reason, Reply};
use tailwater_core::{Instant, RequestId, Stamp};

/// Callers by token, and when their patience ends.
#[derive(Default)]
pub(super) struct Waiting {
    slots: Slab<(u64, Caller)>,
    /// At most twice as many as there are callers and a thousand more: those of callers that have gone
    /// are swept out then.
    deadlines: BinaryHeap<Reverse<(Instant, u64)>>,
    sequence: u64,
    /// Tries that failed in the turn of the loop that goes on; at most one for each caller.
    failed: Vec<Failed>,
}

pub(super) struct Caller {
    slot: Filler,
    /// Kept only where there are replicas.
    pub(super) again: Option<Box<Again>>,
}

/// A call that may have to be made again: what it was, and where it is.
pub(super) struct Again {
    pub(super) call: NewCall,
    pub(super) tries: Tries,
    pub(super) replica: usize,
    pub(super) id: RequestId,
    /// It has waited long enough for credit, but no other replica could be reached.
    pub(super) impatient: bool,
}

/// A try that ended without an answer.
pub(super) struct Failed {
    pub(super) token: u64,
    pub(super) failure: Failure,
    pub(super) error: CallError,
}

impl Waiting {
    /// The token is a slot and a sequence: an answer that comes after the caller was told
    /// `TimedOut` must not reach another.
    pub(super) fn add(
        &mut self,
        deadline: Option<Instant>,
        slot: Filler,
        again: Option<Box<Again>>,
    ) -> u64 {
        self.sequence = (self.sequence + 1) & u64::from(u32::MAX);
        let caller = Caller { slot, again };
        let token = self.sequence << 32 | self.slots.insert((self.sequence, caller)) as u64;
        if let Some(deadline) = deadline {
            self.deadlines.push(Reverse((deadline, token)));
        }
        if self.deadlines.len() > self.entries_max() {
            let slots = &self.slots;
            self.deadlines.retain(|&Reverse((_, token))| {
                let (index, sequence) = split(token);
                slots.get(index).is_some_and(|(found, _)| *found == sequence)
            });
        }
        token
    }

    /// Beyond so many entries a heap of tokens is swept: rarely enough that each call pays for one visit.
    pub(super) fn entries_max(&self) -> usize {
        2 * self.slots.len() + 1_024
    }

    /// What is kept of a call to make it again.
    pub(super) fn again(&mut self, token: u64) -> Option<&mut Again> {
        let (index, sequence) = split(token);
        let (found, caller) = self.slots.get_mut(index)?;
        caller.again.as_deref_mut().filter(|_| *found == sequence)
    }

    /// The calls that would leave where they are if they could, and where that is.
    pub(super) fn impatient(&self) -> Vec<(u64, usize)> {
        let wants = |caller: &Caller| {
            let again = caller.again.as_ref().filter(|again| again.impatient);
            again.map(|again| again.replica)
        };
        let slots = self.slots.iter();
        let wanting = slots.filter_map(|(index, (sequence, caller))| {
            Some((sequence << 32 | index as u64, wants(caller)?))
        });
        wanting.collect()
    }

    /// The calls that are at this replica now.
    pub(super) fn at(&self, replica: usize) -> Vec<u64> {
        let there =
            |caller: &Caller| caller.again.as_ref().is_some_and(|again| again.replica == replica);
        let slots = self.slots.iter().filter(|(_, (_, caller))| there(caller));
        slots.map(|(index, (sequence, _))| sequence << 32 | index as u64).collect()
    }

    /// Notes how a try ended. Returns what a response or reject has told of how long answers take.
    pub(super) fn end(&mut self, event: Event<'_>) -> Option<Reply> {
        let (offer, stamp) = (Offer::OPEN, Stamp::default());
        let mut reply = None;
        let (token, failure, error) = match event {
            Event::Response { token, status, payload, elapsed, sojourn, waited } => {
                self.fill(token, Ok(Answer { status, payload: payload.to_vec(), sojourn }));
                let outcome = Outcome::Served;
                return Some(Reply { outcome, offer, stamp, elapsed, sojourn, waited });
            }
            Event::Rejected { token, reason, elapsed, sojourn, waited } => {
                let reason = reason.unwrap_or(Reason::Limit);
                let outcome = Outcome::Shed(reason);
                reply = Some(Reply { outcome, offer, stamp, elapsed, sojourn, waited });
                (token, Failure::Shed(reason), CallError::Shed(reason))
            }
            Event::Dropped { token, reason, sent } => {
                let failure = if sent { Failure::Lost } else { Failure::Unsent };
                (token, failure, reason.into())
            }
            // It fits no replica any better.
            Event::TooLong { token, most } => (token, Failure::Lost, CallError::TooLong { most }),
        };
        if self.again(token).is_some() {
            self.failed.push(Failed { token, failure, error });
        } else {
            self.fill(token, Err(error));
        }
        reply
    }

    /// A try that failed, and about which nothing is decided yet.
    pub(super) fn next_failed(&mut self) -> Option<Failed> {
        self.failed.pop()
    }

    /// The end of a call; nothing if it had ended before.
    pub(super) fn fill(&mut self, token: u64, answer: Result<Answer, CallError>) {
        let (index, sequence) = split(token);
        if self.slots.get(index).is_some_and(|(found, _)| *found == sequence) {
            self.slots.remove(index).1.slot.fill(answer);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        while let Some(&Reverse((at, token))) = self.deadlines.peek()
            && at <= now
        {
            self.deadlines.pop();
            self.fill(token, Err(CallError::TimedOut));
        }
    }
}

const fn split(token: u64) -> (usize, u64) {
    ((token & u32::MAX as u64) as usize, token >> 32)
}

#[cfg(test)]
mod tests {
    use super::super::call::Slot;
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn filler() -> Filler {
        Filler::new(Arc::new(Slot::default()))
    }

    #[test]
    fn deadlines_of_answered_calls_are_not_kept_until_they_are_due() {
        let mut waiting = Waiting::default();
        let due = |at| Some(Instant::from_nanos(at));
        let stays = waiting.add(due(1_000_000), filler(), None);
        for number in 0..10_000 {
            let token = waiting.add(due(2_000_000 + number), filler(), None);
            waiting.fill(token, Err(CallError::TimedOut));
        }
        assert!(waiting.deadlines.len() <= 1_030, "{} are kept", waiting.deadlines.len());
        assert_eq!(waiting.next_deadline(), due(1_000_000));
        waiting.time_out(Instant::from_nanos(1_000_000));
        let (index, _) = split(stays);
        assert!(waiting.slots.get(index).is_none(), "who still waited was told in time");
    }

    #[test]
    fn rejects_tell_of_the_network_too() {
        let mut waiting = Waiting::default();
        let token = waiting.add(None, filler(), None);
        let us = Duration::from_micros;
        let (elapsed, sojourn, waited) = (us(12), us(2), us(1));
        let reason = Some(Reason::Delay);
        let reply = waiting.end(Event::Rejected { token, reason, elapsed, sojourn, waited });
        let reply = reply.expect("it tells of something");
        assert_eq!(reply.outcome, Outcome::Shed(Reason::Delay));
        assert_eq!((reply.elapsed, reply.sojourn, reply.waited), (elapsed, sojourn, waited));
    }
}
