//! Which of the ready queues is next: the policies, over any set of flags.
//!
//! A policy neither waits nor reads a clock. [`Order::choose`] names a queue, [`Order::served`] is told of
//! the one that was handed out; between the two the bell may turn out to be another consumer's.

mod deficit;
mod round_robin;
mod strict;
mod weighted;

use deficit::Deficit;
use round_robin::RoundRobin;
use std::sync::Arc;
use strict::{Aged, Strict};
use weighted::Weighted;

/// Which of the queues that are ready is visited next.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum VisitPolicy {
    /// Each in its turn: a ready queue is visited after at most n − 1 other visits, of n queues.
    #[default]
    RoundRobin,
    /// Round-robin, where a queue is visited up to its weight times in a row while it stays ready
    /// (thesis, §5.2.5). One weight from 1 to 65,535 for each queue. A ready queue is visited after at most
    /// as many visits as the other queues' weights add up to.
    Weighted(Arc<[u16]>),
    /// The lowest number first. Queues of high numbers starve while lower ones stay ready.
    Strict,
    /// The lowest number first, but after so many visits one goes to the queue whose turn it is by
    /// round-robin. A ready queue is visited after at most (`strict_for` + 1) × n visits. With 0 it is
    /// round-robin.
    Aged {
        /// Visits by number between two by turn.
        strict_for: u32,
    },
    /// Round-robin by what visits cost: in each round a queue may spend its quantum, in the caller's unit
    /// (bytes, nanoseconds); [`super::Waiter::charge`] tells what a visit cost. What was spent beyond the
    /// quantum is a debt for the next rounds, up to 64 quanta. One quantum of at least 1 for each queue; it
    /// should be no less than what a usual visit costs, or rounds go by without a visit.
    Deficit(Arc<[u32]>),
}

/// The bells as a policy sees them.
pub(super) trait Flags {
    /// The first ready queue from this number on.
    fn find(&mut self, from: u32) -> Option<u32>;

    /// Whether this queue is ready.
    fn has(&mut self, queue: u32) -> bool;

    /// The first ready queue from this number on, or else the first of all.
    fn find_around(&mut self, from: u32) -> Option<u32> {
        self.find(from).or_else(|| if from == 0 { None } else { self.find(0) })
    }
}

/// A policy with its state.
pub(super) struct Order(State);

enum State {
    RoundRobin(RoundRobin),
    Weighted(Weighted),
    Strict(Strict),
    Aged(Aged),
    Deficit(Deficit),
}

impl Order {
    /// The first turn is that of the queue `first`; several consumers begin at different ones.
    pub(super) fn new(policy: &VisitPolicy, first: u32) -> Self {
        Self(match policy {
            VisitPolicy::RoundRobin => State::RoundRobin(RoundRobin::new(first)),
            VisitPolicy::Weighted(weights) => {
                State::Weighted(Weighted::new(weights.clone(), first))
            }
            VisitPolicy::Strict => State::Strict(Strict),
            VisitPolicy::Aged { strict_for } => State::Aged(Aged::new(*strict_for, first)),
            VisitPolicy::Deficit(quanta) => State::Deficit(Deficit::new(quanta.clone(), first)),
        })
    }

    #[inline]
    pub(super) fn choose(&mut self, flags: &mut impl Flags) -> Option<u32> {
        match &mut self.0 {
            State::RoundRobin(order) => order.choose(flags),
            State::Weighted(order) => order.choose(flags),
            State::Strict(order) => order.choose(flags),
            State::Aged(order) => order.choose(flags),
            State::Deficit(order) => order.choose(flags),
        }
    }

    #[inline]
    pub(super) fn served(&mut self, queue: u32) {
        match &mut self.0 {
            State::RoundRobin(order) => order.served(queue),
            State::Weighted(order) => order.served(queue),
            State::Strict(_) => {}
            State::Aged(order) => order.served(queue),
            State::Deficit(order) => order.charge(queue, 1),
        }
    }

    pub(super) fn charge(&mut self, queue: u32, cost: u32) {
        if let State::Deficit(order) = &mut self.0 {
            order.charge(queue, cost);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
