//! Marks to requests.

use super::Request;
use crate::clock::TickRate;
use crate::hash::Map;
use crate::record::{Hop, HopKind, Mark, MarkKind, Record, ThreadId, Ticks};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Marks held back to be put in order: those of different threads come as their rings are emptied.
const REORDER: usize = 65_536;
/// Where the caller says until when; 2²⁰ take 56 MB.
const HELD_MAX: usize = 1 << 20;
/// Requests open at a time; then the quarter that has been silent longest is forgotten.
const OPEN_MAX: usize = 65_536;
/// Parts of one request; further ones are left out and the request says so.
const PARTS_MAX: usize = 1024;

/// Calls of one request to other processes; as above.
const LEGS_MAX: usize = 1024;

/// Requests of which a trace tells in part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Incomplete {
    /// Requests that were open when the trace ended.
    pub unfinished: u64,
    /// How long the oldest of them had been, in nanoseconds.
    pub unfinished_max_ns: u64,
    /// Requests that were open too long and given up, when more than 65,536 were open.
    pub forgotten: u64,
    /// Marks of requests that had not begun.
    pub orphan_marks: u64,
}

/// Puts requests together from marks, in bounded memory.
///
/// A request is over with [`MarkKind::EndAll`], or with an [`MarkKind::End`] after which no thread
/// works for it and it neither queues nor is blocked. So a program that hands a request over says
/// `Enqueue` or `Block` before its part ends.
#[derive(Default)]
pub(crate) struct Assembly {
    held: BinaryHeap<Reverse<(Ticks, u64, Told)>>,
    taken: u64,
    open: Map<u64, Open>,
    /// When the last of all was told.
    latest: Ticks,
    /// Requests forgotten while open.
    forgotten: u64,
    /// Marks of requests that nothing had begun.
    orphans: u64,
}

/// What a thread or nobody did for a request in a span of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Part {
    pub(crate) from: Ticks,
    pub(crate) to: Ticks,
    pub(crate) what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    Work(ThreadId),
    /// It stood in a queue, of this address where that was told.
    Queue(Option<u64>),
    Block,
}

/// A call of a request to another process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Leg {
    pub(crate) call: u64,
    pub(crate) sent: Ticks,
    /// `None`: not while the request was under way.
    pub(crate) answered: Option<Ticks>,
}

impl Assembly {
    /// Takes what a record tells of a request, if it does; gives the request that ended, if one did.
    pub(crate) fn add_record(&mut self, record: &Record) -> Option<Request> {
        match record {
            Record::Mark(mark) if mark.kind != MarkKind::Size => self.add(mark),
            Record::Hop(hop) => self.add_hop(hop),
            _ => None,
        }
    }

    /// Takes a mark; gives the request that ended, if one did.
    pub(crate) fn add(&mut self, mark: &Mark) -> Option<Request> {
        self.hold(mark);
        self.overflow()
    }

    /// Takes what a request has to do with a call; as [`Assembly::add`].
    pub(crate) fn add_hop(&mut self, hop: &Hop) -> Option<Request> {
        self.hold_back(hop.at, Told(Fact::Hop(*hop)));
        self.overflow()
    }

    fn overflow(&mut self) -> Option<Request> {
        if self.held.len() > REORDER { self.next().flatten() } else { None }
    }

    /// Holds a mark back until [`Assembly::next_until`].
    pub(crate) fn hold(&mut self, mark: &Mark) {
        self.hold_back(mark.at, Told(Fact::Mark(*mark)));
    }

    fn hold_back(&mut self, at: Ticks, told: Told) {
        self.latest = self.latest.max(at);
        self.held.push(Reverse((at, self.taken, told)));
        self.taken += 1;
    }

    /// Takes the earliest mark held back, if it was set by this time, or if there are too many; `None` otherwise.
    pub(crate) fn next_until(&mut self, until: Ticks) -> Option<Option<Request>> {
        let Reverse((at, ..)) = self.held.peek()?;
        if *at <= until || self.held.len() > HELD_MAX { self.next() } else { None }
    }

