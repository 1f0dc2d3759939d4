//! How a thread that sleeps is woken for work, and only then.
//!
//! # The protocol
//!
//! 1. The sleeper sets `asleep`, then looks for work once more, and sleeps only if there is none.
//! 2. Another thread makes work visible, then looks at `asleep`; it rings if it is the one that clears it.
//! 3. The sleeper clears `asleep` when it is up, whatever ended its sleep.
//!
//! All four steps of 1 and 2 are sequentially consistent and so have one order. If the look for work came
//! first, `asleep` was set before the other thread looked at it: it rings. Otherwise the sleeper finds the
//! work. So no wake-up is lost. The work itself must be published and looked for by sequentially
//! consistent operations too: the indices of crossbeam's queues and the flags beside them are.
//!
//! A bell that rings after its sleeper got up for another reason ends its next sleep at once, which is
//! harmless. A thread that does not sleep is never rung for: notifying it costs one load.

use crate::primitive::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

/// Ends a thread's sleep, or its next one if it does not sleep now.
pub(crate) trait Bell: Send + Sync {
    fn ring(&self);
}

/// Says whether a thread sleeps, and wakes it if so.
pub(crate) struct Doorbell {
    asleep: AtomicBool,
    bell: Box<dyn Bell>,
}

impl Doorbell {
    pub(crate) fn new(bell: Box<dyn Bell>) -> Self {
        Self { asleep: AtomicBool::new(false), bell }
    }

    /// Work was made visible. True if the thread slept and was woken.
    pub(crate) fn notify(&self) -> bool {
        // Rule 2: one order with the publishing of work before it, and with `lie_down`.
        // The load spares a busy thread's cache line; the exchange lets one of many wakers ring.
        let slept = self.asleep.load(SeqCst)
            && self.asleep.compare_exchange(true, false, SeqCst, SeqCst).is_ok();
        if slept {
            self.bell.ring();
        }
        slept
    }

    /// The thread is about to sleep; it must look for work after this.
    pub(crate) fn lie_down(&self) {
        // Rule 1: one order with the look for work that follows, and with `notify`.
        self.asleep.store(true, SeqCst);
    }

    /// The thread is up, whatever woke it. True if it was rung for since it lay down.
    pub(crate) fn get_up(&self) -> bool {
        // Rule 3. A swap, for what it reads: a notification that came in between has cleared the flag, and counts
        // on the sleeper.
        !self.asleep.swap(false, SeqCst)
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::primitive::Queue;
    use loom::sync::Notify;
    use loom::thread;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    /// Like an event file: a ring stays until a sleep ends by it. (loom's `unpark` is none, it forgets a
    /// token when the thread waits for a mutex meanwhile.)
    #[derive(Clone)]
    struct Rings(Arc<(Notify, AtomicUsize)>);

    impl Bell for Rings {
        fn ring(&self) {
            self.0.1.fetch_add(1, Relaxed);
            self.0.0.notify();
        }
    }

    /// A lost ring is a deadlock, which loom tells.
    #[test]
    fn of_two_threads_that_bring_work_the_sleeper_misses_none() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let rings = Rings(Arc::new((Notify::new(), AtomicUsize::new(0))));
            let shared = Arc::new((Queue::new(), Doorbell::new(Box::new(rings.clone()))));
            let others = [(); 2].map(|()| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.0.push(());
                    usize::from(shared.1.notify())
                })
            });
            for _ in 0..2 {
                while shared.0.pop().is_none() {
                    shared.1.lie_down();
                    if shared.0.is_empty() {
                        rings.0.0.wait();
                    }
                    shared.1.get_up();
                }
            }
            let said: usize = others.into_iter().map(|other| other.join().unwrap()).sum();
            assert_eq!(said, rings.0.1.load(Relaxed), "it says whether it rang");
        });
    }
}
