//! An accelerator made of software: a thread on a core of its own, with a transfer that takes as long as is asked and a
//! speed that is held down. Its answers are real.
//!
//! A host thread has a [`Lane`] of slots, in which it writes offloads in turn. A slot goes from free to posted (by the
//! host), taken and done (by the accelerator), and free (by the thread that takes the answer).

use super::accelerator::{Ends, LANES, Stamp};
use super::kernels::{Hand, Pool};
use crate::hand_over::cpu_time;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tailwater_core::Rng;

/// Offloads of a lane that nobody has taken the answers of; a host thread waits for a free slot.
const SLOTS: usize = 256;

/// What a slot's owner does next; stored with Release by the side that has filled the slot, loaded with Acquire by the other.
pub(super) mod state {
    pub(in super::super) const FREE: u32 = 0;
    pub(in super::super) const POSTED: u32 = 1;
    pub(in super::super) const TAKEN: u32 = 2;
    pub(in super::super) const DONE: u32 = 3;
}

/// How long another host's offload keeps the accelerator.
const OTHERS_HOLD: Duration = Duration::from_micros(4);
/// Others' offloads that have waited longer are forgotten, and so many arrive at most before the next of ours. On a busy
/// machine their backlog would else grow for ever; a block with such a pause does not count.
const OTHERS_WAIT_MAX: Duration = Duration::from_micros(500);

/// One offload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offload {
    /// Which size, and which input of it; an empty one has no input, and the answer zero.
    pub(super) input: Option<(u32, u32)>,
    /// How long the accelerator takes for it at least.
    pub(super) hold: Duration,
    /// The answer is taken by none: the accelerator compares it, as the next service would.
    pub(super) is_silent: bool,
}

/// A line of its own each: neighbours would be moved between the cores, too.
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU32,
    size: AtomicU32,
    number: AtomicU32,
    is_silent: AtomicBool,
    hold_ns: AtomicU64,
    answer: AtomicU64,
}

/// The size of an empty offload.
const EMPTY: u32 = u32::MAX;

impl Slot {
    const fn new() -> Self {
        Self {
            state: AtomicU32::new(state::FREE),
            size: AtomicU32::new(EMPTY),
            number: AtomicU32::new(0),
            is_silent: AtomicBool::new(false),
            hold_ns: AtomicU64::new(0),
            answer: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self) -> u32 {
        // Pairs with the Release of `set`, by the side that has moved it here.
        self.state.load(Ordering::Acquire)
    }

    pub(super) fn set(&self, state: u32) {
        // Pairs with the Acquire of `state`: the side that loads this state sees what was written before.
        self.state.store(state, Ordering::Release);
    }

    /// Relaxed: `set` publishes it.
    pub(super) fn post(&self, offload: Offload) {
        let (size, number) = offload.input.unwrap_or((EMPTY, 0));
        self.size.store(size, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
        self.is_silent.store(offload.is_silent, Ordering::Relaxed);
        self.hold_ns.store(offload.hold.as_nanos() as u64, Ordering::Relaxed);
        self.set(state::POSTED);
    }

    fn offload(&self) -> Offload {
        let size = self.size.load(Ordering::Relaxed);
        Offload {
            input: (size != EMPTY).then(|| (size, self.number.load(Ordering::Relaxed))),
            hold: Duration::from_nanos(self.hold_ns.load(Ordering::Relaxed)),
            is_silent: self.is_silent.load(Ordering::Relaxed),
        }
    }

    /// The answer of one that is done, which frees it.
    pub(super) fn take(&self) -> u64 {
        let answer = self.answer.load(Ordering::Relaxed);
        self.set(state::FREE);
        answer
    }
}

/// The slots of one host thread.
pub(super) struct Lane {
    slots: Vec<Slot>,
    /// The thread that is woken when one is done, if any.
    waiter: Mutex<Option<Thread>>,
}

impl Lane {
    pub(super) fn new() -> Self {
        let slots = (0..SLOTS).map(|_| Slot::new()).collect();
        Self { slots, waiter: Mutex::new(None) }
    }

    /// The slot of the `number`th offload.
    pub(super) fn slot(&self, number: usize) -> &Slot {
        &self.slots[number % SLOTS]
    }

    pub(super) fn wakes(&self, thread: Option<Thread>) {
        *self.waiter.lock().unwrap_or_else(PoisonError::into_inner) = thread;
    }

    fn wake(&self) {
        if let Some(thread) = &*self.waiter.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.unpark();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.state() == state::FREE)
    }
}

/// The accelerator.
pub(super) struct Device {
    pub(super) lanes: [Lane; LANES],
    /// L: how long a transfer takes at least.
    latency: Duration,
    /// Time between others' offloads, on average; zero: there are none.
    others_gap_ns: AtomicU64,
    /// Stamps that were asked for, and told.
    asked: AtomicU64,
    told: AtomicU64,
    stamp: Mutex<Stamp>,
    is_over: AtomicBool,
}

impl Device {
    pub(super) fn new(latency: Duration) -> Self {
        Self {
            lanes: std::array::from_fn(|_| Lane::new()),
            latency,
            others_gap_ns: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            told: AtomicU64::new(0),
            stamp: Mutex::new(Stamp::default()),
            is_over: AtomicBool::new(false),
        }
    }

