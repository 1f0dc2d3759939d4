//! What is known of one thread, to be looked up by time.

use super::gaps::Void;
use crate::record::{Interruption, ThreadState};
use crate::spans::Lane;

/// What is kept of a thread.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) states: Vec<ThreadState>,
    pub(super) interruptions: Vec<Interruption>,
}

/// The same, to be looked up by time.
pub(super) struct Known {
    pub(super) states: Vec<ThreadState>,
    pub(super) lane: Lane<Option<usize>>,
    /// By start.
    interruptions: Vec<Interruption>,
    /// Of each and all before it the last end: interruptions lie within one another.
    ends: Vec<u64>,
}

impl Known {
    pub(super) fn new(Kept { states, mut interruptions }: Kept, void: &Void) -> Self {
        interruptions.sort_by_key(|one| one.start);
        let until = |until: &mut u64, one: &Interruption| {
            *until = one.end.max(*until);
            Some(*until)
        };
        let ends = interruptions.iter().scan(0, until).collect();
        Self { lane: void.lane(&states), states, interruptions, ends }
    }

    /// The interruptions that touch a time, with their places in the list.
    pub(super) fn interruptions(
        &self,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (usize, &Interruption)> {
        let first = self.ends.partition_point(|end| *end < from);
        let all = self.interruptions.iter().enumerate().skip(first);
        all.take_while(move |(_, one)| one.start < to).filter(move |(_, one)| one.end >= from)
    }
}
