//! Where a thread that closes a library asks the recorder to read its names: `threads::unload` says why.

use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use tailwater_profile::record::Ticks;

/// Requests that are under way at most. Libraries that are closed beyond wait for a place, or go unawaited.
pub(crate) const CLOSINGS_MAX: usize = 32;

/// No request is there.
const FREE: u32 = 0;
/// A thread is about to ask.
const FILLING: u32 = 1;
/// For the scanner.
const POSTED: u32 = 2;
/// For the output.
const TAKEN: u32 = 3;

/// Requests in shared memory, each in a place of its own. Zeroed memory has none.
#[repr(C)]
pub(crate) struct Unloads {
    places: [Unload; CLOSINGS_MAX],
    /// Requests that were done; added to by the output.
    done: AtomicU64,
    /// One more than `done` was when a thread gave up waiting; zero: none has. Written by closing threads.
    given_up: AtomicU64,
    unawaited: Unawaited,
}

/// All libraries that were closed without an answer, with a place or without, in one range. Each word but the count only
/// grows, so that zero is none of them. Written by closing threads.
#[repr(C)]
struct Unawaited {
    /// Complement of the least start of their descriptors.
    not_from: AtomicU64,
    to: AtomicU64,
    /// Complement of when the first of them was closed.
    not_first: AtomicU64,
    last: AtomicU64,
    count: AtomicU64,
}

/// Libraries that were closed without an answer. Another one's descriptors may lie there since the first of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Gone {
    /// How many they are.
    pub(crate) count: u64,
    /// All of theirs, and what lies between.
    pub(crate) descs: Range<u64>,
    /// When the first of them was closed.
    pub(crate) first: Ticks,
    /// When the last was.
    pub(crate) last: Ticks,
}

/// Written by whoever has the state's say: a closing thread while it is free or being filled, the scanner while posted, the
/// output while taken.
#[repr(C)]
struct Unload {
    state: AtomicU32,
    /// Requests that were done in this place.
    done: AtomicU32,
    from: AtomicU64,
    to: AtomicU64,
    /// When it was posted: by then the library's last function had returned.
    at: AtomicU64,
}

/// A request as its thread waits for it.
#[derive(Debug)]
pub(crate) struct Posted {
    place: usize,
    done: u32,
}

/// A request as the recorder has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Closing {
    pub(crate) place: usize,
    /// Of the library's descriptors.
    pub(crate) descs: Range<u64>,
    /// When their functions were over.
    pub(crate) at: Ticks,
}

impl Unloads {
    /// The scanner takes the request that was posted first.
    pub(crate) fn take(&self) -> Option<Closing> {
        let posted = self.places.iter().enumerate().filter(|(_, request)| request.is_posted());
        let (place, request) = posted.min_by_key(|(_, request)| request.at.load(Relaxed))?;
        request.state.store(TAKEN, Relaxed);
        let descs = request.from.load(Relaxed)..request.to.load(Relaxed);
        Some(Closing { place, descs, at: request.at.load(Relaxed) })
    }

    /// The output is through with it.
    pub(crate) fn finish(&self, place: usize) {
        let Some(request) = self.places.get(place) else { return };
        // Before the place is free: the next to have it begins from this count.
        request.done.fetch_add(1, Release);
        request.state.store(FREE, Release);
        self.done.fetch_add(1, Release);
    }

    /// Drops all requests, which no recorder is going to take. For one that begins.
    pub(crate) fn clear(&self) {
        let is_there = |place: &usize| self.places[*place].state.load(Acquire) != FREE;
        (0..CLOSINGS_MAX).filter(is_there).for_each(|place| self.finish(place));
        self.given_up.store(0, Relaxed);
        let Unawaited { not_from, to, not_first, last, count } = &self.unawaited;
        for word in [not_from, to, not_first, last, count] {
            word.store(0, Relaxed);
        }
    }

