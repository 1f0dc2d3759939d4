//! The paths through a node, and the rules of its locks.

use std::time::Duration;
use tailwater_control::asqm::Policy;
use tailwater_workload::Ways;
use tailwater_workload::scenario::{Locks, Path, Wake};

/// The paths through a node and the rules of its locks.
#[derive(Clone, PartialEq, Debug)]
pub struct Paths {
    /// What a request does at a taken lock.
    pub policy: Policy,
    /// Within this the node shall answer or refuse; budgets are measured from it.
    pub target: Duration,
    /// The budget of every request where it is not to be measured.
    pub budget: Option<Duration>,
    /// What waking the next holder of a lock costs it.
    pub hand_off: Duration,
    /// Where a request goes that was handed a lock.
    pub wake: Wake,
    /// What requests do.
    pub ways: Ways,
}

impl Paths {
    /// Those of a node whose requests walk none.
    pub(crate) fn none() -> Self {
        Self {
            policy: Policy::Plain,
            target: Duration::ZERO,
            budget: None,
            hand_off: Duration::ZERO,
            wake: Wake::Front,
            ways: Ways::default(),
        }
    }

    /// Checked paths of a scenario, for a node that shall answer within `target` where `locks` says
    /// nothing else.
    #[must_use]
    pub fn new(paths: &[Path], locks: &Locks, target: Duration) -> Self {
        Self {
            policy: Policy::of(locks.policy).unwrap_or_default(),
            target: locks.target.unwrap_or(target),
            budget: locks.budget,
            hand_off: locks.hand_off,
            wake: Wake::Front,
            ways: Ways::new(paths),
        }
    }
}
