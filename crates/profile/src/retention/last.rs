//! The last moments of a recording, as a flight recorder keeps them.

use super::held::span;
use crate::clock::{Clocks, TickRate};
use crate::record::{Clock, Loss, LossKind, Record, Thread, ThreadId, Ticks};
use crate::trace::Header;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

/// Records held; 2²¹ take some 200 MB. Each wait for a core has a list beside that, of up to eight threads that had it: 300 MB
/// more if all are such. When they are more, the oldest go before their time. A power of two, as what holds them grows to such.
const HELD_MAX: usize = 1 << 21;
const _: () = assert!(size_of::<(Ticks, Record)>() <= 96);

/// Names are remembered of so many threads and of those of which something is held. A program has a sixteenth of that at
/// a time, and is told of looks at each of these every second. So those that are forgotten have ended.
const THREADS_MAX: u64 = 1 << 16;

/// A record may end so long after the last clock: one comes each second, and what writes may be late. An end beyond is a
/// damaged or hostile program's, and would make all others too old.
const AHEAD_MAX: Duration = Duration::from_secs(2);

/// Holds the records of a trace, as they come, for so long.
pub struct Last {
    length: Duration,
    /// [`Last::length`] in ticks; nothing goes before that is known.
    window: Option<Ticks>,
    clocks: Clocks,
    /// The first was handed on.
    has_clock: bool,
    /// The last of the others.
    clock: Option<Clock>,
    /// Until when time has gone on, by clocks and by ends.
    latest: Ticks,
    /// Ends beyond this say nothing of how late it is; unbounded before a rate is known.
    latest_max: Ticks,
    /// With the time at which each was over.
    held: VecDeque<(Ticks, Record)>,
    threads: Threads,
    losses: BTreeMap<LossKind, u64>,
    /// What went, and of that what went for want of room.
    gone: u64,
    crowded: u64,
}

/// What was not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone {
    /// Calls, waits, marks, gaps and facts of the kernel that were too old.
    pub old: u64,
    /// Such that were not, and for which there was no room.
    pub crowded: u64,
}

impl Last {
    /// Of the trace with this header.
    #[must_use]
    pub fn new(header: &Header, length: Duration) -> Self {
        Self {
            length,
            window: None,
            clocks: Clocks::new(header.clock),
            has_clock: false,
            clock: None,
            latest: 0,
            latest_max: Ticks::MAX,
            held: VecDeque::new(),
            threads: Threads::default(),
            losses: BTreeMap::new(),
            gone: 0,
            crowded: 0,
        }
    }

    /// Takes the next record. Names of functions and libraries are handed on at once: there are no more of them than the
    /// program has, however long it is recorded. So is the first clock.
    pub fn add(&mut self, record: Record, mut keep: impl FnMut(&Record)) {
        match record {
            Record::Clock(clock) => {
                self.time_goes_on(&clock);
                if self.has_clock {
                    self.clock = Some(clock);
                } else {
                    self.has_clock = true;
                    keep(&record);
                }
            }
            Record::Thread(thread) => self.threads.add(thread, || mentioned(&self.held)),
            Record::Loss(Loss { kind, count, .. }) => {
                let sum = self.losses.entry(kind).or_default();
                *sum = sum.saturating_add(count);
            }
            // Of the second before, so that they are as old as what has just come.
            Record::Looks(looks) => {
                self.threads.is_there(looks.thread);
                self.hold(self.latest, record);
            }
            record => match end(&record) {
                Some(end) => self.hold(end, record),
                None => keep(&record),
            },
        }
    }

    fn time_goes_on(&mut self, clock: &Clock) {
        self.clocks.add(clock);
        if let Some(rate) = self.rate() {
            self.window = Some(rate.ticks(self.length));
            self.latest_max = clock.ticks.saturating_add(rate.ticks(AHEAD_MAX));
            // Time goes on though nothing happens. And what ended during a stall of what writes lay beyond the bound.
            self.latest = if self.latest > self.latest_max {
                clock.ticks
            } else {
                self.latest.max(clock.ticks)
            };
        }
    }

    fn hold(&mut self, end: Ticks, record: Record) {
        if end <= self.latest_max {
            self.latest = self.latest.max(end);
        }
        self.drop_old();
        // Before there is one more: room for that would be room for as many again.
        if self.held.len() == HELD_MAX {
            self.crowded += self.drop_first();
        }
        self.held.push_back((end, record));
    }

    /// Forgets the names of threads of which nothing is held, and says of which something is. What numbers threads is to forget
    /// the same ones, and to tell of each anew that is there again.
    pub fn forget_threads(&mut self) -> HashSet<ThreadId> {
        // Time may have gone on since the last of them was held.
        self.drop_old();
        let mentioned = mentioned(&self.held);
        self.threads.keep_only(&mentioned);
        mentioned
    }

    fn drop_old(&mut self) {
        let from = self.from();
        while self.held.front().is_some_and(|(end, _)| *end < from) {
            self.gone += self.drop_first();
        }
    }

