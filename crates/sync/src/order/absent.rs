//! The empty twins of what follows locks in debug builds.

use crate::stats::Stats;
use std::task::Waker;

#[derive(Clone, Copy)]
pub(crate) struct Tag;

#[expect(clippy::unused_self, reason = "the empty twin")]
impl Tag {
    pub(crate) const fn new(_stats: Option<&'static Stats>) -> Self {
        Self
    }
    #[inline]
    pub(crate) const fn before_wait(&self) {}
    #[inline]
    pub(crate) const fn acquired(&self) {}
    #[inline]
    pub(crate) const fn released(&self) {}
}

/// A guard's part in its task's ledger.
pub(crate) struct Held;

#[expect(clippy::unused_self, reason = "the empty twin")]
impl Held {
    #[inline]
    pub(crate) const fn by_present_task(_tag: &Tag) -> Self {
        Self
    }
    #[inline]
    pub(crate) const fn end(&mut self) {}
}

/// A waiter's part in its task's ledger.
pub(crate) struct Wait;

#[expect(clippy::unused_self, reason = "the empty twin")]
impl Wait {
    pub(crate) const NONE: Self = Self;

    #[inline]
    pub(crate) const fn begins(_tag: &Tag, _waker: &Waker, _clones: usize) -> Self {
        Self
    }
    #[inline]
    pub(crate) const fn goes_on(&mut self, _waker: &Waker) {}
}

#[derive(Debug, Default)]
pub(crate) struct Watched;

#[expect(clippy::unused_self, reason = "the empty twin")]
impl Watched {
    #[inline]
    pub(crate) const fn enter(&self, _waker: &Waker) -> Present {
        Present
    }
    #[inline]
    pub(crate) fn waits_in_vain(&self, _clones: impl FnOnce() -> Option<usize>) -> bool {
        false
    }
}

#[derive(Debug)]
pub(crate) struct Present;

#[inline]
pub(crate) const fn outside() -> Present {
    Present
}