    /// The requests that are open: their numbers, and when each began.
    pub(crate) fn open_requests(&self) -> impl Iterator<Item = (u64, Ticks)> {
        self.open.values().map(|open| (open.request.number, open.request.start))
    }

    /// Whether a request of this number is open that began then.
    pub(crate) fn is_open(&self, number: u64, start: Ticks) -> bool {
        self.open.get(&number).is_some_and(|open| open.request.start == start)
    }

    /// Forgets open requests of which nothing was told since then. How many these were.
    pub(crate) fn give_up(&mut self, silent_since: Ticks) -> u64 {
        let before = self.open.len();
        self.open.retain(|_, open| open.last > silent_since);
        (before - self.open.len()) as u64
    }

    /// Takes the earliest mark held back; `None` when there is none left.
    pub(crate) fn next(&mut self) -> Option<Option<Request>> {
        let Reverse((_, _, Told(fact))) = self.held.pop()?;
        Some(match fact {
            Fact::Mark(mark) => self.apply(&mark),
            Fact::Hop(hop) => {
                // Of a request that is over nothing more is told: a call that it did not await.
                if let Some(open) = self.open.get_mut(&hop.request) {
                    open.hop(&hop);
                }
                None
            }
        })
    }

    /// What it could not make whole, when no mark is held back any more.
    pub(crate) fn incomplete(&self, rate: TickRate) -> Incomplete {
        let oldest = self.open.values().map(|open| open.request.start).min();
        Incomplete {
            unfinished: self.open.len() as u64,
            unfinished_max_ns: oldest.map_or(0, |start| rate.ns(self.latest.saturating_sub(start))),
            forgotten: self.forgotten,
            orphan_marks: self.orphans,
        }
    }

    fn apply(&mut self, mark: &Mark) -> Option<Request> {
        if matches!(mark.kind, MarkKind::Start | MarkKind::Enqueue) {
            self.make_room(mark.request);
            let open = self.open.entry(mark.request).or_insert_with(|| Open::new(mark));
            open.mark(mark);
            return None;
        }
        let Some(open) = self.open.get_mut(&mark.request) else {
            self.orphans += 1;
            return None;
        };
        open.mark(mark);
        if mark.kind == MarkKind::EndAll || (mark.kind == MarkKind::End && open.is_idle()) {
            return self.open.remove(&mark.request).map(|open| open.close(mark.at));
        }
        None
    }

    fn make_room(&mut self, request: u64) {
        if self.open.len() < OPEN_MAX || self.open.contains_key(&request) {
            return;
        }
        let mut seen: Vec<Ticks> = self.open.values().map(|open| open.last).collect();
        let (_, &mut limit, _) = seen.select_nth_unstable(OPEN_MAX / 4);
        self.open.retain(|_, open| open.last > limit);
        self.forgotten += (seen.len() - self.open.len()) as u64;
    }
}

/// What is told of a request.
#[derive(Clone, Copy)]
enum Fact {
    Mark(Mark),
    Hop(Hop),
}

/// A fact in the heap: time and arrival decide before it is looked at.
struct Told(Fact);

impl PartialEq for Told {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Told {}

impl PartialOrd for Told {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Told {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// A request that is not over.
struct Open {
    request: Request,
    /// Threads that work for it, and since when.
    working: Vec<(ThreadId, Ticks)>,
    /// Queues it stands in, and since when in the first.
    queued: (u32, Ticks),
    /// It stands in one since it stood in several: when it entered which is not known.
    is_mixed: bool,
    /// The stay in queues that the last start has ended.
    left: Left,
    blocked: Option<Ticks>,
    last: Ticks,
}

impl Open {
    fn new(mark: &Mark) -> Self {
        let request = Request {
            number: mark.request,
            start: mark.at,
            end: mark.at,
            parts: Vec::new(),
            called: None,
            legs: Vec::new(),
            parts_left_out: 0,
        };
        Self {
            request,
            working: Vec::new(),
            queued: (0, 0),
            is_mixed: false,
            left: Left::Nothing,
            blocked: None,
            last: mark.at,
        }
    }

