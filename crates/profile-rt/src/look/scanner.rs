//! A thread that looks: its part of the program's threads in turn, for as long as it records.

use crate::look::calibrate::Calibration;
use crate::look::items::{BATCH, Item, Outlet, clocked};
use crate::look::part::Part;
use crate::look::scan::{
    Break, Duty, Ended, Gaps, Glimpse, Head, Pace, Probe, ThreadScan, WHOLE, Watch, Window,
};
use crate::memory::abi::{ENTRY_BYTES, What};
use crate::memory::arena::{Arena, Slot, THREADS_MAX};
use crate::memory::lease::Term;
use crate::memory::mailbox::Closing;
use crate::memory::state::Phase;
use crate::system::clock::ticks;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::TrySendError;
use std::time::Duration;
use tailwater_profile::record::{AWAY_US, LossKind, ThreadId, Ticks};

/// Between two times that a scanner which doesn't look asks which threads have come and which libraries go. A thread's ring is
/// emptied first after up to twice that and the output's nap, some 8 ms. A ring holds 2,048 words until then; what finds it full is counted.
const IDLE: Duration = Duration::from_millis(2);
/// With more threads than this, quiet ones are looked at less often.
const THREADS_EAGER: usize = 8;

/// Times that govern the scanner, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) us: Ticks,
    /// What looking costs the threads, and how late it sees.
    pub(crate) calibration: Calibration,
    /// Share of the program's time, in 65536ths.
    pub(crate) budget: u64,
    /// Of a core, that this scanner may take, in 65536ths.
    pub(crate) cpu: u64,
    /// When recording began: nobody has looked since.
    pub(crate) began: Ticks,
    /// There is one core for the program and the scanner: while the scanner runs, there is nothing to
    /// see.
    pub(crate) shares_core: bool,
    /// Otherwise it finds out which threads come and go, and no more.
    pub(crate) looks: bool,
}

/// Looks until it is told to stop.
pub(crate) struct Scanner {
    arena: Arena,
    term: Term,
    part: Part,
    pace: Pace,
    /// See [`Calibration`].
    delay: Ticks,
    us: Ticks,
    gaps: Gaps,
    watched: Vec<Watched>,
    epoch: Option<u64>,
    /// The incarnation of each slot that was adopted last.
    adopted: Vec<u64>,
    ended: Vec<Ended>,
    batch: Vec<Item>,
    /// There was no room for it when it was last to be handed over.
    is_refused: bool,
    outlet: Outlet,
    posted: Ticks,
    told_losses: Ticks,
    began: Ticks,
    duty: Duty,
    /// Between two rounds, where the scanner shares a core with what it looks at.
    nap: Option<Duration>,
    looks: bool,
}

struct Watched {
    id: ThreadId,
    slot: usize,
    eye: Eye,
    watch: Watch,
}

impl Scanner {
    /// Of the recorder that has the lease for this term.
    pub(crate) fn new(
        (arena, term): (Arena, Term),
        part: Part,
        times: Times,
        outlet: Outlet,
    ) -> Self {
        let (us, Calibration { costs, delay }) = (times.us, times.calibration);
        // All of them wake up on the one core.
        let parts = part.parts();
        let pace = Pace { costs, budget: times.budget, settle: costs.change, force: us * 7 };
        let now = ticks();
        let mut gaps = Gaps::new(us * AWAY_US);
        if times.looks {
            gaps.note(times.began, now);
        }
        Self {
            arena,
            term,
            part,
            pace,
            delay,
            us,
            gaps,
            watched: Vec::new(),
            epoch: None,
            adopted: vec![0; THREADS_MAX],
            ended: Vec::with_capacity(256),
            batch: Vec::with_capacity(BATCH * 2),
            is_refused: false,
            outlet,
            posted: now,
            told_losses: now,
            began: times.began,
            duty: Duty::new(times.cpu, us, now),
            nap: times.shares_core.then(|| nap(times.budget / parts)),
            looks: times.looks,
        }
    }

