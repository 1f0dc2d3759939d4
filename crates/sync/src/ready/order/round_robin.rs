//! Each queue in its turn (thesis, §5.2.5).

use super::Flags;

pub(super) struct RoundRobin {
    next: u32,
}

impl RoundRobin {
    pub(super) const fn new(first: u32) -> Self {
        Self { next: first }
    }

    #[inline]
    pub(super) fn choose(&self, flags: &mut impl Flags) -> Option<u32> {
        flags.find_around(self.next)
    }

    #[inline]
    pub(super) fn served(&mut self, queue: u32) {
        self.next = queue + 1;
    }
}