    fn is_idle(&self) -> bool {
        self.working.is_empty() && self.queued.0 == 0 && self.blocked.is_none()
    }

    fn mark(&mut self, mark: &Mark) {
        self.last = mark.at;
        match mark.kind {
            MarkKind::Start => self.start(mark),
            MarkKind::Enqueue => {
                let (count, since) = self.queued;
                self.queued = (count.saturating_add(1), if count == 0 { mark.at } else { since });
                self.is_mixed |= count > 0;
            }
            MarkKind::Block => {
                self.stop(mark.thread, mark.at);
                self.blocked.get_or_insert(mark.at);
            }
            MarkKind::End => self.stop(mark.thread, mark.at),
            MarkKind::EndAll | MarkKind::Size => {}
        }
    }

    fn hop(&mut self, hop: &Hop) {
        self.last = hop.at;
        let legs = &mut self.request.legs;
        match hop.kind {
            HopKind::Called => self.request.called = Some((hop.call, hop.at)),
            HopKind::Sent if legs.len() < LEGS_MAX => {
                legs.push(Leg { call: hop.call, sent: hop.at, answered: None });
            }
            HopKind::Sent => self.request.parts_left_out += 1,
            HopKind::Answered => {
                if let Some(leg) = legs.iter_mut().rev().find(|leg| leg.call == hop.call) {
                    leg.answered = Some(hop.at);
                }
            }
            HopKind::Dequeued => {
                // Told with the start that ended it, by one reading of the clock.
                match std::mem::take(&mut self.left) {
                    Left::Part(at) => {
                        let part = self.request.parts.get_mut(at);
                        if let Some(part) = part.filter(|part| part.to == hop.at) {
                            part.what = What::Queue(Some(hop.call));
                        }
                    }
                    Left::Mixed => self.request.parts_left_out += 1,
                    Left::Nothing => {}
                }
            }
        }
    }

    fn start(&mut self, mark: &Mark) {
        if let Some(since) = self.blocked.take() {
            self.part(since, mark.at, What::Block);
        }
        let (count, since) = self.queued;
        self.left = match count {
            0 => Left::Nothing,
            1 => {
                let is_mixed = std::mem::take(&mut self.is_mixed);
                match self.part(since, mark.at, What::Queue(None)) {
                    None => Left::Nothing,
                    Some(_) if is_mixed => Left::Mixed,
                    Some(at) => Left::Part(at),
                }
            }
            _ => Left::Mixed,
        };
        self.queued.0 = count.saturating_sub(1);
        if self.working.len() < PARTS_MAX && self.working.iter().all(|one| one.0 != mark.thread) {
            self.working.push((mark.thread, mark.at));
        }
    }

    fn stop(&mut self, thread: ThreadId, at: Ticks) {
        if let Some(place) = self.working.iter().position(|one| one.0 == thread) {
            let (thread, since) = self.working.swap_remove(place);
            self.part(since, at, What::Work(thread));
        }
    }

    fn close(mut self, at: Ticks) -> Request {
        while let Some(&(thread, _)) = self.working.last() {
            self.stop(thread, at);
        }
        if self.queued.0 > 0 {
            self.part(self.queued.1, at, What::Queue(None));
        }
        if let Some(since) = self.blocked {
            self.part(since, at, What::Block);
        }
        self.request.end = at;
        self.request.parts.sort_unstable();
        self.request
    }

