//! Active synchronization queue management: the arithmetic of locks that know how long a request may
//! wait (Protego, NSDI '23, §3.2).
//!
//! A request gets a [`Budget`] of queueing delay when it arrives. Before it queues for a lock it asks
//! [`Policy::enter`], with how long the oldest waiter has waited; what it waited itself it deducts.
//! [`Estimator`] says how large a budget is. The simulator and real locks run the same code; nothing
//! here waits, and nothing here knows a clock.

mod estimate;
mod network;
mod quantile;

pub use estimate::Estimator;
pub use quantile::Quantile;

use std::time::Duration;
use tailwater_core::Nanos;
use tailwater_core::locks::LockPolicy;

/// How long a request may still wait in queues of its server.
///
/// Kept as what was given and what was spent, so that it can be overdrawn but never negative: whoever
/// waited too long has nothing left, and [`Budget::is_overdrawn`] knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    total_ns: u64,
    waited_ns: u64,
}

impl Budget {
    /// A budget of so much queueing delay.
    #[must_use]
    pub fn new(total: Duration) -> Self {
        Self { total_ns: total.nanos(), waited_ns: 0 }
    }

    /// Target delay − 99th percentile of service − 99th percentile of the network (§3.2), or nothing
    /// where these leave nothing. `service` must not include waiting for locks: contention would
    /// otherwise shrink the budgets that are meant to bound it.
    #[must_use]
    pub fn of_target(target: Duration, service_p99: Duration, network_p99: Duration) -> Self {
        Self::new(target.saturating_sub(service_p99).saturating_sub(network_p99))
    }

    /// Takes off what was waited: in the run queue, or for a lock. Waiting for another server is no
    /// queueing here and is not deducted.
    pub fn deduct(&mut self, waited: Duration) {
        self.waited_ns = self.waited_ns.saturating_add(waited.nanos());
    }

    /// What may still be waited.
    #[must_use]
    pub const fn left(&self) -> Duration {
        Duration::from_nanos(self.total_ns.saturating_sub(self.waited_ns))
    }

    /// All that was deducted.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns)
    }

    /// More was waited than was given.
    #[must_use]
    pub const fn is_overdrawn(&self) -> bool {
        self.waited_ns > self.total_ns
    }
}

/// What a request does that wants a lock. One for all locks of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// It waits for ever, as for an ordinary mutex.
    #[default]
    Plain,
    /// It is refused if the lock is taken. Fails requests at the first contention, low load included
    /// (§2.2).
    Try,
    /// It gives up after so long in the queue, whatever stands before it. Waits the whole time in
    /// vain under severe contention (§2.2).
    Timed(Duration),
    /// It spends its budget.
    Asqm(Asqm),
}

/// Where implementations of §3.2 differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asqm {
    /// A waiter gives up when its budget ends in the queue. Without it the check on entry is all:
    /// the age of the oldest waiter is a guess, and who was let in waits for as long as it takes.
    pub give_up: bool,
    /// A lock that nobody holds is refused to a request that has overdrawn its budget.
    pub refuse_overdrawn: bool,
}

impl Asqm {
    /// The text of §3.2: a check on entry, against the oldest waiter.
    pub const PAPER: Self = Self { give_up: false, refuse_overdrawn: false };
    /// The authors' published code, which refuses an uncontended lock too.
    pub const ARTIFACT: Self = Self { give_up: false, refuse_overdrawn: true };
    /// Ours: no request waits beyond its budget, and what is free is never refused: the work that was
    /// done so far is worth more than the nothing that a free lock costs.
    pub const DEFAULT: Self = Self { give_up: true, refuse_overdrawn: false };
}

/// A lock as a request finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// No request holds it.
    Free,
    /// It must be waited for.
    Taken {
        /// How long the oldest waiting request has waited; zero where none waits.
        oldest_wait: Duration,
    },
}

/// What to do at a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Take it.
    Take,
    /// Queue behind those who wait.
    Join {
        /// Leave the queue unserved after so long; `None` to wait for ever.
        give_up_after: Option<Duration>,
    },
    /// Go away at once: answer with [`crate::Reason::Lock`], having released everything.
    Refuse,
}

impl Policy {
    /// The law behind a word; none where requests are to have no budgets at all.
    #[must_use]
    pub const fn of(said: LockPolicy) -> Option<Self> {
        Some(match said {
            LockPolicy::Off => return None,
            LockPolicy::Plain => Self::Plain,
            LockPolicy::Try => Self::Try,
            LockPolicy::Timed(after) => Self::Timed(after),
            LockPolicy::Asqm => Self::Asqm(Asqm::DEFAULT),
            LockPolicy::AsqmPaper => Self::Asqm(Asqm::PAPER),
            LockPolicy::AsqmArtifact => Self::Asqm(Asqm::ARTIFACT),
        })
    }

    /// What a request with this budget does about a lock. `None` is work that must not be refused:
    /// outside of any request, or cleaning up behind one (§4); it always waits.
    #[must_use]
    pub fn enter(&self, budget: Option<&Budget>, found: Found) -> Entry {
        // What must not be refused must not give up either (§4).
        const FOR_EVER: Entry = Entry::Join { give_up_after: None };
        match (found, budget) {
            (Found::Free, Some(budget)) => self.enter_free(budget),
            (Found::Free, None) => Entry::Take,
            (Found::Taken { .. }, None) => FOR_EVER,
            (Found::Taken { oldest_wait }, Some(budget)) => match *self {
                Self::Plain => FOR_EVER,
                Self::Try => Entry::Refuse,
                Self::Timed(after) => Entry::Join { give_up_after: Some(after) },
                Self::Asqm(asqm) => asqm.enter_taken(budget, oldest_wait),
            },
        }
    }

    /// The only place where a free lock looks at a budget, and only where the profile wants it.
    const fn enter_free(&self, budget: &Budget) -> Entry {
        match self {
            Self::Asqm(Asqm { refuse_overdrawn: true, .. }) if budget.is_overdrawn() => {
                Entry::Refuse
            }
            _ => Entry::Take,
        }
    }
}

impl Asqm {
    fn enter_taken(&self, budget: &Budget, oldest_wait: Duration) -> Entry {
        let left = budget.left();
        let spent = if self.give_up {
            // It could only join to give up at once.
            left.is_zero()
        } else {
            self.refuse_overdrawn && budget.is_overdrawn()
        };
        if spent || oldest_wait > left {
            return Entry::Refuse;
        }
        Entry::Join { give_up_after: self.give_up.then_some(left) }
    }
}

#[cfg(test)]
mod tests;
