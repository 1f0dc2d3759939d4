//! What a server tells of itself when it is asked ([`tailwater_core::MethodId::INTROSPECT`]): one JSON
//! object, written and read by these types.

use crate::counters::Totals;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Locks that are told of at most; the rest was waited for less.
pub const LOCKS_TOLD: usize = 32;

/// A server's counts. Fields that are not known were written by a newer server.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Over all loops, since the start.
    #[serde(flatten)]
    pub totals: Totals,
    /// Credits that the controller would give out.
    #[serde(default)]
    pub pool: u64,
    /// Credits that sessions hold.
    #[serde(default)]
    pub issued: u64,
    /// Registered clients.
    #[serde(default)]
    pub sessions: u64,
    /// The queueing delay that the controller acts on.
    #[serde(default)]
    pub delay_ns: u64,
    /// Round trips as the controller knows them.
    #[serde(default)]
    pub rtt_ns: u64,
    /// The budgets that requests get now; nothing from a server that gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budgets: Option<BudgetCounts>,
    /// The locks that were waited for longest, at most [`LOCKS_TOLD`].
    #[serde(default)]
    pub locks: Vec<LockCounts>,
    /// The tiers that handlers call, as they were configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCounts>,
}

/// What a server tells of a tier that its handlers call.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TierCounts {
    /// Its name.
    pub name: String,
    /// Calls that were sent to a second replica since they were late.
    #[serde(default)]
    pub hedged: u64,
    /// Of these, those that the second answered while the first was still out. One whose first had failed is not among
    /// them.
    #[serde(default)]
    pub hedges_won: u64,
    /// Calls that were late while the budget was spent.
    #[serde(default)]
    pub hedges_over_budget: u64,
}

/// What a server's loop, the one that was asked, gives its requests for queueing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BudgetCounts {
    /// What a request may queue that arrives now.
    pub budget_ns: u64,
    /// Within this the server shall answer or refuse.
    pub target_ns: u64,
    /// What service takes of it: the 99th percentile; zero before there are 128 samples.
    pub service_p99_ns: u64,
    /// What the network takes of it: the 99th percentile of a typical connection, likewise. Less of connections with
    /// fewer than 69 readings.
    pub network_p99_ns: u64,
}

/// What a server tells of the locks of one name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LockCounts {
    /// Its name.
    pub name: String,
    /// Waits in the queue, however they ended.
    pub contended: u64,
    /// Refused on entry.
    pub refused: u64,
    /// Waits that ended without the lock.
    pub gave_up: u64,
    /// All waits together.
    pub wait_ns: u64,
    /// The median wait since the server started.
    pub wait_p50_ns: u64,
    /// The 99th percentile of waits since the server started.
    pub wait_p99_ns: u64,
    /// The longest wait since the server started.
    pub wait_max_ns: u64,
}

/// An answer that holds no counts: what sent it is no tailwater server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountsError(String);

impl fmt::Display for CountsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server's counts: {}", self.0)
    }
}

impl std::error::Error for CountsError {}

impl Counts {
    /// Reads an answer.
    ///
    /// # Errors
    /// When it is not the JSON that a tailwater server sends.
    pub fn parse(answer: &[u8]) -> Result<Self, CountsError> {
        serde_json::from_slice(answer).map_err(|error| CountsError(error.to_string()))
    }

    /// What was counted here and by another replica. Budgets are this one's.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut locks = self.locks.clone();
        for lock in &other.locks {
            match locks.iter_mut().find(|known| known.name == lock.name) {
                Some(known) => known.add(lock),
                None => locks.push(lock.clone()),
            }
        }
        let mut tiers = self.tiers.clone();
        for tier in &other.tiers {
            match tiers.iter_mut().find(|known| known.name == tier.name) {
                Some(known) => known.add(tier),
                None => tiers.push(tier.clone()),
            }
        }
        Self {
            totals: self.totals.and(&other.totals),
            pool: self.pool + other.pool,
            issued: self.issued + other.issued,
            sessions: self.sessions + other.sessions,
            delay_ns: self.delay_ns.max(other.delay_ns),
            rtt_ns: self.rtt_ns.max(other.rtt_ns),
            budgets: self.budgets,
            locks,
            tiers,
        }
    }

    /// What was counted since `earlier`. Gauges and budgets stay as they are.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            totals: self.totals.since(&earlier.totals),
            locks: self.locks.iter().filter_map(|lock| lock.since(&earlier.locks)).collect(),
            tiers: self.tiers.iter().map(|tier| tier.since(&earlier.tiers)).collect(),
            ..self.clone()
        }
    }
}

impl LockCounts {
    /// Those of another replica. Its quantiles do not add up: the larger ones are told.
    fn add(&mut self, other: &Self) {
        self.contended += other.contended;
        self.refused += other.refused;
        self.gave_up += other.gave_up;
        self.wait_ns += other.wait_ns;
        self.wait_p50_ns = self.wait_p50_ns.max(other.wait_p50_ns);
        self.wait_p99_ns = self.wait_p99_ns.max(other.wait_p99_ns);
        self.wait_max_ns = self.wait_max_ns.max(other.wait_max_ns);
    }

