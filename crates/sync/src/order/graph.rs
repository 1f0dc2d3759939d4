//! Which locks were wanted while which were held, of all threads and tasks.

use crate::stats::Stats;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock's identity. Its number comes with its first use, so that locks can be constants.
pub(crate) struct Tag {
    number: AtomicU64,
    stats: Option<&'static Stats>,
}

pub(super) type Named = (u64, &'static str);
/// Edges go when their lock does, so there are no more than pairs of living locks.
type Graph = BTreeMap<u64, BTreeSet<u64>>;

impl Tag {
    pub(crate) const fn new(stats: Option<&'static Stats>) -> Self {
        Self { number: AtomicU64::new(0), stats }
    }

    pub(super) fn named(&self) -> Named {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = self.stats.map_or("(unnamed)", Stats::name);
        // Relaxed: the number is all there is to know, and it never changes once it is set.
        let known = self.number.load(Ordering::Relaxed);
        if known != 0 {
            return (known, name);
        }
        // Relaxed: an addition gives each a number of its own, in whatever order. Of two threads that number
        // the same lock, the exchange lets one win.
        let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
        let set = self.number.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed);
        (set.map_or_else(|known| known, |_| fresh), name)
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        let number = *self.number.get_mut();
        let mut graph = graph();
        if number != 0 && !graph.is_empty() {
            graph.remove(&number);
            graph.values_mut().for_each(|after| {
                after.remove(&number);
            });
        }
    }
}

/// Notes that a lock is wanted by the thread or the task (`whose`) that holds others.
///
/// # Errors
///
/// What to panic with: it is among them, or one of them was wanted elsewhere while it was held.
pub(super) fn note(wanted: Named, held: &[Named], whose: &str) -> Result<(), String> {
    if let Some((_, name)) = held.iter().find(|held| held.0 == wanted.0) {
        return Err(format!("lock `{name}` is wanted again by the {whose} that holds it"));
    }
    let mut graph = graph();
    for &(number, name) in held {
        if reaches(&graph, wanted.0, number) {
            return Err(format!(
                "lock `{}` is wanted while `{name}` is held, and elsewhere `{name}` was wanted \
                 while `{}` was held: two {whose}s can wait for each other; take them in one order",
                wanted.1, wanted.1
            ));
        }
        graph.entry(number).or_default().insert(wanted.0);
    }
    Ok(())
}

fn graph() -> MutexGuard<'static, Graph> {
    static GRAPH: Mutex<Graph> = Mutex::new(Graph::new());
    GRAPH.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reaches(graph: &Graph, from: u64, to: u64) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(number) = open.pop() {
        if number == to {
            return true;
        }
        if seen.insert(number) {
            open.extend(graph.get(&number).into_iter().flatten());
        }
    }
    false
}