    /// A closing thread asks. `None`: all places are taken.
    pub(crate) fn post(&self, descs: &Range<u64>, at: Ticks) -> Option<Posted> {
        let is_won = |request: &Unload| {
            request.state.compare_exchange(FREE, FILLING, Acquire, Relaxed).is_ok()
        };
        let place = self.places.iter().position(is_won)?;
        let request = &self.places[place];
        let done = request.done.load(Relaxed);
        request.from.store(descs.start, Relaxed);
        request.to.store(descs.end, Relaxed);
        request.at.store(at, Relaxed);
        request.state.store(POSTED, Release);
        Some(Posted { place, done })
    }

    /// Whether the recorder has done what was asked for; another thread may have the place by now.
    pub(crate) fn is_done(&self, posted: &Posted) -> bool {
        // Pairs with `finish`: the names were read.
        self.places[posted.place].done.load(Acquire) != posted.done
    }

    /// A closing thread goes on without an answer, and so do all until the recorder gives one.
    pub(crate) fn give_up(&self) {
        self.given_up.store(self.done.load(Acquire) + 1, Release);
    }

    /// A closing thread goes on without an answer, and the library with these descriptors goes.
    pub(crate) fn leave(&self, descs: &Range<u64>, at: Ticks) {
        let Unawaited { not_from, to, not_first, last, count } = &self.unawaited;
        not_from.fetch_max(!descs.start, Relaxed);
        to.fetch_max(descs.end, Relaxed);
        not_first.fetch_max(!at, Relaxed);
        last.fetch_max(at, Relaxed);
        // Pairs with `gone`: the words above hold this library.
        count.fetch_add(1, Release);
    }

    /// The libraries that went without an answer, if they are not still so many.
    pub(crate) fn gone(&self, known: u64) -> Option<Gone> {
        let Unawaited { not_from, to, not_first, last, count } = &self.unawaited;
        let count = count.load(Acquire);
        (count != known).then(|| Gone {
            count,
            descs: !not_from.load(Relaxed)..to.load(Relaxed),
            first: !not_first.load(Relaxed),
            last: last.load(Relaxed),
        })
    }

    /// Whether the recorder has done nothing since a thread gave up.
    pub(crate) fn is_stalled(&self) -> bool {
        self.given_up.load(Acquire) == self.done.load(Acquire) + 1
    }
}

impl Unload {
    fn is_posted(&self) -> bool {
        self.state.load(Acquire) == POSTED
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As it is in zeroed memory.
    pub(crate) fn unloads() -> Unloads {
        let place = |_| Unload {
            state: FREE.into(),
            done: 0.into(),
            from: 0.into(),
            to: 0.into(),
            at: 0.into(),
        };
        let unawaited = Unawaited {
            not_from: 0.into(),
            to: 0.into(),
            not_first: 0.into(),
            last: 0.into(),
            count: 0.into(),
        };
        let places = std::array::from_fn(place);
        Unloads { places, done: 0.into(), given_up: 0.into(), unawaited }
    }

    #[test]
    fn requests_go_from_hand_to_hand_in_order() {
        let unloads = unloads();
        assert_eq!(unloads.take(), None);
        let second = unloads.post(&(64..96), 8).expect("room");
        let first = unloads.post(&(16..48), 7).expect("room");
        let taken = unloads.take().expect("two wait");
        assert_eq!((taken.descs.clone(), taken.at), (16..48, 7));
        assert_eq!(unloads.take().map(|closing| closing.at), Some(8));
        assert_eq!(unloads.take(), None, "each is taken once");
        unloads.finish(taken.place);
        assert!(unloads.is_done(&first) && !unloads.is_done(&second));
        let again = unloads.post(&(16..48), 9).expect("room");
        assert!(unloads.is_done(&first), "though another has its place");
        unloads.clear();
        assert!(unloads.is_done(&second) && unloads.is_done(&again));
        assert_eq!(unloads.take(), None);
    }

    #[test]
    fn a_full_row_refuses() {
        let unloads = unloads();
        for at in 0..CLOSINGS_MAX as u64 {
            assert!(unloads.post(&(0..32), at).is_some());
        }
        assert!(unloads.post(&(0..32), 99).is_none());
        let taken = unloads.take().expect("many wait");
        assert!(unloads.post(&(0..32), 99).is_none(), "the first is not done");
        unloads.finish(taken.place);
        assert!(unloads.post(&(0..32), 99).is_some());
    }
}
