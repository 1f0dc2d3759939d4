//! The thread that writes: what scanners and rings bring, into a trace.

use crate::look::items::{Inlet, Item};
use crate::look::scan::Ended;
use crate::memory::arena::{Arena, Lost, THREADS_MAX};
use crate::memory::event::{Clocked, Event, Waited};
use crate::memory::lease::Term;
use crate::system::clock;
use crate::system::process;
use crate::system::subject::Subject;
use crate::threads::waits;
use crate::write::clocked;
use crate::write::filter::Filter;
use crate::write::names::{Known, Names};
use crate::write::order::{Order, Scanned};
use crate::write::survivors;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;
use tailwater_profile::record::{
    Call, CallFlags, Counted, Counts, Hold, Hop, Loss, LossKind, Mark, Module, Record, Thread,
    ThreadId, Ticks, Wait,
};
use tailwater_profile::trace::Writer;

/// Between two looks at the rings and the channel. A ring that fills in that time grows.
const NAP: Duration = Duration::from_millis(4);
/// What a killed process loses of its trace is younger than this, in naps.
const NAPS_PER_FLUSH: u32 = 25;
/// Clocks are compared, losses told and libraries looked for this often, in naps.
const NAPS_PER_SECOND: u32 = 250;

/// Libraries told of at most: a program that opens ever new ones has no lines for those beyond.
const MODULES_MAX: usize = 4096;

/// Clocked calls wait for so long for scanned ones that ended before them, which come every 2 ms as a rule.
const HELD_US: u64 = 20_000;
/// As many of all threads wait at most; those of one thread go early beyond. Calls that come late then stand beside what they
/// lay within.
const HELD_MAX: usize = 1 << 16;

/// Writes until the scanners are through.
pub(crate) struct Output<W: Write> {
    arena: Arena,
    term: Term,
    subject: Subject,
    writer: Writer<W>,
    names: Names,
    /// Libraries that went unawaited, as far as the names know.
    gone: u32,
    /// The next recorder has begun, which alone is told of libraries that go.
    is_over: bool,
    /// How many scanners there are.
    scanners: usize,
    /// Where no scanner looks: calls that began from then on are told, whenever the thread was found.
    unscanned_since: Option<Ticks>,
    /// Libraries that go, by the places of their requests, and how many scanners have told all that they saw of each.
    going: HashMap<usize, usize>,
    /// Threads whose rings are emptied.
    threads: Vec<Live>,
    /// Where each stands among them. Each scanned call asks where one was clocked.
    places: HashMap<ThreadId, usize>,
    /// A call was clocked. Before that, nothing waits.
    clocks: bool,
    /// Clocked calls that wait.
    held: usize,
    /// Numbers of all threads, by the kernel's.
    by_tid: HashMap<u32, ThreadId>,
    /// Libraries that were told of.
    modules: Vec<Module>,
    denied: u64,
    /// What had been lost in each slot when that was last told. The counters go on from thread to
    /// thread, so what one loses before the scanner has found it is told, too.
    told: Vec<[u64; 4]>,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
}

/// A thread in its slot.
struct Live {
    id: ThreadId,
    slot: usize,
    /// Frames up to this one were pushed before it was watched.
    first: u64,
    order: Order,
}

impl<W: Write> Output<W> {
    /// Of the recorder that has the lease for this term.
    pub(crate) fn new(
        arena: Arena,
        term: Term,
        writer: Writer<W>,
        filter: Filter,
        subject: Subject,
    ) -> Self {
        Self {
            arena,
            term,
            writer,
            names: Names::new(filter, subject.clone()),
            gone: 0,
            is_over: false,
            subject,
            scanners: 1,
            unscanned_since: None,
            going: HashMap::new(),
            threads: Vec::new(),
            places: HashMap::new(),
            clocks: false,
            held: 0,
            by_tid: HashMap::new(),
            modules: Vec::new(),
            denied: arena.header().denied.load(Relaxed),
            told: (0..THREADS_MAX).map(|slot| losses(arena, slot)).collect(),
            failed: None,
        }
    }

    /// Of a recording that began then, and in which no scanner looks.
    pub(crate) fn unscanned(self, since: Ticks) -> Self {
        Self { unscanned_since: Some(since), ..self }
    }

