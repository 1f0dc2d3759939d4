//! A library goes while the program is recorded: what its functions are called is read before.
//!
//! The thread that closes it posts where the library's descriptors lie, and waits. The scanner looks at
//! every thread once more and hands the request on behind what it saw; the output writes down all that
//! came before it, keeps the names, and sets the place free. What comes later at these addresses is
//! another library's.
//!
//! The disk of a recorder may stand still. One thread then waits in vain, and those that close libraries after it post
//! without waiting, until the recorder gets on. All of these are in one range, which the output retires before it reads another
//! name: there may be other libraries at their addresses.
//!
//! Where nobody is waited for, the library is told of all the same. A recorder that stood still for longer than its lease may
//! go on, and what it has read is of what lay there before.
//!
//! When the process exits, its libraries say the same, though none is unmapped and threads may still be at
//! work in them. So the scanner also names the functions of calls that are under way.
//!
//! The closing thread has the dynamic linker's lock, and a thread that begins needs it: before the
//! recorder's threads run, nobody waits for them. They have seen nothing of the library then.

use crate::memory::arena::Arena;
use crate::memory::lease::Term;
use crate::memory::mailbox::Unloads;
use crate::system::clock;
use crate::system::process;
use crate::system::shim;
use std::ops::Range;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};
use tailwater_profile::record::Ticks;

/// A recorder that takes longer stands still, and the program goes on: what it has not read by then of the
/// library's names is lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks whether it is done; the output looks every 4 ms.
const NAP: Duration = Duration::from_micros(200);

/// The calling thread is about to unmap the library with these descriptors. Returns when nothing that
/// was recorded needs them any more: a recording that was stopped does until its output is through.
/// The caller may not be cancelled: this sleeps.
pub(crate) fn library_gone(descs: Range<u64>) {
    // A child that got no memory of its own has its parent's, whose library stays.
    let is_own = |arena: &Arena| arena.header().pid.load(Relaxed) == std::process::id();
    if let Some(arena) = process::made_arena().filter(is_own) {
        shim::keeping_errno(|| tell(&arena, &descs));
    }
}

/// Waits for a recorder whose time is not over, and tells any other.
fn tell(arena: &Arena, descs: &Range<u64>) {
    let header = arena.header();
    let at = clock::ticks();
    let term = || arena.term();
    if !process::is_watching(arena) {
        return header.unloads.unawaited.leave(descs, at, term);
    }
    let began = Instant::now();
    let nap = || {
        let waits = process::is_watching(arena) && began.elapsed() <= PATIENCE;
        if waits {
            std::thread::sleep(NAP);
        }
        waits
    };
    let posted = || {
        header.epoch.fetch_add(1, Release);
    };
    announce(&header.unloads, descs, (at, term), posted, nap);
}

/// Posts a request and waits for the answer, unless the recorder stands still. `posted` has the scanner look for it; `nap`
/// says when not to wait any longer.
fn announce(
    unloads: &Unloads,
    descs: &Range<u64>,
    (at, term): (Ticks, impl Fn() -> Term),
    posted: impl FnOnce(),
    mut nap: impl FnMut() -> bool,
) {
    let mut waits = || {
        let is_stalled = unloads.is_stalled();
        let waits = !is_stalled && nap();
        if !waits && !is_stalled {
            unloads.give_up();
        }
        waits
    };
    let request = loop {
        match unloads.post(descs, at, term()) {
            Some(request) => break request,
            None if waits() => {}
            None => return unloads.unawaited.leave(descs, at, term),
        }
    };
    posted();
    while !unloads.is_done(&request) {
        if !waits() {
            return unloads.unawaited.leave(descs, at, term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::arena::Header;
    use crate::memory::lease::Recorder;
    use crate::memory::mailbox::CLOSINGS_MAX;
    use crate::memory::mailbox::tests::unloads;
    use crate::memory::unawaited::{Gone, UNIT};
    use std::cell::Cell;

    const TERM: Term = Term(1);

    /// How often a thread naps that closes the library, of a hundred times at most.
    fn naps(unloads: &Unloads, at: Ticks, answer: impl Fn()) -> u32 {
        let naps = Cell::new(0);
        let nap = || {
            naps.set(naps.get() + 1);
            answer();
            naps.get() < 100
        };
        announce(unloads, &(at * 32..at * 32 + 32), (at * UNIT, || TERM), || {}, nap);
        naps.get()
    }

    #[test]
    fn a_recorder_whose_lease_is_over_or_taken_back_is_told_and_not_waited_for() {
        let arena = Arena::create().expect("address space");
        let Header { watch, unloads, .. } = arena.header();
        let told = || unloads.unawaited.gone(0, arena.term()).map(|gone| (gone.count, gone.descs));
        watch.lease.take(Recorder::Other(1), 0).expect("nobody's");
        tell(&arena, &(32..64));
        assert_eq!(told(), Some((1, 32..64)), "it may go on, and renews");
        assert!(watch.lease.withdraw(clock::ticks()));
        tell(&arena, &(64..96));
        assert_eq!(told(), Some((2, 32..96)), "it may go on until it finds that out");
        assert_eq!(unloads.take(Term::default()), None, "nobody is asked");
    }

    #[test]
    fn a_recorder_that_stands_still_is_waited_for_once_and_told_of_all() {
        let unloads = unloads();
        unloads.clear(TERM);
        let answer = || {
            let closing = unloads.take(TERM).expect("one waits");
            unloads.finish(closing.place, TERM);
            closing.at / UNIT
        };
        let at_work = || {
            answer();
        };
        assert_eq!(naps(&unloads, 1, at_work), 1);
        assert_eq!(unloads.unawaited.gone(0, TERM), None);
        assert_eq!(naps(&unloads, 2, || {}), 100);
        let places = CLOSINGS_MAX as u64;
        for at in 3..places + 9 {
            assert_eq!(naps(&unloads, at, || {}), 0, "{at}");
        }
        // With a place or without: it is told of each.
        let last = places + 8;
        let (count, first) = (places as u32 + 7, 2 * UNIT);
        let all = Gone { count, descs: 2 * 32..last * 32 + 32, first, last: last * UNIT };
        assert_eq!(unloads.unawaited.gone(0, TERM), Some(all));
        // It gets on.
        for at in 2..places + 2 {
            assert_eq!(answer(), at);
        }
        assert_eq!(unloads.take(TERM), None);
        assert_eq!(naps(&unloads, 99, at_work), 1, "it is waited for again");
        assert_eq!(unloads.unawaited.gone(count, TERM), None);
        assert_eq!(unloads.unawaited.gone(0, Term(2)), None, "the next one begins anew");
    }
}
