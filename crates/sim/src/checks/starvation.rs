//! No session starves for ever.

use super::Finding;
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// How long the server has had a core to spare, in all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spare {
    total_ns: u64,
    since: Option<Instant>,
}

impl Spare {
    pub(crate) fn set(&mut self, now: Instant, spare: bool) {
        if spare != self.since.is_some() {
            self.total_ns = self.reading(now);
            self.since = spare.then_some(now);
        }
    }

    pub(crate) fn reading(&self, now: Instant) -> u64 {
        self.total_ns + self.since.map_or(0, |since| now.nanos_since(since))
    }
}

/// Since when a client has been unable to do anything, in the server's spare time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stranded(u64);

impl Default for Stranded {
    fn default() -> Self {
        Self(Self::NOT)
    }
}

impl Stranded {
    const NOT: u64 = u64::MAX;

    /// `is` says whether the client is stranded now.
    pub(crate) fn update(&mut self, is: bool, spare_ns: u64, limit: Option<Duration>) -> Finding {
        let since = self.0;
        match (since == Self::NOT, is) {
            (true, true) => self.0 = spare_ns,
            (false, false) => self.0 = Self::NOT,
            _ => {}
        }
        let limit = limit?;
        let waited_ns = if since == Self::NOT { 0 } else { spare_ns - since };
        (waited_ns > limit.nanos()).then(|| {
            let waited = Duration::from_nanos(waited_ns);
            format!("calls waited without credit through {waited:?} in which a core was idle")
        })
    }
}
