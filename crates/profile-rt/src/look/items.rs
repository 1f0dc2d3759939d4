//! What scanners hand to the output.

use super::scan::{Ended, Window};
use crate::memory::notes::Note;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tailwater_profile::record::{Gap, Looks, LossKind, ThreadId, Ticks};

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

/// A call that is under way when a recording ends in which nobody looked: since when, its thread has noted. Of others nothing
/// is told.
pub(crate) fn clocked(ended: Ended, note: Option<Note>) -> Option<Ended> {
    let start = note.map_or(ended.start, |note| Window { from: note.start, to: note.start });
    ended.what.is_clocked.then_some(Ended { start, ..ended })
}