    pub(crate) fn run(mut self, stop: &AtomicBool) {
        let mut now = ticks();
        while !stop.load(Relaxed) {
            if self.epoch != Some(self.arena.header().epoch.load(Acquire)) {
                now = self.adopt(now);
            }
            if self.looks {
                now = self.round(now);
            }
            let is_full = self.batch.len() >= BATCH && !self.is_refused;
            if now.saturating_sub(self.posted) > self.us * 2000 || is_full {
                self.post(now);
            }
            if !self.looks {
                std::thread::sleep(IDLE);
                now = ticks();
            } else if self.watched.is_empty() {
                std::thread::sleep(Duration::from_micros(100));
                now = ticks();
            } else if let Some(nap) = self.nap {
                // The program stands still: the second look finds it at rest, and walks.
                now = self.round(now);
                now = self.doze(now, nap);
            } else if let Some(owed) = self.duty.owes(now) {
                now = match owed {
                    Break::Yield => self.give_way(now),
                    Break::Rest(us) => self.doze(now, Duration::from_micros(us)),
                };
                self.duty.wake(now);
            }
        }
        // The last thread to come may have left marks, and the one that ends the process is in its last calls.
        now = self.adopt(now);
        now = self.catch_up(now);
        self.finish(now);
    }

    /// Lets the program run. That is no absence: calls are known to within a nap, and say so.
    fn doze(&mut self, before: Ticks, nap: Duration) -> Ticks {
        std::thread::sleep(nap);
        let after = ticks();
        if after.saturating_sub(before) > self.us * nap.as_micros() as Ticks * 3 {
            self.gaps.note(before, after);
        }
        after
    }

    /// Lets those go first who wait for the core. The kernel asks between its ticks only, milliseconds apart; where all
    /// cores are busy, a thread of the program would wait as long for what looks at it.
    fn give_way(&mut self, before: Ticks) -> Ticks {
        std::thread::yield_now();
        let after = ticks();
        self.gaps.note(before, after);
        after
    }

    /// Looks at every thread that is due.
    fn round(&mut self, before: Ticks) -> Ticks {
        let idle_max = if self.watched.len() > THREADS_EAGER { self.us * 20 } else { 0 };
        let mut now = before;
        let mut looked = false;
        for Watched { id, eye, watch, .. } in &mut self.watched {
            if !watch.is_due(now) {
                continue;
            }
            looked = true;
            now = watch.turn(&self.pace, idle_max, now, eye, &mut self.gaps, &mut self.ended);
            if !self.ended.is_empty() {
                self.batch.extend(self.ended.drain(..).map(|ended| Item::Call(*id, ended)));
            }
        }
        if looked {
            return now;
        }
        std::hint::spin_loop();
        let after = ticks();
        self.gaps.note(now, after);
        after
    }

    /// Looks at every thread once more, whatever that costs it. Returns the clock's last reading.
    fn catch_up(&mut self, before: Ticks) -> Ticks {
        let mut now = before;
        for Watched { id, eye, watch, .. } in &mut self.watched {
            now = watch.scan.catch_up(now, eye, &mut self.gaps, &mut self.ended);
            if !self.looks {
                // What was there when it looked last tells nothing: that was long ago.
                self.ended.clear();
            }
            self.batch.extend(self.ended.drain(..).map(|ended| Item::Call(*id, ended)));
        }
        now
    }

    /// Finds out who came and who went, as far as no later recorder knows of them. Returns the clock's last reading.
    fn adopt(&mut self, before: Ticks) -> Ticks {
        let mut now = before;
        let header = self.arena.header();
        self.epoch = Some(header.epoch.load(Acquire));
        for slot in self.part.slots(self.arena.slots_used()) {
            self.adopt_slot(slot, now);
        }
        let mut at = 0;
        while at < self.watched.len() {
            let state = &self.arena.slot(self.watched[at].slot).context.state;
            if state.phase() == Phase::Ended {
                let watched = self.watched.swap_remove(at);
                self.take_off(watched);
            } else {
                at += 1;
            }
        }
        for closing in self.part.closings(&header.unloads, self.term) {
            now = self.let_library_go(closing, now);
        }
        now
    }

    /// Before a library goes: looks at everything once more, so that its calls are told before that.
    /// Returns the clock's last reading.
    fn let_library_go(&mut self, closing: Closing, before: Ticks) -> Ticks {
        let Closing { place, descs, at } = closing;
        let now = self.catch_up(before);
        let scans = self.watched.iter().map(|watched| &watched.watch.scan);
        let mut standing: Vec<u64> =
            scans.flat_map(ThreadScan::descs).filter(|desc| descs.contains(desc)).collect();
        // A library that is closed has none; one of a process that exits may.
        standing.sort_unstable();
        standing.dedup();
        self.batch.extend(standing.into_iter().map(|desc| Item::Standing { desc, at }));
        self.batch.push(Item::Unload { place, descs: (descs.start, descs.end), at });
        self.post(now);
        now
    }

