//! Where a thread that closes a library asks the recorder to read its names: `threads::unload` says why.

use crate::memory::lease::Term;
use crate::memory::unawaited::Unawaited;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use tailwater_profile::record::Ticks;

/// Requests that are under way at most. Libraries that are closed beyond wait for a place, or go unawaited.
pub(crate) const CLOSINGS_MAX: usize = 32;

/// No request is there.
const FREE: u32 = 0;
/// A thread is about to ask, which alone changes it.
const FILLING: u32 = 1;
/// For the scanner.
const POSTED: u32 = 2;
/// For the output.
const TAKEN: u32 = 3;
/// The bits of these.
const PHASE_BITS: u32 = 2;

/// A request's state, which is one word: so one compare-exchange decides between a recorder that stood still and the next.
#[derive(Clone, Copy)]
struct State {
    phase: u32,
    /// Requests that were done in this place, in 30 bits. So no two requests of a place have the same word.
    done: u32,
    /// In which it was posted; once it is taken, of the recorder that did so.
    term: Term,
}

impl State {
    const fn of(word: u64) -> Self {
        let below = word as u32;
        let phase = below & ((1 << PHASE_BITS) - 1);
        Self { phase, done: below >> PHASE_BITS, term: Term::above(word) }
    }

    const fn word(self) -> u64 {
        self.term.with(self.done << PHASE_BITS | self.phase)
    }
}

/// Requests in shared memory, each in a place of its own. Zeroed memory has none.
#[repr(C)]
pub(crate) struct Unloads {
    places: [Unload; CLOSINGS_MAX],
    /// Requests that were done in a term, and that term above; added to by its recorder's output.
    done: AtomicU64,
    /// One more than `done` was when a thread gave up waiting; zero: none has. Written by closing threads. Only grows, as
    /// `done` does.
    given_up: AtomicU64,
    pub(crate) unawaited: Unawaited,
}

/// Written by the closing thread that has won it. The state also by the scanner that takes it, by the output when it is done,
/// and by the next recorder, which drops it.
#[repr(C)]
struct Unload {
    /// A [`State`].
    state: AtomicU64,
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
    /// The scanner takes the request that was posted first, unless it is for a later recorder. The library of one that was
    /// posted in an earlier term was through by then, and no recorder that began since has seen it: whichever takes it may.
    pub(crate) fn take(&self, by: Term) -> Option<Closing> {
        // A place is lost to another recorder once at most, unless the program writes there what it likes.
        let taken = (0..CLOSINGS_MAX).find_map(|_| {
            let posted = self.places.iter().enumerate();
            let posted = posted.filter_map(|(place, request)| request.posted(place, by));
            let Some((word, closing)) = posted.min_by_key(|(_, closing)| closing.at) else {
                return Some(None);
            };
            let taken = State { phase: TAKEN, term: by, ..State::of(word) }.word();
            let state = &self.places[closing.place].state;
            // Release: the words of the request were read, and may be written anew once it is dropped. Relaxed where it
            // fails: what was read is not used.
            state.compare_exchange(word, taken, Release, Relaxed).ok().map(|_| Some(closing))
        });
        taken.flatten()
    }

    /// The output is through with what its scanner took. Nothing where the next recorder has dropped that.
    pub(crate) fn finish(&self, place: usize, by: Term) {
        let is_its = |now: State| now.phase == TAKEN && now.term == by;
        if self.places.get(place).is_some_and(|request| request.end(is_its)) {
            let one_more =
                |now| (Term::above(now) == by).then(|| by.with((now as u32).wrapping_add(1)));
            // Release: pairs with `give_up` and `is_stalled`.
            let _ = self.done.fetch_update(Release, Relaxed, one_more);
        }
    }

    /// Drops the requests for earlier recorders. One that is being filled stays: it will be posted, and taken. For the next
    /// recorder, in its term.
    pub(crate) fn clear(&self, next: Term) {
        let is_earlier = |now: State| matches!(now.phase, POSTED | TAKEN) && now.term < next;
        for request in &self.places {
            request.end(is_earlier);
        }
        let none = |now| (Term::above(now) < next).then(|| next.with(0));
        // Release: pairs with `give_up` and `is_stalled`. No thread has given this recorder up.
        let _ = self.done.fetch_update(Release, Relaxed, none);
    }

