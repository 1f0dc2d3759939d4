//! `[server.locks]`: what requests do at locks that are taken.

use super::item::Item;
use super::limits;
use super::section::Section;
use std::fmt;
use std::time::Duration;
use tailwater_core::duration::{format_duration, parse_duration};

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

/// What a request does that finds a lock taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockPolicy {
    /// It waits for ever, and on sockets no request has a budget: nothing is measured, deducted or reported.
    /// What budgets cost is the difference to `plain`. In simulation the same as `plain`.
    Off,
    /// It waits for ever.
    Plain,
    /// It is refused.
    Try,
    /// It gives up after so long.
    Timed(Duration),
    /// It is refused if it cannot afford the wait (Protego §3.2), and gives up when its budget ends.
    Asqm,
    /// The same as the paper's text has it: a check on entry, and no giving up.
    AsqmPaper,
    /// The same as the published code has it: an overdrawn budget is refused a free lock too.
    AsqmArtifact,
}

pub(super) const KEYS: &[&str] = &["policy", "target", "budget", "hand_off"];
const NAMES: &[(&str, LockPolicy)] = &[
    ("off", LockPolicy::Off),
    ("plain", LockPolicy::Plain),
    ("try", LockPolicy::Try),
    ("asqm", LockPolicy::Asqm),
    ("asqm:paper", LockPolicy::AsqmPaper),
    ("asqm:artifact", LockPolicy::AsqmArtifact),
];

impl LockPolicy {
    /// Every way to spell one, for people.
    pub const SPELLINGS: &'static str =
        "off, plain, try, timed:50us, asqm, asqm:paper, asqm:artifact";

    /// As scenario files spell it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((_, policy)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Some(*policy);
        }
        let after = parse_duration(text.strip_prefix("timed:")?).ok()?;
        (!after.is_zero() && after <= limits::COST_MAX).then_some(Self::Timed(after))
    }
}

impl fmt::Display for LockPolicy {
    /// As scenario files spell it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, policy)| policy == self) {
            Some((name, _)) => f.write_str(name),
            None => match self {
                Self::Timed(after) => write!(f, "timed:{}", format_duration(*after)),
                _ => f.write_str("asqm"),
            },
        }
    }
}

impl Locks {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let times = Duration::ZERO..=limits::COST_MAX;
        if let (Some(_), Some(item)) = (section.item("target"), section.item("budget")) {
            item.problem(format!(
                "{} contradicts {}.target, from which the budget is measured; leave one of them out",
                item.name,
                section.name()
            ));
        }
        let policy = section.item("policy").and_then(|item| policy(&item));
        let hand_off = section.duration("hand_off", times.clone());
        Self {
            policy: policy.unwrap_or(LockPolicy::Asqm),
            target: section.duration("target", limits::SLO),
            budget: section.duration("budget", times),
            hand_off: hand_off.unwrap_or(Duration::from_nanos(200)),
        }
    }
}

/// A policy as scenario files spell it.
pub(super) fn policy(item: &Item<'_>) -> Option<LockPolicy> {
    let text = item.text()?;
    if let Some(policy) = LockPolicy::parse(text) {
        return Some(policy);
    }
    if text.starts_with("timed:") {
        return item
            .wrong("\"timed:\" with a duration above 0s and up to 1s, such as \"timed:50us\",");
    }
    item.unknown(text, &LockPolicy::SPELLINGS.split(", ").collect::<Vec<_>>())
}