    /// Watches the thread in a slot if that is new, though it may have ended since.
    fn adopt_slot(&mut self, slot: usize, now: Ticks) {
        let Slot { context, life, .. } = self.arena.slot(slot);
        let is_there = matches!(context.state.phase(), Phase::Live | Phase::Ended);
        if !is_there || life.incarnation.load(Relaxed) == self.adopted[slot] {
            return;
        }
        let Some(phase) = context.state.adopt(self.term) else { return };
        // Once more: until then the slot might have been won anew.
        let incarnation = life.incarnation.load(Relaxed);
        let before = std::mem::replace(&mut self.adopted[slot], incarnation);
        if phase == Phase::Ended && life.ended.load(Relaxed) < self.began {
            // There was no recorder to set its slot free, and it did nothing in this recording. Else a thread has begun there
            // meanwhile, whose incarnation was read: it is for the next look.
            if !context.state.free(self.term) {
                self.adopted[slot] = before;
            }
            return;
        }
        // From here on no earlier recorder takes its events.
        self.arena.ring(slot).adopt(self.term);
        if before != 0 {
            self.supersede(slot, now);
        }
        let id = self.part.number();
        let mut eye = Eye::new(self.arena, slot);
        let started = life.started.load(Relaxed);
        let (generation, at) = if started < self.began {
            (eye.head().generation, now)
        } else {
            (life.first_generation.load(Relaxed), started)
        };
        let watch = Watch::new(generation, Window { from: at, to: at }, self.delay, now);
        self.batch.push(Item::Came { id, slot, generation });
        self.watched.push(Watched { id, slot, eye, watch });
    }

    /// A program may count up without having ended a thread: so that a slot has one thread at a time, which bounds what is
    /// watched, the one before goes first.
    fn supersede(&mut self, slot: usize, now: Ticks) {
        let is_there = |watched: &Watched| watched.slot == slot;
        let Some(at) = self.watched.iter().position(is_there) else { return };
        let Watched { id, mut watch, .. } = self.watched.swap_remove(at);
        // Its own end is not known: what the slot says is of the next.
        if self.looks {
            watch.scan.stop(now, &mut self.ended);
            self.batch.extend(self.ended.drain(..).map(|ended| Item::Call(id, ended)));
            tell(id, &mut watch.scan, &mut self.batch);
        }
        self.batch.push(Item::Went { id, slot });
    }

    /// The thread is gone, and its slot waits for nobody but us.
    fn take_off(&mut self, watched: Watched) {
        let Watched { id, slot, mut eye, mut watch } = watched;
        if self.looks {
            let at = self.arena.slot(slot).life.ended.load(Relaxed);
            watch.scan.end(at, eye.head(), &self.gaps, &mut self.ended);
            self.batch.extend(self.ended.drain(..).map(|ended| Item::Call(id, ended)));
            tell(id, &mut watch.scan, &mut self.batch);
        }
        self.batch.push(Item::Went { id, slot });
    }

    /// Hands the batch to the output, without waiting.
    fn post(&mut self, now: Ticks) {
        self.posted = now;
        // Where the output stands still, gaps, losses and looks stay where they are counted, which has a bound. What else is
        // in the batch then is of threads, which have no more slots than there are.
        if self.looks && !self.is_refused {
            self.tell_gaps();
            if now.saturating_sub(self.told_losses) > self.us * 1_000_000 {
                self.told_losses = now;
                self.tell_losses();
            }
        }
        if self.batch.is_empty() {
            return;
        }
        let next = self.outlet.emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH * 2));
        match self.outlet.to.try_send(std::mem::replace(&mut self.batch, next)) {
            Ok(()) => self.is_refused = false,
            Err(TrySendError::Full(mut batch) | TrySendError::Disconnected(mut batch)) => {
                self.is_refused = true;
                lose_calls(&mut batch);
                self.batch = batch;
            }
        }
    }

    fn tell_gaps(&mut self) {
        while let Some(gap) = self.gaps.take() {
            self.batch.push(Item::Gap(gap));
        }
    }

    fn tell_losses(&mut self) {
        for watched in &mut self.watched {
            tell(watched.id, &mut watched.watch.scan, &mut self.batch);
        }
    }

    fn finish(mut self, now: Ticks) {
        for Watched { id, slot, watch, .. } in &mut self.watched {
            watch.scan.stop(now, &mut self.ended);
            let (notes, looks, began) = (self.arena.notes(*slot), self.looks, self.began);
            let told = self.ended.drain(..).filter_map(|ended| match looks {
                true => Some(ended),
                false => clocked(ended, notes.start_of(ended.generation), began),
            });
            self.batch.extend(told.map(|ended| Item::Call(*id, ended)));
        }
        if self.looks {
            self.tell_losses();
            self.tell_gaps();
        }
        // The output empties the channel until it is closed; if it is gone, so is the file.
        let _ = self.outlet.to.send(self.batch);
    }
}

