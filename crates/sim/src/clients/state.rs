//! One client: its control, its connection, and what it is held to.

use crate::checks::Finding;
use crate::checks::honest::Conduct;
use crate::checks::starvation::Stranded;
use crate::space::{Event, Space};
use std::time::Duration;
use tailwater_control::Client;
use tailwater_core::Instant;
use tailwater_workload::scenario::Claim;

pub(super) struct State {
    pub(super) client: Client,
    pub(super) conduct: Conduct,
    /// The next [`Event::ClientDue`] in the calendar that is to be heeded.
    pub(super) armed: Instant,
    pub(super) last_served: Instant,
    pub(super) longest_gap_ns: u64,
    stranded: Stranded,
    /// Numbers its connections; what comes over an earlier one is not for it.
    pub(super) connection: u16,
    pub(super) link: Link,
    /// How often it has tried to connect in vain.
    pub(super) attempts: u8,
    pub(super) claim: Option<Claim>,
    /// It has lied, and the server may believe it still.
    pub(super) lied: bool,
    pub(super) floods: bool,
    /// It has flooded, and is held to no rule any more.
    pub(super) rogue: bool,
}

/// A client's connection to the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Link {
    Up,
    /// Lost; it will connect again.
    Down,
    /// The client itself is gone.
    Crashed,
}

impl State {
    pub(super) const UNREAL_DEMAND: u32 = u32::MAX;

    /// A connected client that may send `first` requests.
    pub(super) fn new(client: Client, first: u32) -> Self {
        Self {
            client,
            conduct: Conduct::new(first),
            armed: Instant::FAR_FUTURE,
            last_served: Instant::ZERO,
            longest_gap_ns: 0,
            stranded: Stranded::default(),
            connection: 0,
            link: Link::Up,
            attempts: 0,
            claim: None,
            lied: false,
            floods: false,
            rogue: false,
        }
    }

    /// What it says when its demand is `real`.
    pub(super) const fn claimed(&self, real: u32) -> u32 {
        match self.claim {
            None => real,
            Some(Claim::Nothing) => 0,
            Some(Claim::Everything) => Self::UNREAL_DEMAND,
        }
    }

    /// Who lies about its demand, or floods, has only itself to blame.
    pub(super) fn check_starvation(&mut self, spare_ns: u64, limit: Option<Duration>) -> Finding {
        let innocent = !self.rogue && !self.lied;
        let idle = self.client.outstanding() == 0 && self.client.queued() > 0;
        let is = innocent && idle && self.link == Link::Up;
        self.stranded.update(is, spare_ns, limit.filter(|_| innocent))
    }

    /// Makes sure to be driven at `deadline`.
    pub(super) fn arm(&mut self, now: Instant, deadline: Instant, index: u32, space: &mut Space) {
        if deadline < self.armed {
            // At least a nanosecond ahead, or a deadline that has come would stop the clock.
            self.armed = deadline.max(now + Duration::from_nanos(1));
            space.calendar.at(self.armed, Event::ClientDue(index));
        }
    }

    pub(super) fn served(&mut self, now: Instant) {
        let gap_ns = now.nanos_since(self.last_served);
        self.longest_gap_ns = self.longest_gap_ns.max(gap_ns);
        self.last_served = now;
    }
}
