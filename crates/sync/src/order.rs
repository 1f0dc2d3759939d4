//! Finds, in debug builds, locks that a thread takes twice or in two orders.
//!
//! Each blocking acquisition checks what the thread holds and notes "A was held when B was wanted". A
//! second order, even without a deadlock this time, panics with the names of both. In release builds
//! nothing of this exists. Locks of tasks are not followed: a task has no thread.

use crate::stats::Stats;

#[cfg(not(all(debug_assertions, not(loom))))]
#[derive(Clone, Copy)]
pub(crate) struct Tag;

#[cfg(not(all(debug_assertions, not(loom))))]
#[expect(clippy::unused_self, reason = "the empty twin of the one below")]
impl Tag {
    pub(crate) const fn new(_stats: Option<&'static Stats>) -> Self {
        Self
    }
    #[inline]
    pub(crate) const fn before_wait(&self) {}
    #[inline]
    pub(crate) const fn acquired(&self) {}
    #[inline]
    pub(crate) const fn released(&self) {}
}

#[cfg(all(debug_assertions, not(loom)))]
pub(crate) use followed::Tag;

#[cfg(all(debug_assertions, not(loom)))]
mod followed {
    use super::Stats;
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A lock's identity. Its number comes with its first use, so that locks can be constants.
    pub(crate) struct Tag {
        number: AtomicU64,
        stats: Option<&'static Stats>,
    }

    type Named = (u64, &'static str);
    /// Which locks were wanted while which was held. Edges go when their lock does, so there are no
    /// more than pairs of living locks.
    type Graph = BTreeMap<u64, BTreeSet<u64>>;

    thread_local! {
        static HELD: RefCell<Vec<Named>> = const { RefCell::new(Vec::new()) };
    }

    impl Tag {
        pub(crate) const fn new(stats: Option<&'static Stats>) -> Self {
            Self { number: AtomicU64::new(0), stats }
        }

        /// # Panics
        ///
        /// If this thread holds the lock already, or it was taken elsewhere before one that this
        /// thread holds.
        pub(crate) fn before_wait(&self) {
            let wanted = self.named();
            let held = HELD.try_with(|held| held.borrow().clone()).unwrap_or_default();
            if let Some((_, name)) = held.iter().find(|held| held.0 == wanted.0) {
                panic!("lock `{name}` is wanted again by the thread that holds it");
            }
            let mut graph = graph();
            for (number, name) in held {
                if reaches(&graph, wanted.0, number) {
                    panic!(
                        "lock `{}` is wanted while `{name}` is held, and elsewhere `{name}` was \
                         wanted while `{}` was held: two threads can wait for each other; take \
                         them in one order",
                        wanted.1, wanted.1
                    );
                }
                graph.entry(number).or_default().insert(wanted.0);
            }
        }

        pub(crate) fn acquired(&self) {
            // A thread that ends has no list any more.
            let _ = HELD.try_with(|held| held.borrow_mut().push(self.named()));
        }

        pub(crate) fn released(&self) {
            let (number, _) = self.named();
            let _ = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                if let Some(at) = held.iter().rposition(|one| one.0 == number) {
                    held.remove(at);
                }
            });
        }

        fn named(&self) -> Named {
            static NEXT: AtomicU64 = AtomicU64::new(1);
            let name = self.stats.map_or("(unnamed)", Stats::name);
            let known = self.number.load(Ordering::Relaxed);
            if known != 0 {
                return (known, name);
            }
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
}
