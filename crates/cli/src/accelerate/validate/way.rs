//! How a host thread uses the accelerator: one loop, which each design leaves at another point.

use super::device::{Device, Lane, Offload, Slot, state};
use super::kernels::Pool;
use std::time::Duration;
use tailwater_tune::accelerator::Threading;

/// A thread that nothing wakes looks by itself after so long.
pub(super) const WAKES_WITHIN: Duration = Duration::from_millis(100);

/// What is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offloaded {
    /// No input: what is left is the way there and back.
    pub(super) is_empty: bool,
    /// How long the accelerator takes at least.
    pub(super) hold: Duration,
}

/// One thread's way.
pub(super) struct Way<'w> {
    pub(super) device: &'w Device,
    pub(super) lane: &'w Lane,
    pub(super) pool: &'w Pool,
    /// Which size of the pool.
    pub(super) size: usize,
    /// Of the lane's offloads, the number of the first.
    pub(super) first: usize,
    pub(super) threading: Threading,
    pub(super) offloaded: Offloaded,
}

impl Way<'_> {
    /// Makes all requests; how many answers were wrong.
    pub(super) fn requests(&self, requests: usize, work: impl Fn()) -> u64 {
        if self.threading == Threading::SyncOs {
            self.lane.wakes(Some(std::thread::current()));
        }
        let numbers = self.first..self.first + requests;
        let (mut wrong, mut answered) = (0, self.first);
        for number in numbers.clone() {
            work();
            let slot = self.post(number);
            match self.threading {
                Threading::Sync => {
                    self.until(|| slot.state() == state::DONE);
                    wrong += self.take(slot, number);
                }
                Threading::SyncOs => {
                    self.until_accepted(slot);
                    self.sleep_until_done(slot);
                    wrong += self.take(slot, number);
                }
                Threading::Async => {
                    self.until_accepted(slot);
                    wrong += self.collect(&mut answered, number);
                }
                Threading::AsyncDistinct | Threading::AsyncNoResponse => self.until_accepted(slot),
            }
        }
        if self.threading == Threading::Async {
            self.until(|| numbers.end == answered + self.done(answered, numbers.end));
            wrong += self.collect(&mut answered, numbers.end);
        }
        wrong
    }

    /// Takes all answers on a thread that is woken for them.
    pub(super) fn respond(&self, requests: usize) -> u64 {
        self.lane.wakes(Some(std::thread::current()));
        let answers = self.first..self.first + requests;
        answers
            .map(|number| {
                let slot = self.lane.slot(number);
                self.sleep_until_done(slot);
                self.take(slot, number)
            })
            .sum()
    }

    fn post(&self, number: usize) -> &Slot {
        let slot = self.lane.slot(number);
        while slot.state() != state::FREE && !self.device.is_over() {
            // The thread that takes the answers may need this core.
            std::thread::yield_now();
        }
        let input = (!self.offloaded.is_empty).then_some((self.size as u32, number as u32));
        let is_silent = self.threading == Threading::AsyncNoResponse;
        slot.post(Offload { input, hold: self.offloaded.hold, is_silent });
        slot
    }

    /// The driver's wait: until the accelerator has the data.
    fn until_accepted(&self, slot: &Slot) {
        self.until(|| slot.state() != state::POSTED);
    }

    fn until(&self, is_so: impl Fn() -> bool) {
        while !is_so() && !self.device.is_over() {
            std::hint::spin_loop();
        }
    }

    fn sleep_until_done(&self, slot: &Slot) {
        while slot.state() != state::DONE && !self.device.is_over() {
            // Not for ever: an accelerator that has ended wakes nobody.
            std::thread::park_timeout(WAKES_WITHIN);
        }
    }

    /// Takes the answers that are there, up to this number.
    fn collect(&self, answered: &mut usize, until: usize) -> u64 {
        let from = *answered;
        *answered += self.done(from, until);
        (from..*answered).map(|number| self.take(self.lane.slot(number), number)).sum()
    }

    /// How many are done, one after the other.
    fn done(&self, from: usize, until: usize) -> usize {
        (from..until).take_while(|&number| self.lane.slot(number).state() == state::DONE).count()
    }

    /// Takes an answer: 1 where it is wrong.
    fn take(&self, slot: &Slot, number: usize) -> u64 {
        let right = match self.offloaded.is_empty {
            true => 0,
            false => self.pool.get(self.size, number).answer,
        };
        u64::from(slot.take() != right)
    }
}
