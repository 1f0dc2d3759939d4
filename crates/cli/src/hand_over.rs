//! What it costs to switch threads: two of them hand a core to each other, and do nothing else.

use crate::failure::Failure;
use crate::two_cores;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::{ScopedJoinHandle, Thread};
use std::time::Duration;

/// A thread that nothing wakes looks by itself after so long.
pub(crate) const WAKES_WITHIN: Duration = Duration::from_millis(100);

/// Blocks of [`cost`], and turns of each thread in one: some milliseconds, of which an interrupt is little.
const BLOCKS: usize = 30;
const TURNS: u32 = 1_000;

/// CPU time of a switch in µs, of the cheapest block and of the dearest; `None` where this process may use but one core. What
/// a thread pays afterwards for cold caches is not in it.
pub(crate) fn cost() -> Result<Option<(f64, f64)>, Failure> {
    let Some((core, _)) = two_cores::two()? else { return Ok(None) };
    let blocks = (0..BLOCKS).map(|_| block(core as usize)).collect::<Result<Vec<f64>, _>>()?;
    let least = blocks.iter().copied().min_by(f64::total_cmp);
    let most = blocks.into_iter().max_by(f64::total_cmp);
    Ok(least.zip(most))
}

/// The mean of a block, in µs.
fn block(core: usize) -> Result<f64, Failure> {
    let (table, start) = (&Table::default(), &Barrier::new(2));
    let spent = std::thread::scope(|scope| {
        let one = |side: usize| {
            scope.spawn(move || {
                let pinned = tailwater_rt::cpu::pin(core);
                table.sit(side);
                start.wait();
                let before = cpu_time();
                table.play(side, TURNS as usize, &|| false);
                pinned.map(|()| cpu_time().saturating_sub(before))
            })
        };
        [one(0), one(1)].map(ScopedJoinHandle::join)
    });
    let mut all = Duration::ZERO;
    for thread in spent {
        let cpu = thread.map_err(|_| Failure::work("a thread that was to switch panicked"))?;
        all += cpu.map_err(Failure::work)?;
    }
    Ok(all.as_secs_f64() * 1e6 / f64::from(2 * TURNS))
}

/// Time that the calling thread ran.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Two threads, and whose turn it is.
#[derive(Default)]
pub(crate) struct Table {
    turn: AtomicUsize,
    threads: [OnceLock<Thread>; 2],
}

impl Table {
    /// The calling thread plays this side from now on. Before the first turn of either.
    pub(crate) fn sit(&self, side: usize) {
        let _ = self.threads[side].set(std::thread::current());
    }

    /// Takes so many turns, each when the other thread has had one; ends early with the other thread.
    pub(crate) fn play(&self, side: usize, turns: usize, is_over: &dyn Fn() -> bool) {
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

    #[test]
    fn a_switch_takes_time_and_the_dearest_block_no_less_than_the_cheapest() {
        let found = cost().expect("cores that may be used");
        assert!(found.is_none_or(|(least, most)| least > 0.0 && most >= least), "{found:?}");
    }
}
