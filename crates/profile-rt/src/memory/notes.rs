//! The clocked calls of one thread that are under way, the outermost first: where their frames lie, and since when.
//!
//! Written by the thread, and by handlers of signals that interrupt it: a handler leaves as many notes as it found. Whatever
//! it interrupts, a note that is found has all its words from one call, or its position is zero.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, compiler_fence, fence};
use tailwater_profile::record::{COUNTERS_MAX, Counters, Counts, Ticks};

/// Clocked calls within each other at most; those beyond are not clocked, and counted as lost.
pub(crate) const NOTES_MAX: usize = 384;

/// Zeroed memory has none.
#[repr(C, align(64))]
pub(crate) struct Notes {
    len: AtomicU32,
    notes: [Words; NOTES_MAX],
    /// Of each note what its thread's counters had counted: apart, since few recordings ask for them.
    counts: [CountWords; NOTES_MAX],
}

#[repr(C)]
struct CountWords {
    /// Which counters, as their mask.
    of: AtomicU64,
    counts: [AtomicU64; COUNTERS_MAX],
}

#[repr(C)]
struct Words {
    position: AtomicU64,
    what: AtomicU64,
    parent: AtomicU64,
    generation: AtomicU64,
    start: AtomicU64,
}

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    /// Where its frame lies.
    pub(crate) position: u64,
    /// As in the frame.
    pub(crate) what: u64,
    /// The descriptor of the frame below; zero for the lowest.
    pub(crate) parent: u64,
    pub(crate) generation: u64,
    /// What its thread's counters had counted at its start.
    pub(crate) counts: Counts,
    pub(crate) start: Ticks,
}

impl CountWords {
    fn write(&self, counts: &Counts) {
        self.of.store(counts.counters().mask().into(), Relaxed);
        self.counts.iter().zip(counts.iter()).for_each(|(to, (_, count))| to.store(count, Relaxed));
    }

    fn read(&self) -> Counts {
        let of = u16::try_from(self.of.load(Relaxed)).ok().and_then(Counters::of_mask);
        let mut counts = self.counts.iter();
        let count = |_| counts.next().map_or(0, |count| count.load(Relaxed));
        Counts::new(of.unwrap_or_default(), count)
    }
}

impl Notes {
    /// False: there is no room.
    pub(crate) fn push(&self, note: &Note) -> bool {
        let at = self.len.load(Relaxed);
        let Some(words) = self.notes.get(at as usize) else { return false };
        // The place is taken before it is filled, or a handler would take it; and a position is there last.
        words.position.store(0, Relaxed);
        compiler_fence(SeqCst);
        // Release: another thread that finds a start of this call finds no position of the one before. With the fence of `start_of`.
        fence(Release);
        self.len.store(at + 1, Relaxed);
        compiler_fence(SeqCst);
        words.what.store(note.what, Relaxed);
        words.parent.store(note.parent, Relaxed);
        words.start.store(note.start, Relaxed);
        self.counts[at as usize].write(&note.counts);
        // Release: another thread that finds this generation has what was stored before.
        words.generation.store(note.generation, Release);
        compiler_fence(SeqCst);
        // Release: another thread that finds this position finds the generation, too. With the load in `start_of`.
        words.position.store(note.position, Release);
        true
    }

    /// Takes the innermost, if its frame lies at `position` or above.
    pub(crate) fn pop_from(&self, position: u64) -> Option<Note> {
        loop {
            let at = self.len.load(Relaxed).checked_sub(1)?;
            let words = self.notes.get(at as usize)?;
            let note = words.read(self.counts[at as usize].read());
            // Zero: a handler came while it was made, and has jumped away.
            if note.position != 0 && note.position < position {
                return None;
            }
            words.position.store(0, Relaxed);
            compiler_fence(SeqCst);
            self.len.store(at, Relaxed);
            if note.position != 0 {
                return Some(note);
            }
        }
    }

    /// When the call of this generation began, for another thread. `None` where its note is gone, or is being written.
    pub(crate) fn start_of(&self, generation: u64) -> Option<Ticks> {
        let len = (self.len.load(Relaxed) as usize).min(NOTES_MAX);
        // Acquire: with the store of the generation, which comes after that of the start.
        let is_it = |words: &Words| words.generation.load(Acquire) == generation;
        let words = self.notes[..len].iter().find(|words| is_it(words))?;
        let start = words.start.load(Relaxed);
        // The start may be of a call that began meanwhile: its generation is stored soon, and its position was taken away before.
        fence(Acquire);
        // Acquire: with the store of the position, which comes after that of the generation.
        (words.position.load(Acquire) != 0 && is_it(words)).then_some(start)
    }

    /// Another thread begins.
    pub(crate) fn clear(&self) {
        self.len.store(0, Relaxed);
    }
}

impl Words {
    fn read(&self, counts: Counts) -> Note {
        Note {
            counts,
            position: self.position.load(Relaxed),
            what: self.what.load(Relaxed),
            parent: self.parent.load(Relaxed),
            generation: self.generation.load(Relaxed),
            start: self.start.load(Relaxed),
        }
    }
}
