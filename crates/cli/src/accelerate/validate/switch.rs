//! What it costs to switch threads: two of them hand the host's core to each other. No design of an accelerator is in it.

use super::way::WAKES_WITHIN;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;

/// Two threads, and whose turn it is.
#[derive(Default)]
pub(super) struct Table {
    turn: AtomicUsize,
    threads: [OnceLock<Thread>; 2],
}

impl Table {
    /// The calling thread plays this side from now on. Before the first turn of either.
    pub(super) fn sit(&self, side: usize) {
        let _ = self.threads[side].set(std::thread::current());
    }

    /// Takes so many turns, each when the other thread has had one; ends early with the other thread.
    pub(super) fn play(&self, side: usize, turns: usize, is_over: &dyn Fn() -> bool) {
        for _ in 0..turns {
            // Pairs with the store below: the other thread's turn is over.
            while self.turn.load(Ordering::Acquire) != side {
                if is_over() {
                    return;
                }
                // Not for ever: a thread that has ended wakes nobody.
                std::thread::park_timeout(WAKES_WITHIN);
            }
            self.turn.store(1 - side, Ordering::Release);
            if let Some(other) = self.threads[1 - side].get() {
                other.unpark();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn turns_alternate() {
        let (table, start) = (&Table::default(), &Barrier::new(2));
        let taken = &AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for side in [0, 1] {
                scope.spawn(move || {
                    table.sit(side);
                    start.wait();
                    for _ in 0..1_000 {
                        table.play(side, 1, &|| false);
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(taken.load(Ordering::Relaxed), 2_000);
        assert_eq!(table.turn.load(Ordering::Relaxed), 0, "the last turn was the second thread's");
    }

    #[test]
    fn a_thread_whose_other_has_ended_does_not_wait_for_it() {
        Table::default().play(1, 1, &|| true);
    }
}
