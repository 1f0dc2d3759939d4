//! The lowest number first, for ever or with a turn for the others in between.

use super::Flags;
use super::round_robin::RoundRobin;

pub(super) struct Strict;

impl Strict {
    pub(super) fn choose(&self, flags: &mut impl Flags) -> Option<u32> {
        flags.find(0)
    }
}

pub(super) struct Aged {
    strict_for: u32,
    /// Visits by number since the last by turn.
    by_number: u32,
    turn: RoundRobin,
}

impl Aged {
    pub(super) const fn new(strict_for: u32, first: u32) -> Self {
        Self { strict_for, by_number: 0, turn: RoundRobin::new(first) }
    }

    pub(super) fn choose(&self, flags: &mut impl Flags) -> Option<u32> {
        if self.by_number < self.strict_for { flags.find(0) } else { self.turn.choose(flags) }
    }

    pub(super) fn served(&mut self, queue: u32) {
        if self.by_number < self.strict_for {
            self.by_number += 1;
        } else {
            self.by_number = 0;
            self.turn.served(queue);
        }
    }
}