    /// A closing thread asks the recorder of that term. `None`: all places are taken.
    pub(crate) fn post(&self, descs: &Range<u64>, at: Ticks, term: Term) -> Option<Posted> {
        let mut places = self.places.iter().enumerate();
        let (place, done) =
            places.find_map(|(place, request)| request.claim().map(|done| (place, done)))?;
        let request = &self.places[place];
        request.from.store(descs.start, Relaxed);
        request.to.store(descs.end, Relaxed);
        request.at.store(at, Relaxed);
        // Not a compare-exchange: nobody else writes what is being filled. Release: pairs with `posted`.
        request.state.store(State { phase: POSTED, done, term }.word(), Release);
        Some(Posted { place, done })
    }

    /// Whether the recorder has done what was asked for; another thread may have the place by now.
    pub(crate) fn is_done(&self, posted: &Posted) -> bool {
        // Acquire: pairs with `Unload::end`. The names were read.
        State::of(self.places[posted.place].state.load(Acquire)).done != posted.done
    }

    /// A closing thread goes on without an answer, and so do all until the recorder gives one.
    pub(crate) fn give_up(&self) {
        // Not a store: another thread may have given up the next recorder.
        self.given_up.fetch_max(self.done.load(Acquire) + 1, Release);
    }

    /// Whether the recorder has done nothing since a thread gave up.
    pub(crate) fn is_stalled(&self) -> bool {
        self.given_up.load(Acquire) == self.done.load(Acquire) + 1
    }
}

impl Unload {
    /// A closing thread wins it, if it is free. Answers how many requests were done here.
    fn claim(&self) -> Option<u32> {
        let word = self.state.load(Relaxed);
        let now = State::of(word);
        let filling = State { phase: FILLING, ..now }.word();
        // Acquire: pairs with `end` and `take`. The last request's words were read before this one's are written.
        let is_won = now.phase == FREE
            && self.state.compare_exchange(word, filling, Acquire, Relaxed).is_ok();
        is_won.then_some(now.done)
    }

    /// What was posted for that recorder or an earlier one, with the state by which it was found.
    fn posted(&self, place: usize, by: Term) -> Option<(u64, Closing)> {
        // Acquire: pairs with `post`. The words are there.
        let word = self.state.load(Acquire);
        let State { phase, term, .. } = State::of(word);
        let descs = self.from.load(Relaxed)..self.to.load(Relaxed);
        let closing = Closing { place, descs, at: self.at.load(Relaxed) };
        (phase == POSTED && term <= by).then_some((word, closing))
    }

