//! Deficit round-robin (Shreedhar and Varghese, SIGCOMM '95), charged after the visit: the cost of a visit
//! is not known before it, so a queue may overdraw and pays in the rounds that follow.

use super::Flags;
use std::sync::Arc;

/// A debt beyond so many quanta is forgiven, so that a choice looks at each ready queue at most so often.
const ROUNDS_MAX: i64 = 64;

pub(super) struct Deficit {
    quanta: Arc<[u32]>,
    /// What each queue may still spend. Only the current one's is above zero.
    credit: Box<[i64]>,
    current: u32,
    /// Where the next turn is looked for.
    next: u32,
}

impl Deficit {
    pub(super) fn new(quanta: Arc<[u32]>, first: u32) -> Self {
        let credit = vec![0; quanta.len()].into_boxed_slice();
        Self { quanta, credit, current: first, next: first }
    }

    pub(super) fn choose(&mut self, flags: &mut impl Flags) -> Option<u32> {
        let credit = &mut self.credit[self.current as usize];
        if *credit > 0 {
            if flags.has(self.current) {
                return Some(self.current);
            }
            // An idle queue saves nothing up.
            *credit = 0;
        }
        loop {
            let queue = flags.find_around(self.next)?;
            (self.current, self.next) = (queue, queue + 1);
            let credit = &mut self.credit[queue as usize];
            *credit += i64::from(self.quanta[queue as usize]);
            if *credit > 0 {
                return Some(queue);
            }
        }
    }

    pub(super) fn charge(&mut self, queue: u32, cost: u32) {
        let (credit, quantum) = (&mut self.credit[queue as usize], self.quanta[queue as usize]);
        *credit = (*credit - i64::from(cost)).max(-ROUNDS_MAX * i64::from(quantum));
    }
}