/// Leaves out calls, and says how many, with those that were left out before.
fn lose_calls(batch: &mut Vec<Item>) {
    let mut lost = 0;
    batch.retain(|item| {
        let calls = match item {
            Item::Call(..) => 1,
            Item::Lost { id: None, kind: LossKind::Calls, count } => *count,
            _ => return true,
        };
        lost += calls;
        false
    });
    batch.push(Item::Lost { id: None, kind: LossKind::Calls, count: lost });
}

/// What a thread's scan has lost and how often it looked, since this was last told.
fn tell(id: ThreadId, scan: &mut ThreadScan, to: &mut Vec<Item>) {
    for (kind, count) in [(LossKind::Calls, scan.take_lost()), (LossKind::Mixed, scan.take_mixed())]
    {
        if count > 0 {
            to.push(Item::Lost { id: Some(id), kind, count });
        }
    }
    to.extend(scan.take_looks(id).map(Item::Looks));
}

/// Waking up takes the program up to 25 µs in a virtual machine: as long a nap as makes that its share.
fn nap(budget: u64) -> Duration {
    const WAKING_US: u64 = 25;
    Duration::from_micros((WAKING_US * WHOLE / budget.max(1)).clamp(25, 10_000))
}

/// Looks at a thread of this process.
struct Eye {
    arena: Arena,
    slot: usize,
    base: u64,
    frames_max: u32,
}

impl Eye {
    fn new(arena: Arena, slot: usize) -> Self {
        Self { arena, slot, base: arena.stack(slot).0, frames_max: arena.frames_max() }
    }
}

impl Probe for Eye {
    #[inline]
    fn now(&mut self) -> Ticks {
        ticks()
    }

    #[inline]
    fn head(&mut self) -> Head {
        let context = &self.arena.slot(self.slot).context;
        let position = context.position.load(Acquire);
        let generation = context.generation.load(Acquire);
        let depth = position.saturating_sub(self.base) / ENTRY_BYTES;
        Head { depth: depth.min(u64::from(self.frames_max)) as u32, generation }
    }

    fn frame(&mut self, index: u32) -> Glimpse {
        let entry = self.arena.entry(self.slot, index);
        let what = What::from(entry.what.load(Acquire));
        Glimpse { what, generation: entry.generation.load(Acquire) }
    }

    fn generation(&mut self, index: u32) -> u64 {
        self.arena.entry(self.slot, index).generation.load(Acquire)
    }
}

