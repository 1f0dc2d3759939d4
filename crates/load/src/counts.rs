//! The server's own counts, as it tells them when asked.

use serde::Deserialize;
use std::collections::BTreeMap;
use tailwater_stats::result::LockReading;

/// What [`tailwater_core::MethodId::INTROSPECT`] answers. Unknown fields are newer than this.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Counts {
    /// Requests received.
    pub received: u64,
    /// Requests answered by a handler.
    pub served: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Frames sent.
    pub frames_out: u64,
    /// Frames that carried nothing but credits.
    pub credit_frames: u64,
    /// Time in turns that found something to do.
    pub busy_ns: u64,
    /// Time in handlers.
    pub handler_ns: u64,
    /// Sheds by reason.
    pub shed: BTreeMap<String, u64>,
    /// The locks that were waited for longest.
    #[serde(default)]
    pub locks: Vec<LockCounts>,
    /// The budgets that requests get now; nothing from a server that gives none.
    #[serde(default)]
    pub budgets: Option<BudgetCounts>,
}

/// What a server's loop, the one that was asked, gives its requests for queueing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
pub struct BudgetCounts {
    /// What a request may queue that arrives now.
    pub budget_ns: u64,
    /// Within this the server shall answer or refuse.
    pub target_ns: u64,
    /// What service takes of it: the 99th percentile; zero before there are 128 samples.
    pub service_p99_ns: u64,
    /// What the network takes of it, likewise.
    pub network_p99_ns: u64,
}

/// A server tells of so many locks at most (`LOCKS_TOLD` in `tailwater-rt`). Who is not in a list that is
/// full may have waited too little to be told.
const LOCKS_TOLD: usize = 32;

/// What a server tells of the locks of one name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
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

impl Counts {
    /// Reads an answer.
    ///
    /// # Errors
    /// When it is not the JSON that a tailwater server sends.
    pub fn parse(answer: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(answer).map_err(|error| format!("the server's counts: {error}"))
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let shed = self.shed.iter().map(|(reason, count)| {
            (reason.clone(), count - earlier.shed.get(reason).copied().unwrap_or(0).min(*count))
        });
        Self {
            received: self.received - earlier.received,
            served: self.served - earlier.served,
            frames_in: self.frames_in - earlier.frames_in,
            frames_out: self.frames_out - earlier.frames_out,
            credit_frames: self.credit_frames - earlier.credit_frames,
            busy_ns: self.busy_ns - earlier.busy_ns,
            handler_ns: self.handler_ns - earlier.handler_ns,
            shed: shed.collect(),
            locks: self.locks.iter().filter_map(|lock| lock.since(&earlier.locks)).collect(),
            budgets: self.budgets,
        }
    }

    /// Sheds of all reasons.
    #[must_use]
    pub fn shed_total(&self) -> u64 {
        self.shed.values().sum()
    }
}

impl LockCounts {
    /// What was counted since; quantiles stay those since the start, which do not subtract. `None`
    /// where `earlier` was full and may have left this lock out.
    fn since(&self, earlier: &[Self]) -> Option<Self> {
        let none = (earlier.len() < LOCKS_TOLD).then(Self::default);
        let before = earlier.iter().find(|lock| lock.name == self.name).or(none.as_ref())?;
        Some(Self {
            contended: self.contended - before.contended.min(self.contended),
            refused: self.refused - before.refused.min(self.refused),
            gave_up: self.gave_up - before.gave_up.min(self.gave_up),
            wait_ns: self.wait_ns - before.wait_ns.min(self.wait_ns),
            ..self.clone()
        })
    }

    /// As results tell it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "times of seconds")]
    pub fn reading(&self) -> LockReading {
        LockReading {
            tier: String::new(),
            lock: self.name.clone(),
            contended: self.contended,
            refused: self.refused,
            gave_up: self.gave_up,
            waited_us: self.wait_ns as f64 / 1e3,
            longest_wait_us: self.wait_max_ns as f64 / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_subtracted_by_name_and_new_locks_count_from_zero() {
        let lock = |name: &str, contended, wait_ns| LockCounts {
            name: name.into(),
            contended,
            wait_ns,
            ..LockCounts::default()
        };
        let counts = |locks| Counts { locks, ..Counts::default() };
        let before = counts(vec![lock("slabs", 10, 1_000)]);
        let after = counts(vec![lock("item", 3, 30), lock("slabs", 15, 9_000)]);
        let found: Vec<_> = after.since(&before).locks.iter().map(LockCounts::reading).collect();
        assert_eq!((found[0].contended, found[1].contended), (3, 5));
        assert!((found[1].waited_us - 8.0).abs() < 1e-9);
    }

    #[test]
    fn a_lock_that_a_full_list_left_out_is_dropped() {
        let lock = |name: String| LockCounts { name, contended: 9, ..LockCounts::default() };
        let counts = |locks| Counts { locks, ..Counts::default() };
        let full = counts((0..LOCKS_TOLD).map(|number| lock(number.to_string())).collect());
        let after = counts(vec![lock("new".into()), lock("0".into())]);
        let found = after.since(&full).locks;
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].name, found[0].contended), ("0", 0));
    }
}