    /// From now on others take this share of its time, in percent.
    pub(super) fn share_with_others(&self, percent: u32) {
        let gap = OTHERS_HOLD.as_nanos() as u64 * 100;
        let gap = gap.checked_div(u64::from(percent)).unwrap_or(0);
        self.others_gap_ns.store(gap, Ordering::Relaxed);
    }

    /// Whether its thread has ended: nothing will be answered any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Has its thread end.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// What it has done so far, by its own account.
    pub(super) fn ask(&self) -> Stamp {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        // Acquire: with the number comes that of the stamp.
        while self.told.load(Ordering::Acquire) < number && !self.is_over() {
            std::thread::yield_now();
        }
        *self.stamp.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves until it is to end.
    pub(super) fn serve(&self, mut hand: Hand<'_>, pool: &Pool) {
        let _ends = Ends(self);
        let began = Instant::now();
        let mut next = [0; LANES];
        let mut total = Stamp::default();
        let mut others = Others::new();
        while !self.is_over() {
            self.tell(began, &mut total);
            others.catch_up(self.others_gap_ns.load(Ordering::Relaxed));
            for (lane, next) in self.lanes.iter().zip(&mut next) {
                let slot = lane.slot(*next);
                if slot.state() == state::POSTED {
                    self.one(slot, (&mut hand, pool), &mut total);
                    lane.wake();
                    *next += 1;
                    others.catch_up(self.others_gap_ns.load(Ordering::Relaxed));
                }
            }
            std::hint::spin_loop();
        }
    }

    fn one(&self, slot: &Slot, (hand, pool): (&mut Hand<'_>, &Pool), total: &mut Stamp) {
        hold(Instant::now(), self.latency);
        let offload = slot.offload();
        slot.set(state::TAKEN);
        let taken = Instant::now();
        let input = offload.input.map(|(size, number)| pool.get(size as usize, number as usize));
        let answer = input.map_or(0, |input| hand(&input.bytes));
        hold(taken, offload.hold);
        if offload.is_silent {
            total.wrong += u64::from(input.map_or(0, |input| input.answer) != answer);
            slot.set(state::FREE);
        } else {
            slot.answer.store(answer, Ordering::Relaxed);
            slot.set(state::DONE);
        }
        total.served += 1;
        total.service += taken.elapsed();
    }

    fn tell(&self, began: Instant, total: &mut Stamp) {
        let asked = self.asked.load(Ordering::Relaxed);
        if self.told.load(Ordering::Relaxed) == asked {
            return;
        }
        (total.wall, total.cpu) = (began.elapsed(), cpu_time());
        *self.stamp.lock().unwrap_or_else(PoisonError::into_inner) = *total;
        // Pairs with the Acquire in `ask`.
        self.told.store(asked, Ordering::Release);
    }
}

/// Stays until so much time has passed since then.
fn hold(since: Instant, time: Duration) {
    while since.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Offloads of other hosts: they arrive at random, and are served in order of arrival, ours among them.
struct Others {
    rng: Rng,
    gap_ns: u64,
    next: Instant,
}

impl Others {
    fn new() -> Self {
        Self { rng: Rng::from_seed(1).split("others"), gap_ns: 0, next: Instant::now() }
    }

    /// Serves those that have arrived.
    fn catch_up(&mut self, gap_ns: u64) {
        if gap_ns != self.gap_ns {
            (self.gap_ns, self.next) = (gap_ns, Instant::now());
        }
        if gap_ns == 0 {
            return;
        }
        let now = Instant::now();
        self.next = self.next.max(now - OTHERS_WAIT_MAX);
        while self.next <= Instant::now() && self.next < now + OTHERS_WAIT_MAX {
            hold(Instant::now(), OTHERS_HOLD);
            self.next += Duration::from_nanos(self.rng.exponential(gap_ns as f64) as u64);
        }
    }
}