    /// # Errors
    ///
    /// The first of writing the trace. A program that records itself runs on as if it were recorded.
    pub(crate) fn run(mut self, mut inlets: Vec<Inlet>) -> io::Result<()> {
        self.scanners = inlets.len();
        self.names.open();
        self.look_for_modules();
        for nap in 1u32.. {
            inlets.retain(|inlet| self.receive(inlet));
            self.empty_rings();
            if inlets.is_empty() {
                break;
            } else if inlets.len() < self.scanners {
                // All are about to end, or one has panicked: nobody looks at its threads, and the recording is over.
                process::stop().store(true, Relaxed);
            }
            self.let_go();
            // A program that is killed within the first second needs a second reading too.
            if nap.is_multiple_of(NAPS_PER_SECOND) || nap == NAPS_PER_FLUSH {
                self.every_second();
            }
            if nap.is_multiple_of(NAPS_PER_FLUSH) {
                if self.failed.is_none() {
                    self.failed = self.writer.flush().err();
                }
                self.check_on_subject();
            }
            if !self.is_behind() {
                std::thread::sleep(NAP);
            }
        }
        (0..self.threads.len()).for_each(|at| self.let_go_by(at, Ticks::MAX));
        self.every_second();
        match self.failed {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }

    /// Ends the recording where it is of no use any more.
    fn check_on_subject(&self) {
        match self.subject {
            Subject::Own if survivors::are_ours_alone() => process::outlive(),
            Subject::Other(_) if self.failed.is_some() => process::stop().store(true, Relaxed),
            _ => {}
        }
    }

    /// Takes what has come from a scanner; false when no more will.
    fn receive(&mut self, Inlet { from, emptied }: &Inlet) -> bool {
        loop {
            match from.try_recv() {
                Ok(mut batch) => {
                    for item in batch.drain(..) {
                        self.take(item);
                    }
                    // Full: there are spare ones enough.
                    let _ = emptied.try_send(batch);
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Call(thread, ended) => self.call(thread, ended),
            Item::Gap(gap) => self.write(&Record::Gap(gap)),
            Item::Came { id, slot, generation } => self.came(id, slot, generation),
            Item::Went { id, slot } => self.went(id, slot),
            Item::Standing { desc, at } => {
                self.function(desc, at);
            }
            Item::Unload { place, descs, at } => self.goes(place, descs.0..descs.1, at),
            Item::Looks(looks) => self.write(&Record::Looks(looks)),
            Item::Figure(figure) => self.write(&Record::Figure(figure)),
            Item::Lost { id: Some(id), kind: LossKind::Calls, count } if self.clocks => {
                let count = self.at(id).map_or(count, |at| {
                    self.empty_ring(at);
                    self.threads[at].order.truly_lost(count)
                });
                self.lost(Some(id), LossKind::Calls, count);
            }
            Item::Lost { id, kind, count } => self.lost(id, kind, count),
        }
    }

    /// The place of a thread.
    fn at(&self, id: ThreadId) -> Option<usize> {
        self.places.get(&id).copied()
    }

    fn call(&mut self, thread: ThreadId, ended: Ended) {
        self.clocks |= ended.what.is_clocked;
        if self.clocks
            && let Some(at) = self.at(thread)
        {
            // The thread told of it before the scanner could find it gone.
            self.empty_ring(at);
            let told_by = self.threads[at].order.scanned(&ended);
            while let Some(before) = self.threads[at].order.before(&ended) {
                self.held -= 1;
                self.write_clocked(&before);
            }
            if told_by == Scanned::Clocked {
                return;
            }
        }
        let seen_by = ended.start.to;
        let known = self.function(ended.what.desc, seen_by).filter(|known| known.keeps);
        let parent = known.and_then(|_| self.function(ended.parent, seen_by));
        if self.is_over {
            return self.lost(Some(thread), LossKind::Calls, 1);
        }
        let Some(known) = known else { return };
        // Windows that overlapped have been cut: the end's middle is no earlier than the start's.
        let (start, start_slack) = ended.start.middle();
        let (end, end_slack) = ended.end.middle();
        self.write(&Record::Call(Call {
            thread,
            function: known.id,
            parent: parent.map(|parent| parent.id),
            depth: ended.depth,
            generation: ended.generation,
            start,
            start_slack,
            end,
            end_slack,
            flags: CallFlags(ended.flags),
            site: ended.what.site,
        }));
    }

    /// A call that its thread has clocked.
    fn clocked(&mut self, at: usize, call: &Clocked) {
        self.clocks = true;
        let Live { id: thread, first, .. } = self.threads[at];
        let is_before = match self.unscanned_since {
            Some(since) => call.start < since,
            // The scanner tells of it, if it was live then.
            None => call.generation <= first,
        };
        if is_before {
            return;
        }
        let known = self.function(call.what.desc, call.start);
        let parent = known.and_then(|_| self.function(call.parent, call.start));
        if self.is_over {
            return self.lost(Some(thread), LossKind::Clocked, 1);
        }
        let Some(known) = known.filter(|known| known.keeps) else {
            return self.threads[at].order.leave_out();
        };
        let us = u64::from(self.arena.header().watch.ticks_per_us.number());
        let parent = parent.map(|parent| parent.id);
        let told = clocked::told(call, us, thread, known.id, parent);
        let is_held = self.threads[at].order.hold(told, call.counts);
        self.held += usize::from(is_held);
        if self.held > HELD_MAX {
            self.let_go_by(at, Ticks::MAX);
        }
    }

    /// Writes clocked calls that have waited for long enough.
    fn let_go(&mut self) {
        let us = u64::from(self.arena.header().watch.ticks_per_us.number());
        let then = clock::ticks().saturating_sub(us * HELD_US);
        // Asked after the clock: scanners are about to tell what was live when they looked last, which may have ended since.
        let is_ending = process::stop().load(Relaxed);
        if self.held > 0 && !is_ending {
            (0..self.threads.len()).for_each(|at| self.let_go_by(at, then));
        }
    }

    /// Writes those of a thread that had ended by then.
    fn let_go_by(&mut self, at: usize, then: Ticks) {
        while let Some(call) = self.threads[at].order.ended_by(then) {
            self.held -= 1;
            self.write_clocked(&call);
        }
    }

    fn write_clocked(&mut self, (call, counts): &(Call, Counts)) {
        self.write(&Record::Call(*call));
        if !counts.counters().is_empty() {
            let Call { thread, function, generation, start, end, .. } = *call;
            let counts = *counts;
            let counted = Counted { thread, function, generation, start, end, counts };
            self.write(&Record::Counted(counted));
        }
    }

    fn came(&mut self, id: ThreadId, slot: usize, first: u64) {
        let tid = self.arena.slot(slot).context.tid.load(Relaxed);
        let name = if tid == 0 {
            "fiber".to_owned()
        } else {
            self.by_tid.insert(tid, id);
            self.subject.name_of(tid)
        };
        self.write(&Record::Thread(Thread { id, tid, name }));
        self.places.insert(id, self.threads.len());
        self.threads.push(Live { id, slot, first, order: Order::default() });
    }

    fn went(&mut self, id: ThreadId, slot: usize) {
        let Some(at) = self.at(id) else { return };
        self.empty_ring(at);
        self.let_go_by(at, Ticks::MAX);
        self.tell_losses(id, slot);
        self.places.remove(&id);
        self.threads.swap_remove(at);
        if let Some(moved) = self.threads.get(at) {
            self.places.insert(moved.id, at);
        }
        self.arena.slot(slot).context.state.free(self.term);
    }

    /// A ring has filled up again in the time in which the others were emptied.
    fn is_behind(&self) -> bool {
        self.threads.iter().any(|live| self.arena.ring(live.slot).is_filling(self.term))
    }

    fn empty_rings(&mut self) {
        (0..self.threads.len()).for_each(|at| self.empty_ring(at));
    }

    fn empty_ring(&mut self, at: usize) {
        let Live { id: thread, slot, .. } = self.threads[at];
        // A thread that never stops pushing must not hold up the others.
        let ring = self.arena.ring(slot);
        for _ in 0..ring.capacity() {
            let Some(event) = Event::pop(ring, self.term) else { return };
            match event {
                Some(Event::Wait(waited)) => self.wait(thread, &waited),
                Some(Event::Mark { kind, request, at }) => {
                    self.write(&Record::Mark(Mark { thread, request, kind, at }));
                }
                Some(Event::Hop { kind, request, call, at }) => {
                    self.write(&Record::Hop(Hop { thread, request, kind, call, at }));
                }
                Some(Event::Call(call)) => self.clocked(at, &call),
                None => {}
            }
        }
    }

    fn wait(&mut self, thread: ThreadId, waited: &Waited) {
        let function = self.function(waited.function, waited.start).map(|known| known.id);
        let holder_function = self.function(waited.held_in.desc, waited.start);
        if self.is_over {
            return self.lost(Some(thread), LossKind::Waits, 1);
        }
        let Waited { kind, object, end, released, site, .. } = *waited;
        if waited.is_hold() {
            let hold = Hold { thread, kind, object, start: end, end: released, function, site };
            return self.write(&Record::Hold(hold));
        }
        self.write(&Record::Wait(Wait {
            thread,
            kind,
            object,
            start: waited.start,
            end,
            released,
            holder: self.by_tid.get(&waited.holder).copied().filter(|_| waited.holder != 0),
            function,
            holder_function: holder_function.map(|known| known.id),
            holder_site: waited.held_in.site,
            site,
        }));
    }

    /// The function of a frame that was there at `at`. Written down when it is met for the first time. `None` for no
    /// descriptor, and where that is over.
    fn function(&mut self, desc: u64, at: Ticks) -> Option<Known> {
        let unawaited = &self.arena.header().unloads.unawaited;
        // Each time: what was handed over before this recorder stood still may be of libraries that went meanwhile.
        if let Some(gone) = unawaited.gone(self.gone, self.term) {
            self.gone = gone.count;
            self.names.retire_unawaited(gone.descs, gone.first, gone.last);
        }
        // Once more when it was read. A library is counted before it is unmapped, and each piece is read by a system call: where
        // that came upon what was mapped there next, the count that is loaded after it has the library.
        let (before, by) = (self.gone, self.term);
        let stands = || unawaited.gone(before, by).is_none();
        let named = self.names.of(desc, at, stands);
        // Last. Closing threads count for the latest term alone: while that is ours, so were the counts that were loaded.
        self.is_over |= self.arena.term() != self.term;
        let (known, fresh) = named.filter(|_| !self.is_over)?;
        if let Some(function) = fresh {
            self.write(&Record::Function(function));
        }
        Some(known)
    }

    fn every_second(&mut self) {
        self.write(&Record::Clock(clock::read()));
        for at in 0..self.threads.len() {
            let Live { id, slot, .. } = self.threads[at];
            self.tell_losses(id, slot);
        }
        let denied = self.arena.header().denied.load(Relaxed);
        self.lost(None, LossKind::Threads, denied.saturating_sub(self.denied));
        self.denied = denied;
        let born = self.arena.header().watch.born.take(self.term);
        self.lost(None, LossKind::Children, born.into());
        self.look_for_modules();
    }

    /// Tells what a thread has lost since it was last told.
    fn tell_losses(&mut self, id: ThreadId, slot: usize) {
        let now = losses(self.arena, slot);
        let told = std::mem::replace(&mut self.told[slot], now);
        let kinds = [LossKind::Overflow, LossKind::Waits, LossKind::Marks, LossKind::Clocked];
        for (kind, (now, told)) in kinds.into_iter().zip(now.into_iter().zip(told)) {
            self.lost(Some(id), kind, now.saturating_sub(told));
        }
    }

    fn lost(&mut self, thread: Option<ThreadId>, kind: LossKind, count: u64) {
        if count > 0 {
            self.write(&Record::Loss(Loss { thread, kind, count }));
        }
    }

    /// A scanner has told all that it saw of a library that goes. It may once all have.
    fn goes(&mut self, place: usize, descs: Range<u64>, at: Ticks) {
        let told = self.going.entry(place).or_insert(0);
        *told += 1;
        if *told == self.scanners {
            self.going.remove(&place);
            self.let_library_go(descs, at);
            self.arena.header().unloads.finish(place, self.term);
        }
    }

    /// Reads what will be needed of a library that waits to be unmapped.
    fn let_library_go(&mut self, descs: Range<u64>, at: Ticks) {
        self.look_for_modules();
        self.empty_rings();
        for live in 0..self.threads.len() {
            // Waits that are told when their lock is let go, which may be later.
            let functions = waits::pending_functions(self.arena.slot(self.threads[live].slot));
            for function in functions.filter(|function| descs.contains(function)) {
                self.function(function, at);
            }
        }
        self.names.retire(descs, at);
    }

    /// Names what was mapped since it last looked.
    fn look_for_modules(&mut self) {
        for module in self.subject.modules() {
            if self.modules.len() < MODULES_MAX && !self.modules.contains(&module) {
                self.write(&Record::Module(module.clone()));
                self.modules.push(module);
            }
        }
    }

    fn write(&mut self, record: &Record) {
        if self.failed.is_none() {
            self.failed = self.writer.write(record).err();
        }
    }
}

/// Frames, waits, marks and clocked calls that the threads of a slot have lost so far.
fn losses(arena: Arena, slot: usize) -> [u64; 4] {
    let Lost { frames, waits, marks, calls } = &arena.slot(slot).lost;
    [frames, waits, marks, calls].map(|count| count.load(Relaxed))
}

#[cfg(test)]
mod tests;