#[cfg(test)]
mod several;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::items::way;
    use std::sync::mpsc::Receiver;

    /// An arena whose first slot has a thread in two calls, of the functions 32 and 64.
    fn arena() -> Arena {
        let arena = Arena::create().expect("address space");
        let slot = arena.slot(0);
        for (depth, desc) in [(0, 32), (1, 64)] {
            let entry = arena.entry(0, depth);
            entry.what.store(desc, Relaxed);
            entry.generation.store(u64::from(depth) + 1, Relaxed);
        }
        slot.context.generation.store(2, Relaxed);
        slot.context.position.store(arena.stack(0).0 + 2 * ENTRY_BYTES, Relaxed);
        slot.life.incarnation.store(1, Relaxed);
        slot.context.state.begin(Term::default());
        arena.header().slots_used.store(1, Relaxed);
        arena
    }

    fn scanner(arena: Arena) -> (Scanner, Receiver<Vec<Item>>) {
        scanner_of(arena, Part::of_each(1).pop().expect("one part"))
    }

    pub(super) fn scanner_of(arena: Arena, part: Part) -> (Scanner, Receiver<Vec<Item>>) {
        let (outlet, inlet) = way();
        let times = Times {
            us: 1000,
            calibration: Calibration::NONE,
            budget: WHOLE,
            cpu: WHOLE,
            began: ticks(),
            shares_core: false,
            looks: true,
        };
        (Scanner::new((arena, Term::default()), part, times, outlet), inlet.from)
    }

    #[test]
    fn a_slot_has_one_thread_at_a_time_though_the_program_counts_up_without_an_end() {
        let arena = arena();
        let (mut scanner, _from) = scanner(arena);
        for incarnation in 1..100 {
            arena.slot(0).life.incarnation.store(incarnation, Relaxed);
            scanner.adopt(ticks());
            assert_eq!(scanner.watched.len(), 1, "{incarnation} threads");
        }
        let count = |is: fn(&Item) -> bool| scanner.batch.iter().filter(|item| is(item)).count();
        assert_eq!(count(|item| matches!(item, Item::Came { .. })), 99);
        assert_eq!(count(|item| matches!(item, Item::Went { .. })), 98);
    }

    #[test]
    fn a_thread_that_ended_before_the_recording_is_no_thread_of_it() {
        let arena = arena();
        let ended = |slot: usize, at: Ticks| {
            let slot = arena.slot(slot);
            slot.life.incarnation.store(1, Relaxed);
            slot.life.ended.store(at, Relaxed);
            slot.context.state.begin(Term::default());
            slot.context.state.end();
        };
        ended(1, ticks());
        let (mut scanner, _from) = scanner(arena);
        ended(2, ticks());
        arena.header().slots_used.store(3, Relaxed);
        scanner.adopt(ticks());
        let came = scanner.batch.iter().filter_map(|item| match item {
            Item::Came { slot, .. } => Some(*slot),
            _ => None,
        });
        assert_eq!(came.collect::<Vec<_>>(), [0, 2]);
        let phase = |slot| arena.slot(slot).context.state.phase();
        let found = [1, 2].map(phase);
        assert_eq!(found, [Phase::Unused, Phase::Ended], "the output sets the other one free");
    }

    #[test]
    fn who_comes_and_what_closes_in_another_recorders_term_is_left_to_that_one() {
        let arena = arena();
        let (mut scanner, _from) = scanner(arena);
        let next = arena.begin_term(|| true).expect("it has the lease");
        assert!(arena.header().unloads.post(&(48..80), 7, arena.term()).is_some());
        assert_eq!(arena.slot(0).context.state.adopt(next), Some(Phase::Live));
        scanner.adopt(ticks());
        assert!(scanner.watched.is_empty() && scanner.batch.is_empty());
        assert!(arena.header().unloads.take(next).is_some());
    }

    #[test]
    fn what_waits_for_an_output_that_stands_still_has_a_bound() {
        const CALLS: u64 = 10_000;
        let (mut scanner, from) = scanner(arena());
        let at = |ticks| Window { from: ticks, to: ticks };
        let mut now = ticks();
        for _ in 0..CALLS {
            let (start, end) = (at(now), at(now + 1));
            let what = What { desc: 32, ..What::default() };
            let call = Ended { what, parent: 0, depth: 0, generation: 1, start, end, flags: 0 };
            scanner.batch.push(Item::Call(ThreadId(0), call));
            scanner.gaps.note(now, now + scanner.us * 10);
            now += scanner.us * 1_000_000;
            scanner.post(now);
            assert!(scanner.batch.len() < 8, "{} items", scanner.batch.len());
        }
        let handed: Vec<Item> = from.try_iter().flatten().collect();
        scanner.post(now);
        let mut told = handed.into_iter().chain(from.try_iter().flatten());
        let calls: u64 = told
            .by_ref()
            .map(|item| match item {
                Item::Call(..) => 1,
                Item::Lost { count, .. } => count,
                _ => 0,
            })
            .sum();
        assert_eq!(calls, CALLS, "none is forgotten");
        assert!(!scanner.is_refused);
    }

    #[test]
    fn before_a_library_goes_all_is_looked_at_and_calls_under_way_are_named() {
        let arena = arena();
        let (mut scanner, from) = scanner(arena);
        assert!(arena.header().unloads.post(&(48..80), 7, arena.term()).is_some());
        let before = ticks();
        assert!(scanner.adopt(before) > before, "or the time that this took were a gap");
        let told: Vec<Item> = from.try_iter().flatten().collect();
        let told: Vec<&Item> = told.iter().filter(|item| !matches!(item, Item::Gap(_))).collect();
        assert!(
            matches!(
                told[..],
                [
                    Item::Came { slot: 0, .. },
                    Item::Standing { desc: 64, at: 7 },
                    Item::Unload { descs: (48, 80), at: 7, .. }
                ]
            ),
            "{told:?}"
        );
    }
}
