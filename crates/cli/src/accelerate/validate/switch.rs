//! What it costs to switch threads: two of them hand the host's core to each other. No design of an accelerator is in it.

use super::host::{Host, Used, early};
use super::way::WAKES_WITHIN;
use crate::failure::Failure;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::{ScopedJoinHandle, Thread};

/// Two threads, and whose turn it is.
#[derive(Default)]
struct Table {
    turn: AtomicUsize,
    threads: [OnceLock<Thread>; 2],
}

impl Table {
    /// Takes so many turns, each when the other thread has had one; ends early with the other thread.
    fn play(&self, side: usize, turns: usize, is_over: &dyn Fn() -> bool) {
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

/// Has the threads switch so many times, or once more.
pub(super) fn hand_overs(host: &Host<'_>, switches: usize) -> Result<Used, Failure> {
    let (table, start) = (&Table::default(), &Barrier::new(2));
    let turns = switches.div_ceil(2);
    let ran = std::thread::scope(|scope| {
        let one = |side: usize| {
            scope.spawn(move || {
                host.on_core(start, || {
                    // Before the barrier, so that each knows the other.
                    let _ = table.threads[side].set(std::thread::current());
                    Box::new(move || {
                        table.play(side, turns, &|| host.device.is_over());
                        0
                    })
                })
            })
        };
        [one(0), one(1)].map(ScopedJoinHandle::join)
    });
    let used = ran.into_iter().map(|used| used.map_err(|_| early())?);
    let used = used.collect::<Result<Vec<Used>, Failure>>()?;
    used.into_iter().reduce(Used::and).ok_or_else(early)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_alternate() {
        let (table, start) = (&Table::default(), &Barrier::new(2));
        let taken = &AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for side in [0, 1] {
                scope.spawn(move || {
                    let _ = table.threads[side].set(std::thread::current());
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