    /// Returns how many went of what is counted.
    fn drop_first(&mut self) -> u64 {
        self.held.pop_front().map_or(0, |(_, record)| counted(&record))
    }

    /// How long a tick is, once two clocks have come.
    #[must_use]
    pub fn rate(&self) -> Option<TickRate> {
        Some(self.clocks.rate()).filter(|rate| rate.measured)
    }

    /// No more comes: hands on what is held, in the order in which it came, behind the names of its threads. What was lost
    /// is of the whole recording, and of no thread.
    pub fn finish(mut self, mut keep: impl FnMut(&Record)) -> Gone {
        let from = self.from();
        // Threads have their turns, and so an old record may stand behind one that is not.
        self.held.retain(|(end, record)| {
            let is_old = *end < from;
            self.gone += if is_old { counted(record) } else { 0 };
            !is_old
        });
        let mentioned = mentioned(&self.held);
        let named = self.threads.named.into_values().map(|(thread, _)| thread);
        let needed = named.filter(|thread| mentioned.contains(&thread.id));
        needed.for_each(|thread| keep(&Record::Thread(thread)));
        let losses = self.losses.into_iter();
        losses.for_each(|(kind, count)| keep(&Record::Loss(Loss { thread: None, kind, count })));
        self.clock.iter().for_each(|clock| keep(&Record::Clock(*clock)));
        self.held.iter().for_each(|(_, record)| keep(record));
        Gone { old: self.gone, crowded: self.crowded }
    }

    /// What ended before is too old.
    fn from(&self) -> Ticks {
        self.window.map_or(0, |window| self.latest.saturating_sub(window))
    }
}

/// Names of threads, and in whose turn each was last there.
#[derive(Default)]
struct Threads {
    named: BTreeMap<ThreadId, (Thread, u64)>,
    /// One for each thread that came.
    turn: u64,
}

impl Threads {
    /// `mentioned` says whose names are needed in any case.
    fn add(&mut self, thread: Thread, mentioned: impl FnOnce() -> HashSet<ThreadId>) {
        self.turn += 1;
        self.named.insert(thread.id, (thread, self.turn));
        // Seldom: all that is held is looked through.
        if self.turn.is_multiple_of(THREADS_MAX) {
            let (turn, mentioned) = (self.turn, mentioned());
            self.named.retain(|id, (_, last)| turn - *last < THREADS_MAX || mentioned.contains(id));
        }
    }

    fn keep_only(&mut self, needed: &HashSet<ThreadId>) {
        self.named.retain(|id, _| needed.contains(id));
        self.named.values_mut().for_each(|(_, last)| *last = self.turn);
    }

    fn is_there(&mut self, id: ThreadId) {
        if let Some((_, last)) = self.named.get_mut(&id) {
            *last = self.turn;
        }
    }
}

/// Whose names readers of these need.
fn mentioned(held: &VecDeque<(Ticks, Record)>) -> HashSet<ThreadId> {
    let mut threads = HashSet::new();
    held.iter().for_each(|(_, record)| match record {
        Record::Call(call) => threads.extend([call.thread]),
        Record::Wait(wait) => threads.extend(wait.holder.into_iter().chain([wait.thread])),
        Record::Hold(hold) => threads.extend([hold.thread]),
        Record::Counted(one) => threads.extend([one.thread]),
        Record::Mark(mark) => threads.extend([mark.thread]),
        Record::Hop(hop) => threads.extend([hop.thread]),
        Record::Gap(gap) => threads.extend(gap.thread),
        Record::Looks(looks) => threads.extend([looks.thread]),
        Record::State(state) => threads.extend(state.threads()),
        Record::Interruption(one) => threads.extend([one.thread]),
        Record::Sample(sample) => threads.extend([sample.thread]),
        _ => {}
    });
    threads
}

/// Looks are not: what they tell of went as well.
fn counted(record: &Record) -> u64 {
    u64::from(!matches!(record, Record::Looks(_)))
}

/// When a record's fact was over, in the middle of what is known of that; `None` for what has no time.
fn end(record: &Record) -> Option<Ticks> {
    match record {
        Record::Call(call) => Some(call.end),
        other => span(other).map(|(_, end)| end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_remembered_of_threads_that_are_there_or_needed_and_of_few_others() {
        let mut threads = Threads::default();
        let (is_there, needed) = (ThreadId(0), ThreadId(1));
        for id in 0..5 * THREADS_MAX as u32 {
            let thread = Thread { id: ThreadId(id), tid: id, name: String::new() };
            threads.add(thread, || HashSet::from([needed]));
            threads.is_there(is_there);
            assert!(threads.named.len() as u64 <= 2 * THREADS_MAX + 2);
        }
        let remembers = |id| threads.named.contains_key(&id);
        assert!(remembers(is_there) && remembers(needed) && !remembers(ThreadId(2)));
    }
}