    /// Its place; none where it took no time, and where there was no room, which is counted.
    fn part(&mut self, from: Ticks, to: Ticks, what: What) -> Option<usize> {
        let at = self.request.parts.len();
        if at >= PARTS_MAX {
            self.request.parts_left_out += 1;
            return None;
        }
        (to > from).then(|| {
            self.request.parts.push(Part { from, to, what });
            at
        })
    }
}

/// Of a stay in queues that has ended.
#[derive(Default)]
enum Left {
    #[default]
    Nothing,
    /// It was in one, and has this place.
    Part(usize),
    /// It was in several: which it left is not known.
    Mixed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use MarkKind::{Block, End, EndAll, Enqueue, Start};

    fn mark((thread, request, kind, at): (u32, u64, MarkKind, Ticks)) -> Mark {
        Mark { thread: ThreadId(thread), request, kind, at }
    }

    fn assemble(marks: &[(u32, u64, MarkKind, Ticks)]) -> (Vec<Request>, Assembly) {
        let mut assembly = Assembly::default();
        let mut done: Vec<_> = marks.iter().filter_map(|&one| assembly.add(&mark(one))).collect();
        while let Some(one) = assembly.next() {
            done.extend(one);
        }
        (done, assembly)
    }

    fn parts(request: &Request) -> Vec<(Ticks, Ticks, What)> {
        request.parts.iter().map(|part| (part.from, part.to, part.what)).collect()
    }

    #[test]
    fn a_request_walks_over_two_threads_and_a_queue() {
        // Thread 2's ring was emptied first.
        let (done, _) = assemble(&[
            (2, 7, Start, 50),
            (2, 7, End, 90),
            (1, 7, Start, 10),
            (1, 7, Enqueue, 20),
            (1, 7, End, 30),
        ]);
        assert_eq!(done.len(), 1);
        assert_eq!((done[0].start, done[0].end), (10, 90));
        let thread = |id| What::Work(ThreadId(id));
        assert_eq!(
            parts(&done[0]),
            [(10, 30, thread(1)), (20, 50, What::Queue(None)), (50, 90, thread(2))]
        );
    }

    #[test]
    fn one_thread_works_for_several_and_numbers_come_again() {
        let (done, assembly) = assemble(&[
            (1, 1, Start, 0),
            (1, 2, Start, 1),
            (1, 1, End, 2),
            (1, 2, Block, 3),
            (1, 1, Start, 4),
            (1, 1, End, 5),
            (1, 2, Start, 6),
            (1, 2, End, 9),
            (1, 3, End, 10),
            (1, 4, Start, 11),
            (1, 5, Start, 14),
        ]);
        let spans: Vec<_> = done.iter().map(|one| (one.number, one.start, one.end)).collect();
        assert_eq!(spans, [(1, 0, 2), (1, 4, 5), (2, 1, 9)]);
        assert_eq!(parts(&done[2])[1], (3, 6, What::Block));
        let found = assembly.incomplete(TickRate { ns_per_tick: 2.0, measured: true });
        let expected =
            Incomplete { unfinished: 2, unfinished_max_ns: 6, forgotten: 0, orphan_marks: 1 };
        assert_eq!(found, expected);
    }

    #[test]
    fn fan_out_waits_for_every_branch_or_for_end_all() {
        let (done, _) = assemble(&[
            (1, 1, Enqueue, 0),
            (1, 1, Enqueue, 0),
            (2, 1, Start, 5),
            (2, 1, End, 6),
            (3, 1, Start, 7),
            (3, 1, End, 9),
            (1, 2, Start, 10),
            (2, 2, Start, 11),
            (1, 2, EndAll, 15),
        ]);
        let spans: Vec<_> = done.iter().map(|one| (one.number, one.start, one.end)).collect();
        assert_eq!(spans, [(1, 0, 9), (2, 10, 15)]);
        assert_eq!(done[1].parts.len(), 2);
    }

    #[test]
    fn requests_that_never_end_are_forgotten_in_time() {
        let mut assembly = Assembly::default();
        for n in 0..1_000_000 {
            assembly.add(&mark((1, n, Start, n)));
            assert!(assembly.open.len() <= OPEN_MAX && assembly.held.len() <= REORDER);
        }
        assert!(assembly.forgotten > 800_000);
    }
}