    /// Sets it free as done, if its state is such.
    fn end(&self, is_such: impl Fn(State) -> bool) -> bool {
        let ended = |word| {
            let State { done, .. } = Some(State::of(word)).filter(|now| is_such(*now))?;
            Some(State { phase: FREE, done: done.wrapping_add(1), term: Term::default() }.word())
        };
        // Release: pairs with `is_done`, for what was read of the library, and with `claim`, to which it hands on what `take`
        // released. Relaxed where it fails: nothing is read after it.
        self.state.fetch_update(Release, Relaxed, ended).is_ok()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::memory::unawaited::tests::unawaited;

    /// As it is in zeroed memory.
    pub(crate) fn unloads() -> Unloads {
        let place = |_| Unload { state: 0.into(), from: 0.into(), to: 0.into(), at: 0.into() };
        let places = std::array::from_fn(place);
        Unloads { places, done: 0.into(), given_up: 0.into(), unawaited: unawaited() }
    }

    const FIRST: Term = Term(1);
    const NEXT: Term = Term(2);

    fn post(unloads: &Unloads, descs: Range<u64>, at: Ticks, term: Term) -> Posted {
        unloads.post(&descs, at, term).expect("room")
    }

    #[test]
    fn requests_go_from_hand_to_hand_in_order() {
        let unloads = unloads();
        assert_eq!(unloads.take(FIRST), None);
        let second = post(&unloads, 64..96, 8, FIRST);
        let first = post(&unloads, 16..48, 7, FIRST);
        let taken = unloads.take(FIRST).expect("two wait");
        assert_eq!((taken.descs.clone(), taken.at), (16..48, 7));
        assert_eq!(unloads.take(FIRST).map(|closing| closing.at), Some(8));
        assert_eq!(unloads.take(FIRST), None, "each is taken once");
        unloads.finish(taken.place, FIRST);
        assert!(unloads.is_done(&first) && !unloads.is_done(&second));
        let again = post(&unloads, 16..48, 9, FIRST);
        assert!(unloads.is_done(&first), "though another has its place");
        unloads.clear(NEXT);
        assert!(unloads.is_done(&second) && unloads.is_done(&again));
        assert_eq!(unloads.take(NEXT), None);
    }

    /// Whatever happened between a look at the term and this: the word alone decides.
    #[test]
    fn a_recorder_that_stood_still_takes_and_finishes_no_request_for_the_next() {
        let unloads = unloads();
        let dropped = post(&unloads, 0..32, 7, FIRST);
        let taken = unloads.take(FIRST).expect("one waits");
        unloads.clear(NEXT);
        assert!(unloads.is_done(&dropped));
        // In the same place, posted and then taken.
        let posted = post(&unloads, 32..64, 8, NEXT);
        assert_eq!((posted.place, unloads.take(FIRST)), (taken.place, None));
        unloads.finish(taken.place, FIRST);
        assert!(!unloads.is_done(&posted));
        let next = unloads.take(NEXT).expect("it waits still");
        unloads.finish(taken.place, FIRST);
        unloads.clear(FIRST);
        assert!(!unloads.is_done(&posted));
        unloads.finish(next.place, NEXT);
        assert!(unloads.is_done(&posted));
    }

    #[test]
    fn a_thread_gives_up_one_recorder_which_gets_on_for_itself_alone() {
        let unloads = unloads();
        unloads.clear(FIRST);
        let given_up = post(&unloads, 0..32, 7, FIRST);
        unloads.give_up();
        assert!(unloads.is_stalled());
        let taken = unloads.take(FIRST).expect("one waits");
        unloads.finish(taken.place, FIRST);
        assert!(unloads.is_done(&given_up) && !unloads.is_stalled());
        unloads.give_up();
        unloads.clear(NEXT);
        assert!(!unloads.is_stalled(), "the next one is waited for");
        unloads.give_up();
        unloads.clear(FIRST);
        assert!(unloads.is_stalled());
        post(&unloads, 0..32, 8, NEXT);
        let taken = unloads.take(NEXT).expect("one waits");
        unloads.finish(taken.place, NEXT);
        assert!(!unloads.is_stalled());
    }

    #[test]
    fn a_request_that_is_being_filled_when_the_next_recorder_begins_is_that_ones() {
        let unloads = unloads();
        let done = unloads.places[0].claim().expect("it is free");
        unloads.clear(NEXT);
        let other = post(&unloads, 64..96, 9, NEXT);
        assert_eq!(other.place, 1, "the place is not free");
        let posted = State { phase: POSTED, done, term: FIRST }.word();
        unloads.places[0].state.store(posted, Release);
        let places = [(); 2].map(|()| unloads.take(NEXT).map(|closing| closing.place));
        assert_eq!(places, [Some(0), Some(1)]);
    }

    #[test]
    fn a_full_row_refuses() {
        let unloads = unloads();
        for at in 0..CLOSINGS_MAX as u64 {
            assert!(unloads.post(&(0..32), at, FIRST).is_some());
        }
        assert!(unloads.post(&(0..32), 99, FIRST).is_none());
        let taken = unloads.take(FIRST).expect("many wait");
        assert!(unloads.post(&(0..32), 99, FIRST).is_none(), "the first is not done");
        unloads.finish(taken.place, FIRST);
        assert!(unloads.post(&(0..32), 99, FIRST).is_some());
    }
}
