//! `[server.locks]`: what requests do at locks that are taken.

use super::section::Section;
use std::time::Duration;
use tailwater_core::locks::LockPolicy;

/// One rule for all locks of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Locks {
    /// What a request does that finds a lock taken. Default `asqm`.
    pub policy: LockPolicy,
    /// Within this a server shall answer or refuse (Protego §3.3); budgets are what service and network
    /// leave of it, measured ones a quarter of it at least. Default the objective. Above the objective,
    /// requests wait in vain.
    pub target: Option<Duration>,
    /// The queueing-delay budget of every request, as a constant. Default: measured. The paper sets one
    /// for each workload (§5).
    pub budget: Option<Duration>,
    /// Simulator only: what waking its next holder costs, with the lock held already. Default 200 ns,
    /// about a switch of user-level threads; threads of the kernel take 16 to 40 µs, and queue up behind
    /// it.
    pub hand_off: Duration,
}

impl Locks {
    pub(super) fn read(section: &Section<'_>) -> Self {
        if let (Some(_), Some(item)) = (section.item("target"), section.item("budget")) {
            item.problem(format!(
                "{} contradicts {}.target, from which the budget is measured; leave one of them out",
                item.name,
                section.name()
            ));
        }
        let policy = section.item("policy").and_then(|item| item.word());
        let hand_off = section.duration("hand_off");
        Self {
            policy: policy.unwrap_or(LockPolicy::Asqm),
            target: section.duration("target"),
            budget: section.duration("budget"),
            hand_off: hand_off.unwrap_or(Duration::from_nanos(200)),
        }
    }
}
