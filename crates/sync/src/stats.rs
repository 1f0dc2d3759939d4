//! How long one waits at which lock: what to look at to find the lock to convert (Protego, §4).
//!
//! Recorded only where something waited or was refused, so it costs a free lock nothing. That is also
//! why acquisitions as such are not counted. Locks of one name share one entry; entries live as long
//! as the process, so names are for kinds of locks, not for each object.

mod hist;

use hist::Hist;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What is known about the locks of one name, since the process started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockStats {
    /// As given when it was made.
    pub name: &'static str,
    /// Waits in the queue, whether they ended with the lock or not.
    pub contended: u64,
    /// Refused on entry, without waiting.
    pub refused: u64,
    /// Waits that ended without the lock, because the budget did.
    pub gave_up: u64,
    /// All waits together.
    pub wait_total: Duration,
    /// Half of the waits were at most so long, to within 1/8.
    pub wait_p50: Duration,
    /// 99 % of the waits were at most so long, to within 1/8.
    pub wait_p99: Duration,
    /// The longest wait.
    pub wait_max: Duration,
}

/// Every named lock, the one that was waited for longest (in total) first; of equals, by name.
#[must_use]
pub fn report() -> Vec<LockStats> {
    report_top(usize::MAX)
}

/// The first `most` locks of [`report`], for programs with many names and little time: of the others one
/// number each is looked at. Locks go on to be made and waited for meanwhile.
#[must_use]
pub fn report_top(most: usize) -> Vec<LockStats> {
    // A copy of references, so that whoever makes a named lock waits for no more than that.
    let all = registry().clone();
    let mut ranked: Vec<_> = all.into_iter().map(|stats| (stats.waits.total_ns(), stats)).collect();
    let by_wait = |a: &(u64, &Stats), b: &(u64, &Stats)| b.0.cmp(&a.0).then(a.1.name.cmp(b.1.name));
    if most < ranked.len() {
        ranked.select_nth_unstable_by(most, by_wait);
        ranked.truncate(most);
    }
    let mut top: Vec<LockStats> = ranked.into_iter().map(|(_, stats)| stats.read()).collect();
    // By what is told, which others' waits may have changed since it was ranked.
    top.sort_by(|a, b| b.wait_total.cmp(&a.wait_total).then(a.name.cmp(b.name)));
    top
}

/// What the locks of one name write to.
pub(crate) struct Stats {
    name: &'static str,
    refused: AtomicU64,
    gave_up: AtomicU64,
    waits: Hist,
}

impl Stats {
    /// The entry of that name. Lives for ever: there are as many as names.
    pub(crate) fn named(name: &str) -> &'static Self {
        let mut all = registry();
        if let Some(known) = all.iter().find(|stats| stats.name == name) {
            return known;
        }
        let stats: &'static Self = Box::leak(Box::new(Self {
            name: Box::leak(name.to_owned().into_boxed_str()),
            refused: AtomicU64::new(0),
            gave_up: AtomicU64::new(0),
            waits: Hist::new(),
        }));
        all.push(stats);
        stats
    }

    /// For debug builds, which name the locks of a deadlock.
    #[cfg(all(debug_assertions, not(loom)))]
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn refused(&self) {
        // Relaxed: a count, read for display alone.
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn waited(&self, waited_ns: u64, acquired: bool) {
        self.waits.record(waited_ns);
        if !acquired {
            // Relaxed: a count, read for display alone.
            self.gave_up.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self) -> LockStats {
        let waits = self.waits.read();
        LockStats {
            name: self.name,
            contended: waits.count,
            // Relaxed: a wait that ends meanwhile may be in one count and not yet in the next.
            refused: self.refused.load(Ordering::Relaxed),
            gave_up: self.gave_up.load(Ordering::Relaxed),
            wait_total: Duration::from_nanos(waits.total_ns),
            wait_p50: Duration::from_nanos(waits.quantile_ns(50)),
            wait_p99: Duration::from_nanos(waits.quantile_ns(99)),
            wait_max: Duration::from_nanos(waits.max_ns),
        }
    }
}

fn registry() -> std::sync::MutexGuard<'static, Vec<&'static Stats>> {
    static ALL: Mutex<Vec<&'static Stats>> = Mutex::new(Vec::new());
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}