    /// What was counted since; quantiles stay those since the start, which do not subtract. `None`
    /// where `earlier` was full and may have left this lock out.
    fn since(&self, earlier: &[Self]) -> Option<Self> {
        let none = (earlier.len() < LOCKS_TOLD).then(Self::default);
        let before = earlier.iter().find(|lock| lock.name == self.name).or(none.as_ref())?;
        Some(Self {
            contended: self.contended.saturating_sub(before.contended),
            refused: self.refused.saturating_sub(before.refused),
            gave_up: self.gave_up.saturating_sub(before.gave_up),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
            ..self.clone()
        })
    }
}

impl TierCounts {
    const fn add(&mut self, other: &Self) {
        self.hedged += other.hedged;
        self.hedges_won += other.hedges_won;
        self.hedges_over_budget += other.hedges_over_budget;
    }

    /// What was counted since.
    fn since(&self, earlier: &[Self]) -> Self {
        let before =
            earlier.iter().find(|tier| tier.name == self.name).cloned().unwrap_or_default();
        Self {
            name: self.name.clone(),
            hedged: self.hedged.saturating_sub(before.hedged),
            hedges_won: self.hedges_won.saturating_sub(before.hedges_won),
            hedges_over_budget: self.hedges_over_budget.saturating_sub(before.hedges_over_budget),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use tailwater_control::Reason;

    fn lock(name: impl Into<String>, contended: u64, wait_ns: u64) -> LockCounts {
        LockCounts { name: name.into(), contended, wait_ns, ..LockCounts::default() }
    }

    #[test]
    fn an_answer_is_read_as_it_was_written_whatever_a_lock_is_called() {
        let mut totals = Totals { received: 6, served: 4, ..Totals::default() };
        totals.count_shed(Reason::Deadline);
        let locks = vec![lock("a \"b\" \\ \n ü", 1, 2)];
        let budgets = Some(BudgetCounts { budget_ns: 7, ..BudgetCounts::default() });
        let counts = Counts { totals, pool: 9, budgets, locks, ..Counts::default() };
        let json = serde_json::to_string(&counts).unwrap();
        assert!(json.contains("\"received\":6,"), "{json}");
        assert!(json.contains("\"deadline\":1"), "{json}");
        assert_eq!(Counts::parse(json.as_bytes()), Ok(counts));
    }

    #[test]
    fn replicas_add_up_lock_by_lock_and_tier_by_tier() {
        let tier =
            |name: &str, hedged| TierCounts { name: name.into(), hedged, ..TierCounts::default() };
        let one = Counts {
            totals: Totals { received: 3, ..Totals::default() },
            delay_ns: 7,
            locks: vec![lock("a", 1, 10)],
            tiers: vec![tier("leaf", 2)],
            ..Counts::default()
        };
        let other = Counts {
            totals: Totals { received: 4, ..Totals::default() },
            delay_ns: 5,
            locks: vec![lock("a", 2, 20), lock("b", 5, 1)],
            tiers: vec![tier("leaf", 1), tier("store", 6)],
            ..Counts::default()
        };
        let both = one.and(&other);
        assert_eq!((both.totals.received, both.delay_ns), (7, 7));
        assert_eq!(both.locks, [lock("a", 3, 30), lock("b", 5, 1)]);
        assert_eq!(both.tiers, [tier("leaf", 3), tier("store", 6)]);
    }

    #[test]
    fn an_older_server_without_gauges_and_a_newer_one_with_more_are_understood() {
        let read = |json: &str| Counts::parse(json.as_bytes());
        assert_eq!(read("{}"), Ok(Counts::default()));
        let newer = "{\"received\":3,\"moons\":1,\"shed\":{\"delay\":2,\"eclipse\":5}}";
        let counts = read(newer).unwrap();
        assert_eq!((counts.totals.received, counts.totals.shed_total()), (3, 2));
        assert!(read("[]").is_err());
    }

    #[test]
    fn waits_are_subtracted_by_name_and_new_locks_count_from_zero() {
        let counts = |locks| Counts { locks, ..Counts::default() };
        let before = counts(vec![lock("slabs", 10, 1_000)]);
        let after = counts(vec![lock("item", 3, 30), lock("slabs", 15, 9_000)]);
        let found = after.since(&before).locks;
        assert_eq!((found[0].contended, found[1].contended), (3, 5));
        assert_eq!(found[1].wait_ns, 8_000);
    }

    #[test]
    fn second_tries_are_subtracted_by_tier() {
        let tier = |hedged| TierCounts { name: "leaf".into(), hedged, ..TierCounts::default() };
        let counts = |hedged| Counts { tiers: vec![tier(hedged)], ..Counts::default() };
        assert_eq!(counts(9).since(&counts(4)).tiers, [tier(5)]);
        assert_eq!(counts(9).since(&Counts::default()).tiers, [tier(9)]);
    }

    #[test]
    fn a_lock_that_a_full_list_left_out_is_dropped() {
        let counts = |locks| Counts { locks, ..Counts::default() };
        let full = counts((0..LOCKS_TOLD).map(|number| lock(number.to_string(), 9, 0)).collect());
        let after = counts(vec![lock("new", 9, 0), lock("0", 9, 0)]);
        let found = after.since(&full).locks;
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].name, found[0].contended), ("0", 0));
    }
}
