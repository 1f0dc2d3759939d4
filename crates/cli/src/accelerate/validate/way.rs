//! How a host thread uses the accelerator: one loop, which each design leaves at another point.

use super::accelerator::{Accelerator, Body, Offloads, Stamp, Work};
use super::device::{Device, Lane, Offload, Slot, state};
use crate::failure::Failure;
use crate::hand_over::WAKES_WITHIN;
use std::time::Duration;
use tailwater_tune::accelerator::Threading;

/// One thread's way.
struct Way<'w> {
    device: &'w Device,
    lane: &'w Lane,
    of: Offloads<'w>,
}

impl Accelerator for Device {
    fn is_over(&self) -> bool {
        Self::is_over(self)
    }

    fn end(&self) {
        Self::end(self);
    }

    fn share_with_others(&self, percent: u32) {
        Self::share_with_others(self, percent);
    }

    fn stamp(&self) -> Result<Stamp, Failure> {
        while !self.lanes.iter().all(Lane::is_empty) {
            if Self::is_over(self) {
                return Err(Failure::work("the accelerator has ended early"));
            }
            std::thread::yield_now();
        }
        Ok(self.ask())
    }

    fn requests<'b>(&'b self, offloads: Offloads<'b>, work: Work<'b>) -> Body<'b> {
        let way = Way { device: self, lane: &self.lanes[offloads.lane], of: offloads };
        Box::new(move || way.requests(work))
    }

    fn respond<'b>(&'b self, offloads: Offloads<'b>) -> Body<'b> {
        let way = Way { device: self, lane: &self.lanes[offloads.lane], of: offloads };
        Box::new(move || way.respond())
    }

    /// All but the way between the cores: the host answers itself.
    fn described<'b>(&'b self, offloads: Offloads<'b>, work: Work<'b>) -> Body<'b> {
        let lane = Lane::new();
        let one = move |number: usize| {
            let slot = lane.slot(number);
            let input = Some((offloads.size as u32, number as u32));
            slot.post(Offload { input, hold: Duration::ZERO, is_silent: false });
            slot.set(state::DONE);
            work();
            // No answer was stored.
            u64::from(std::hint::black_box(slot).take() != 0)
        };
        Box::new(move || (0..offloads.count).map(one).sum())
    }
}

impl Way<'_> {
    /// Makes all requests; how many answers were wrong.
    fn requests(&self, work: Work<'_>) -> u64 {
        let Offloads { first, count, threading, .. } = self.of;
        if threading == Threading::SyncOs {
            self.lane.wakes(Some(std::thread::current()));
        }
        let numbers = first..first + count;
        let (mut wrong, mut answered) = (0, first);
        for number in numbers.clone() {
            work();
            let slot = self.post(number);
            match threading {
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
        if threading == Threading::Async {
            self.until(|| numbers.end == answered + self.done(answered, numbers.end));
            wrong += self.collect(&mut answered, numbers.end);
        }
        if threading == Threading::SyncOs {
            self.lane.wakes(None);
        }
        wrong
    }

    /// Takes all answers on a thread that is woken for them.
    fn respond(&self) -> u64 {
        let Offloads { first, count, .. } = self.of;
        self.lane.wakes(Some(std::thread::current()));
        let one = |number| {
            let slot = self.lane.slot(number);
            self.sleep_until_done(slot);
            self.take(slot, number)
        };
        let wrong = (first..first + count).map(one).sum();
        self.lane.wakes(None);
        wrong
    }

    fn post(&self, number: usize) -> &Slot {
        let slot = self.lane.slot(number);
        while slot.state() != state::FREE && !self.device.is_over() {
            // The thread that takes the answers may need this core.
            std::thread::yield_now();
        }
        let Offloads { offloaded, size, threading, .. } = self.of;
        let input = (!offloaded.is_empty).then_some((size as u32, number as u32));
        let is_silent = threading == Threading::AsyncNoResponse;
        slot.post(Offload { input, hold: offloaded.hold, is_silent });
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
        u64::from(slot.take() != self.of.right(number))
    }
}
