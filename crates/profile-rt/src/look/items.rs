//! What scanners hand to the output.

use super::scan::{Ended, Window};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tailwater_profile::record::{CallFlags, Figure, Gap, Looks, LossKind, ThreadId, Ticks};

/// Something for the output, in the order in which it happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Call(ThreadId, Ended),
    Gap(Gap),
    /// A thread in a slot; comes before its first call.
    Came {
        id: ThreadId,
        slot: usize,
        /// Its frames up to this one were pushed before.
        generation: u64,
    },
    /// It will do no more. The output sets the slot free.
    Went {
        id: ThreadId,
        slot: usize,
    },
    /// A function of a library that goes, of a call that is under way at `at`. Comes before its `Unload`.
    Standing {
        desc: u64,
        at: Ticks,
    },
    /// The library with these descriptors goes, since `at`; its request has this place. Its calls that are over were all told
    /// before by this scanner: each one of a recording says so.
    Unload {
        place: usize,
        descs: (u64, u64),
        at: Ticks,
    },
    Looks(Looks),
    Figure(Figure),
    /// Calls that came and went unseen, or what else could not be told.
    Lost {
        id: Option<ThreadId>,
        kind: LossKind,
        count: u64,
    },
}

/// Items to a batch, and batches on the way to the output at most: calls beyond are lost, and counted.
pub(crate) const BATCH: usize = 1024;
const BATCHES_MAX: usize = 64;

/// A scanner's end of its way to the output.
pub(crate) struct Outlet {
    pub(crate) to: SyncSender<Vec<Item>>,
    /// Batches that the output is through with.
    pub(crate) emptied: Receiver<Vec<Item>>,
}

/// The output's end of the way from a scanner.
pub(crate) struct Inlet {
    pub(crate) from: Receiver<Vec<Item>>,
    pub(crate) emptied: SyncSender<Vec<Item>>,
}

/// A way for batches, and back for empty ones.
pub(crate) fn way() -> (Outlet, Inlet) {
    let (to, from) = sync_channel(BATCHES_MAX);
    let (back, emptied) = sync_channel(BATCHES_MAX);
    (Outlet { to, emptied }, Inlet { from, emptied: back })
}

/// A call that is under way when a recording ends in which nobody looked, where it began at `start` as its thread has noted. Of
/// calls that began before the recording nothing is told, nor of functions that do not time themselves.
pub(crate) fn clocked(ended: Ended, start: Option<Ticks>, began: Ticks) -> Option<Ended> {
    let start = start.filter(|start| ended.what.is_clocked && *start >= began)?;
    // The look found it for the first time, and took it for one of before.
    let flags = ended.flags & !CallFlags::STARTED_BEFORE;
    // It may have begun since the last look at the clock.
    let end = Window { from: ended.end.from.max(start), to: ended.end.to.max(start) };
    Some(Ended { start: Window { from: start, to: start }, end, flags, ..ended })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::abi::What;
    use crate::memory::arena::Arena;
    use crate::memory::notes::Note;
    use tailwater_profile::record::Counts;

    fn ended(is_clocked: bool) -> Ended {
        let what = What { desc: 32, is_clocked, ..What::default() };
        let flags = CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE;
        let [start, end] = [(10, 900), (900, 900)].map(|(from, to)| Window { from, to });
        Ended { what, parent: 0, depth: 0, generation: 5, start, end, flags }
    }

    #[test]
    fn a_call_under_way_began_when_its_thread_noted_that() {
        let told = clocked(ended(true), Some(700), 100).expect("it is told");
        assert_eq!((told.start.from, told.start.to), (700, 700));
        assert_eq!(told.flags, CallFlags::UNFINISHED, "it began in the recording");
        let late = clocked(ended(true), Some(903), 100).expect("it is told");
        assert_eq!(late.end, late.start, "it ends no earlier than it begins");
        for (is_clocked, start, began) in
            [(true, None, 100), (true, Some(99), 100), (false, Some(700), 100)]
        {
            assert!(clocked(ended(is_clocked), start, began).is_none(), "{start:?}");
        }
    }

    #[test]
    fn a_note_is_found_by_the_generation_of_its_call() {
        let arena = Arena::create().expect("address space");
        let notes = arena.notes(0);
        let note = |generation: u64| Note {
            counts: Counts::default(),
            position: 8 * generation,
            what: 1,
            parent: 0,
            generation,
            start: 100 * generation,
        };
        assert!(notes.push(&note(4)) && notes.push(&note(5)));
        assert_eq!(
            [4, 5, 6].map(|generation| notes.start_of(generation)),
            [Some(400), Some(500), None]
        );
        assert_eq!(notes.pop_from(40), Some(note(5)));
        assert_eq!(notes.start_of(5), None, "it has ended");
    }
}
