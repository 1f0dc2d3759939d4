//! One node as its caller sees it: a connection to each replica, and the choice among them.
//!
//! As in the runtime, calls go first where the caller has the fewest, and what one replica refuses is tried at another.
//! What waits for one that is lost goes to another, too.
//! A second try of a call that is late runs beside the first; whichever is served first counts. The other is taken back
//! if it was not sent, and else runs to its end for nobody.

use crate::endpoint::{ConnectionState, Endpoint};
use crate::space::Request;
use std::time::Duration;
use tailwater_control::retry::{Failure, HedgeCounts, Tries};
use tailwater_control::{Outcome, Reason, Replicas, Reply};
use tailwater_core::Instant;

/// See the module.
pub(super) struct Shard {
    /// Indices of the connections, by replica.
    ends: Vec<usize>,
    fresh: Replicas,
    choice: Replicas,
    /// Second tries of processes that have died.
    past: HedgeCounts,
}

/// How a call ended at one replica.
#[derive(Clone, Copy)]
pub(super) enum Ended {
    Answered(Outcome),
    Unsent(Reason),
    /// It is unknown whether it was carried out, and its caller answers as one that cannot serve.
    Lost,
}

impl Ended {
    pub(super) const fn outcome(self) -> Outcome {
        match self {
            Self::Answered(outcome) => outcome,
            Self::Unsent(reason) => Outcome::Shed(reason),
            Self::Lost => Outcome::Shed(Reason::Unavailable),
        }
    }

    /// `None`: it was served.
    pub(super) const fn failure(self) -> Option<Failure> {
        match self {
            Self::Answered(Outcome::Shed(reason)) => Some(Failure::refused(reason)),
            Self::Answered(Outcome::Served) => None,
            Self::Unsent(_) => Some(Failure::Unsent),
            Self::Lost => Some(Failure::Lost),
        }
    }
}

impl Shard {
    pub(super) fn new(fresh: Replicas) -> Self {
        let choice = fresh.clone();
        Self { ends: Vec::new(), fresh, choice, past: HedgeCounts::default() }
    }

    /// A connection to the next replica.
    pub(super) fn add(&mut self, end: usize) {
        self.ends.push(end);
    }

    /// The replica that a connection leads to; `None` for one of another shard.
    pub(super) fn replica_of(&self, end: usize) -> Option<usize> {
        self.ends.iter().position(|&own| own == end)
    }

    /// Replicas so far.
    pub(super) const fn replicas(&self) -> usize {
        self.ends.len()
    }

    /// Whether the connection to some replica stands.
    pub(super) fn stands(&self, all: &[Endpoint]) -> bool {
        self.ends.iter().any(|&end| all[end].state() == ConnectionState::Up)
    }

    /// The connection over which a new call goes.
    pub(super) fn first(&mut self, now: Instant, all: &[Endpoint]) -> (usize, Tries) {
        self.look(all);
        let ends = &self.ends;
        let (replica, tries) = self.choice.first(|replica| all[ends[replica]].load(now));
        (ends[replica], tries)
    }

    /// After how long a new call is late, where there are second tries.
    pub(super) fn late_after(&mut self) -> Option<Duration> {
        if self.choice.hedges() { self.choice.hedge_after() } else { None }
    }

    /// Where a call goes whose try has failed over this connection.
    pub(super) fn next(
        &mut self,
        now: Instant,
        request: &Request,
        (end, failure): (usize, Failure),
        all: &[Endpoint],
    ) -> Option<(usize, Tries)> {
        self.look(all);
        let here = self.replica_of(end)?;
        let (ends, mut tries) = (&self.ends, request.tries);
        let load = |replica: usize| all[ends[replica]].load(now);
        let next =
            self.choice.next(now, deadline(request), &mut tries, (here, failure), load).ok()?;
        Some((ends[next], tries))
    }

    /// Where a call that is late is tried besides.
    pub(super) fn hedge(
        &mut self,
        now: Instant,
        request: &Request,
        all: &[Endpoint],
    ) -> Option<(usize, Tries)> {
        self.look(all);
        let (ends, mut tries) = (&self.ends, request.tries);
        let load = |replica: usize| all[ends[replica]].load(now);
        let replica = self.choice.hedge(now, deadline(request), &mut tries, load)?;
        Some((ends[replica], tries))
    }

    /// An answer or reject came over a connection.
    pub(super) fn on_reply(&mut self, end: usize, reply: &Reply) {
        if let Some(replica) = self.replica_of(end) {
            self.choice.on_reply(replica, reply);
        }
    }

    /// A call was served so long after it began; by its second try, while the first was out, or not.
    pub(super) fn on_served(&mut self, took: Duration, by_second: bool) {
        if by_second {
            self.choice.on_hedge_won();
        }
        if self.choice.hedges() {
            self.choice.on_hedgeable_end(took);
        }
    }

    /// The caller's process dies with what it knew.
    pub(super) fn forget(&mut self) {
        self.past = self.hedges();
        self.choice = self.fresh.clone();
    }

    /// Second tries so far.
    pub(super) fn hedges(&self) -> HedgeCounts {
        self.past + self.choice.hedge_counts()
    }

    fn look(&mut self, all: &[Endpoint]) {
        for (replica, &end) in self.ends.iter().enumerate() {
            self.choice.set_up(replica, all[end].state() == ConnectionState::Up);
        }
    }
}

fn deadline(request: &Request) -> Option<Instant> {
    Some(request.deadline).filter(|at| *at != Instant::FAR_FUTURE)
}
