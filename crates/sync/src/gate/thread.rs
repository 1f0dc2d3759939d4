//! A thread at a gate: spins for a moment, then queues and parks.

use super::{Gate, Key, POKED, QUEUED, Step, Wait, Wakeup};
use crate::primitive::{Ordering, SPINS, current, park};
use crate::{Refused, budget, clock};
use tailwater_core::Instant;

impl Gate {
    /// Waits for so many permits after the fast path has failed.
    #[cold]
    pub(crate) fn wait_thread(&self, need: usize, wait: Wait) -> Result<(), Refused> {
        if self.try_take(need) {
            return Ok(());
        }
        let since = clock::now();
        // Asked before the first spin: a refusal costs no more than this.
        let give_up_at = self.ask(wait, since)?.map(|after| since + after);
        if self.spin(need) {
            return Ok(());
        }
        let acquired = match self.join(need, since, Wakeup::Thread(current())) {
            None => true,
            Some(key) => self.park_until_served(key, need, give_up_at),
        };
        let waited = self.account(since, clock::now(), budget::elsewhere(), wait, acquired);
        if acquired { Ok(()) } else { Err(Refused::GaveUp { waited }) }
    }

    /// A short critical section ends sooner than a thread falls asleep. Not where others wait: they
    /// would only be kept from the lock by it. Each look takes the holder's cache line away, so looks grow
    /// rarer.
    fn spin(&self, need: usize) -> bool {
        let mut pauses = 1;
        while pauses < SPINS {
            if self.try_take(need) {
                return true;
            }
            // Relaxed: a hint. A late look costs a few pauses more, and nothing is taken by it.
            if self.state.load(Ordering::Relaxed) & QUEUED != 0 {
                return false;
            }
            for _ in 0..pauses {
                std::hint::spin_loop();
            }
            pauses *= 2;
        }
        self.try_take(need)
    }

    /// A thread that was woken to try, and finds the lock taken again, has paid for the wake-up: a moment more may
    /// save the next. A thread that was granted the lock, or woke for another reason, does not spin: POKED is clear
    /// then.
    fn spin_awake(&self, need: usize) -> bool {
        for _ in 0..=SPINS {
            // Relaxed: a hint. `look` decides, under the mutex of the queue.
            if self.state.load(Ordering::Relaxed) & POKED == 0 {
                return false;
            }
            if self.try_take(need) {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    fn park_until_served(&self, key: Key, need: usize, give_up_at: Option<Instant>) -> bool {
        loop {
            let over = park(give_up_at);
            if self.spin_awake(need) {
                // It has what it needs and leaves; what it was granted meanwhile goes back.
                self.cancel(key);
                return true;
            }
            match self.look(key, over, None) {
                Step::Acquired => return true,
                Step::GaveUp => return false,
                Step::Wait(_) => {}
            }
        }
    }
}
