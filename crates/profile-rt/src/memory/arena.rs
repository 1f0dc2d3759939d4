//! The shared memory: a header, a slot for each thread, and a region (ring and shadow stack) for each.
//!
//! ```text
//! 0        header
//! 4096     slots: THREADS_MAX × 1 KiB
//! 8 MiB    regions: THREADS_MAX × stride; each a ring, then notes, then the shadow stack, then a pad entry
//! ```
//!
//! Everything is found by offset from the start, and contexts hold the owner's addresses beside `base`. So another
//! process can map the file (`memfd:tailwater-profile` among the owner's descriptors) anywhere and scan (`foreign`).
//! The mapping is reserved, not backed: a page costs memory once it is touched. Nothing is ever unmapped, so that a
//! scanner cannot fault.

use crate::memory::abi::{Context, ENTRY_BYTES, Entry};
use crate::memory::born::Born;
use crate::memory::lease::{Lease, Term};
use crate::memory::mailbox::Unloads;
use crate::memory::notes::Notes;
use crate::memory::ring::{Control, Ring, WORDS_FIRST};
use crate::memory::said::Said;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};
use rustix::process::{Resource, getrlimit};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};
use tailwater_profile::record::{Counters, Ticks};

/// Most threads at a time; those beyond run unrecorded and are counted.
pub(crate) const THREADS_MAX: usize = 4096;
/// Waits whose lock a thread still holds, and requests it works for, at most.
pub(crate) const PENDING_MAX: usize = 8;
pub(crate) const ACTIVE_MAX: usize = 32;

/// The last letter is the version of all that lies here.
pub(super) const MAGIC: [u8; 8] = *b"twarena8";
/// That version, as a letter.
pub(crate) const VERSION: u8 = MAGIC[7];
const SLOTS_AT: u64 = 4096;
const REGIONS_AT: u64 = 8 << 20;
const PAGE: u64 = 4096;
/// A frame takes 16 bytes of the machine's stack at least, as it does here: with the default stack of
/// 8 MiB the shadow stack cannot be the first to end. The largest is tried first; the smaller ones are
/// for programs that run under a limit of address space.
pub(super) const STRIDES: [u64; 4] = [64 << 20, 8 << 20, 1 << 20, 256 << 10];
/// A ring takes this part of its region at most.
const RING_SHARE: u64 = 16;
/// Of a region, behind the ring.
const NOTES_BYTES: u64 = 8 * PAGE;

/// Starts the arena. Written when it is made, except where said.
#[repr(C)]
pub(crate) struct Header {
    magic: AtomicU64,
    pub(crate) pid: AtomicU32,
    threads_max: AtomicU32,
    stride: AtomicU64,
    /// Where the owner maps it.
    address: AtomicU64,
    /// Slots from here on were never used. Grows only, by registering threads.
    pub(crate) slots_used: AtomicU32,
    /// Counts threads that came or went: a scanner looks through the slots when it changes.
    pub(crate) epoch: AtomicU64,
    /// Threads that found no slot.
    pub(crate) denied: AtomicU64,
    /// Words by which rings have grown; added to by the threads that they belong to.
    rings_grown: AtomicU64,
    /// Libraries that are about to go.
    pub(crate) unloads: Unloads,
    pub(crate) watch: Watch,
}

/// What each lock and each mark asks, on lines of its own: what else is in the header changes as threads come and go.
/// Zeroed memory records nothing. Written by the recorder that has the lease, save where said.
#[repr(C, align(128))]
pub(crate) struct Watch {
    /// Zero: nothing is recorded. Else the shortest wait that leaves an event, in ticks, and marks are recorded.
    /// Unsaid by a thread of the program that takes the lease back.
    pub(crate) recording: Said,
    pub(crate) lease: Lease,
    /// The [`Term`] of the recorder that took the lease last; zero before the first. Only grows.
    term: AtomicU32,
    /// Ticks in a microsecond, as the last recorder measured; zero before the first.
    pub(crate) ticks_per_us: Said,
    pub(crate) born: Born,
    /// Zero: a lock that nothing waited for leaves no event. Else the shortest time that it must be held for one, in ticks.
    pub(crate) holds: Said,
    /// Which counters each clocked call reads, as a mask of [`Counters`]; zero: none.
    counters: Said,
}

/// A thread's place. The context comes first: its address is the slot's.
#[repr(C, align(128))]
pub(crate) struct Slot {
    pub(crate) context: Context,
    pub(crate) life: Life,
    pub(crate) lost: Lost,
    pub(crate) own: Own,
}

/// Written when a thread comes or goes.
#[repr(C, align(64))]
pub(crate) struct Life {
    /// Counts the threads that used this slot.
    pub(crate) incarnation: AtomicU64,
    /// The generation when this thread came: the counter goes on from the thread before.
    pub(crate) first_generation: AtomicU64,
    /// When it came and went.
    pub(crate) started: AtomicU64,
    pub(crate) ended: AtomicU64,
}

/// Counted by the thread.
#[repr(C, align(64))]
pub(crate) struct Lost {
    pub(crate) frames: AtomicU64,
    pub(crate) waits: AtomicU64,
    pub(crate) marks: AtomicU64,
    /// Of clocked functions.
    pub(crate) calls: AtomicU64,
}

/// The thread's notes to itself.
#[repr(C, align(64))]
pub(crate) struct Own {
    pub(crate) pending: [[AtomicU64; crate::memory::event::WAIT_WORDS]; PENDING_MAX],
    pub(crate) active: [AtomicU64; ACTIVE_MAX],
    pub(crate) active_len: AtomicU32,
    /// Of `pending`, while no thread runs this fiber; a running one's count is its thread's.
    pub(crate) pending_len: AtomicU32,
}

const SLOT_BYTES: u64 = 1024;
const _: () = assert!(size_of::<Header>() as u64 <= SLOTS_AT);
const _: () = assert!(size_of::<Slot>() as u64 <= SLOT_BYTES);
const _: () = assert!(size_of::<Notes>() as u64 <= NOTES_BYTES);
const _: () = assert!(SLOTS_AT + THREADS_MAX as u64 * SLOT_BYTES <= REGIONS_AT);
const _: () = assert!(STRIDES[STRIDES.len() - 1] / RING_SHARE >= WORDS_FIRST as u64 * 8);

/// A mapped arena. It is never unmapped, so copies stay valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arena {
    start: NonNull<u8>,
    stride: u64,
}

// SAFETY: everything behind `start` is atomics, mapped for the rest of the process's life.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Watch {
    /// Which counters each clocked call reads.
    pub(crate) fn counters(&self) -> Counters {
        Counters::of_mask(self.counters.number() as u16).unwrap_or_default()
    }

    /// The recorder of that term asks for these.
    pub(crate) fn count(&self, by: Term, counters: Counters) {
        self.counters.say(by, counters.mask().into());
    }
}

impl Arena {
    /// Maps a fresh one; `None` when there is no room for even the smallest.
    pub(crate) fn create() -> Option<Self> {
        STRIDES.into_iter().find_map(|stride| {
            let start = map(null_mut(), MapFlags::empty(), length(stride))?;
            Some(Self { start, stride }.begin())
        })
    }

    /// Puts an empty arena of the same size in this one's place: after a fork, the child's frames
    /// hold addresses in it, and the memory behind them is the parent's. False: it could not be had.
    pub(crate) fn replace(self) -> bool {
        let mapped = map(self.start.as_ptr().cast(), MapFlags::FIXED, length(self.stride));
        if mapped.is_some() {
            self.begin();
        }
        mapped.is_some()
    }

    fn begin(self) -> Self {
        let header = self.header();
        header.magic.store(u64::from_le_bytes(MAGIC), Relaxed);
        header.pid.store(std::process::id(), Relaxed);
        header.threads_max.store(THREADS_MAX as u32, Relaxed);
        header.stride.store(self.stride, Relaxed);
        header.address.store(self.start.as_ptr() as u64, Relaxed);
        self
    }

    /// One that lies at `start` and has regions of `stride`. Both were checked.
    pub(super) const fn mapped(start: NonNull<u8>, stride: u64) -> Self {
        Self { start, stride }
    }

    pub(crate) fn header(&self) -> &'static Header {
        self.at(0)
    }

    /// Whether a recorder has the lease. If that is another process whose time is over, it is dead or stands still:
    /// nothing is recorded any more, and the lease is taken back. For the program's threads; `now` is asked where
    /// that matters.
    pub(crate) fn is_watched(&self, now: impl Fn() -> Ticks) -> bool {
        let Watch { recording, lease, .. } = &self.header().watch;
        // Before the lease is looked at, and not the number alone: the next recorder may say the same.
        let seen = recording.word();
        if lease.holds(&now) {
            return true;
        }
        // Also where it is nobody's already: a recorder that stood still may say that it records when it has lost the lease.
        if lease.withdraw(now()) || lease.recorder().is_none() {
            recording.unsay(seen);
        }
        false
    }

    /// Drops what an earlier recorder has left, which may have died or may stand still. For the next, which has just taken
    /// the lease; `None` where it has lost that already.
    pub(crate) fn begin_term(&self, has_lease: impl FnMut() -> bool) -> Option<Term> {
        // First: an earlier recorder that takes something meanwhile takes what would be dropped.
        let term = self.next_term(has_lease)?;
        self.drop_earlier(term);
        Some(term)
    }

    /// What is for recorders before that term. This recorder may have stood still since it counted that, and lost the lease:
    /// each word has a term, and those that are a later one's stay.
    fn drop_earlier(&self, term: Term) {
        let Header { watch, unloads, .. } = self.header();
        watch.recording.say(term, 0);
        watch.holds.say(term, 0);
        watch.counters.say(term, 0);
        watch.born.hand_to(term);
        unloads.clear(term);
        // Slots beyond are known to no recorder. The ring of each is taken when its thread is adopted.
        (0..self.slots_used()).for_each(|index| self.ring(index).hand_to(term));
    }

    /// Later than all before, and earlier than that of a recorder that takes the lease after `has_lease` was asked last.
    fn next_term(&self, mut has_lease: impl FnMut() -> bool) -> Option<Term> {
        let term = &self.header().watch.term;
        loop {
            // Acquire: before the lease is looked at, by which a later recorder has counted on from here.
            let before = term.load(Acquire);
            if !has_lease() {
                return None;
            }
            let next = before.wrapping_add(1);
            // Not an addition: this recorder may have stood still since, and lost the lease to one that has counted on.
            if term.compare_exchange(before, next, AcqRel, Relaxed).is_ok() {
                return Some(Term(next));
            }
        }
    }

    /// The term of the recorder that took the lease last. For the program's threads, which note it beside what is for that
    /// recorder.
    pub(crate) fn term(&self) -> Term {
        // Acquire: not before what the thread has read of a recorder's, as in `State::claim`.
        Term(self.header().watch.term.load(Acquire))
    }

    /// Slots from here on were never used.
    pub(crate) fn slots_used(&self) -> usize {
        (self.header().slots_used.load(Acquire) as usize).min(THREADS_MAX)
    }

    /// # Panics
    /// When `index` is not below [`THREADS_MAX`].
    pub(crate) fn slot(&self, index: usize) -> &'static Slot {
        assert!(index < THREADS_MAX, "no slot {index}");
        self.at(SLOTS_AT + index as u64 * SLOT_BYTES)
    }

    /// The number of the slot that holds a context, when it is in this arena.
    pub(crate) fn index_of(&self, context: *const Context) -> Option<usize> {
        let offset = (context as u64).checked_sub(self.start.as_ptr() as u64 + SLOTS_AT)?;
        let index = (offset / SLOT_BYTES) as usize;
        (index < THREADS_MAX && offset.is_multiple_of(SLOT_BYTES)).then_some(index)
    }

    pub(crate) fn ring(&self, index: usize) -> Ring<'static> {
        assert!(index < THREADS_MAX, "no ring {index}");
        let at = self.region_at(index);
        let words = (self.stride / RING_SHARE / size_of::<AtomicU64>() as u64) as usize;
        let first: &'static AtomicU64 = self.at(at + PAGE);
        // SAFETY: the words lie behind the control's page, inside of the region, and are atomics in a
        // mapping that outlives all (rules 1 and 2).
        let words = unsafe { std::slice::from_raw_parts(first, words) };
        let control: &'static Control = self.at(at);
        Ring { control, words, grown: &self.header().rings_grown }
    }

    /// The thread's clocked calls that are under way.
    pub(crate) fn notes(&self, index: usize) -> &'static Notes {
        assert!(index < THREADS_MAX, "no notes {index}");
        self.at(self.region_at(index) + self.ring_bytes())
    }

    /// Bytes of a ring and of the page before it.
    fn ring_bytes(&self) -> u64 {
        PAGE + self.stride / RING_SHARE
    }

    /// Frames that a shadow stack holds.
    pub(crate) fn frames_max(&self) -> u32 {
        ((self.stride - self.ring_bytes() - NOTES_BYTES - 2 * PAGE) / ENTRY_BYTES) as u32
    }

    /// Entry `depth` of a thread's stack; at [`Arena::frames_max`] lies the pad.
    ///
    /// # Panics
    /// Beyond that.
    pub(crate) fn entry(&self, index: usize, depth: u32) -> &'static Entry {
        assert!(index < THREADS_MAX && depth <= self.frames_max(), "no entry {depth} of {index}");
        self.at(self.stack_at(index) + u64::from(depth) * ENTRY_BYTES)
    }

    /// The owner's addresses of a stack's first entry and of its pad.
    pub(crate) fn stack(&self, index: usize) -> (u64, u64) {
        let base = self.header().address.load(Relaxed).wrapping_add(self.stack_at(index));
        (base, base.wrapping_add(u64::from(self.frames_max()) * ENTRY_BYTES))
    }

    fn region_at(&self, index: usize) -> u64 {
        REGIONS_AT + index as u64 * self.stride
    }

    /// Stacks begin at different lines of a page, so that they do not all fall on the same lines of
    /// a core's cache.
    fn stack_at(&self, index: usize) -> u64 {
        let notes_end = self.region_at(index) + self.ring_bytes() + NOTES_BYTES;
        notes_end + (index as u64 * 320) % PAGE / 64 * 64
    }

    fn at<T>(&self, offset: u64) -> &'static T {
        debug_assert!(offset + size_of::<T>() as u64 <= length(self.stride) as u64);
        // SAFETY: the callers' offsets are aligned and inside of the mapping, which outlives all;
        // every T here is made of atomics, for which any bytes are valid (rules 1 and 2).
        unsafe { self.start.add(offset as usize).cast().as_ref() }
    }
}

pub(super) const fn length(stride: u64) -> usize {
    (REGIONS_AT + THREADS_MAX as u64 * stride) as usize
}

/// A shared mapping of a nameless file. It is of no file where a limit on the size of files stands against it; then
/// no other process can scan. With [`MapFlags::FIXED`] only over an arena of the same length.
fn map(at: *mut c_void, fixed: MapFlags, length: usize) -> Option<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | fixed;
    let file = file(length);
    let mapped = match &file {
        // SAFETY: a new mapping, or one in the place of an arena, whose users read atomics only.
        Some(file) => unsafe { mmap(at, length, protection, flags, file, 0) },
        // SAFETY: as above.
        None => unsafe { mmap_anonymous(at, length, protection, flags) },
    };
    // The descriptor stays open: it is how another process finds the memory.
    std::mem::forget(file);
    let start = NonNull::new(mapped.ok()?.cast())?;
    leave_out_of_dumps(start, length);
    Some(start)
}

/// The kernel reads all that it dumps, and memory that is read in a shared file is made: all of an arena's, which no machine
/// has. Best effort.
pub(super) fn leave_out_of_dumps(start: NonNull<u8>, length: usize) {
    // SAFETY: its users see no difference, and where it is no mapping it fails.
    let _ = unsafe { madvise(start.as_ptr().cast(), length, Advice::LinuxDontDump) };
}

fn file(length: usize) -> Option<std::os::fd::OwnedFd> {
    // Growing a file past this limit would kill the program.
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < length as u64) {
        return None;
    }
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create(c"tailwater-profile", flags).ok()?;
    // A program that was started without standard input is not to read from it.
    let file = rustix::io::fcntl_dupfd_cloexec(&file, 3).ok()?;
    ftruncate(&file, length as u64).ok()?;
    // A file that shrank would kill a process that scans it. Without the seal none does.
    let _ = fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL);
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::lease::Recorder;
    use std::cell::Cell;

    #[test]
    fn regions_do_not_overlap_and_slots_are_found_again() {
        let arena = Arena::create().expect("address space");
        for index in [0, 1, 77, THREADS_MAX - 1] {
            let slot = arena.slot(index);
            assert_eq!(arena.index_of(&raw const slot.context), Some(index));
            let (base, pad) = arena.stack(index);
            let pad_entry: *const Entry = arena.entry(index, arena.frames_max());
            assert_eq!((pad - base) / ENTRY_BYTES, u64::from(arena.frames_max()));
            assert_eq!(pad, pad_entry as u64);
            let end = arena.start.as_ptr() as u64 + arena.region_at(index) + arena.stride;
            assert!(pad + ENTRY_BYTES <= end, "the pad lies inside of the region");
        }
        assert_eq!(arena.index_of(std::ptr::null()), None);
    }

    #[test]
    fn a_replaced_arena_is_empty_and_stays_where_it_was() {
        let arena = Arena::create().expect("address space");
        arena.slot(3).context.generation.store(9, Relaxed);
        arena.header().slots_used.store(4, Relaxed);
        assert!(arena.replace());
        assert_eq!(arena.slot(3).context.generation.load(Relaxed), 0);
        assert_eq!(arena.header().slots_used.load(Relaxed), 0);
        assert_eq!(arena.header().magic.load(Relaxed), u64::from_le_bytes(MAGIC));
    }

    #[test]
    fn a_dump_of_memory_is_without_it() {
        let arena = Arena::create().expect("address space");
        assert!(arena.replace());
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("it is there");
        let start = format!("{:x}-", arena.start.as_ptr() as usize);
        let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&start));
        let flags = lines.find(|line| line.starts_with("VmFlags:")).expect("it is mapped");
        assert!(flags.split(' ').any(|flag| flag == "dd"), "{flags}");
    }

    #[test]
    fn a_recorder_that_stood_still_before_its_term_outranks_no_later_one() {
        let arena = Arena::create().expect("address space");
        let (next, asked) = (Cell::new(None), Cell::new(0));
        // It stands still between its look at the lease and its own count.
        let has_lease = || {
            asked.set(asked.get() + 1);
            if asked.get() == 1 {
                next.set(arena.begin_term(|| true));
            }
            asked.get() == 1
        };
        assert_eq!((arena.begin_term(has_lease), asked.get()), (None, 2));
        assert_eq!(next.get(), Some(arena.term()));
        // Before that look.
        assert_eq!(arena.begin_term(|| false), None);
        assert_eq!(next.get(), Some(arena.term()));
    }

    /// Between its count and the rest, and again before it would say what it does.
    #[test]
    fn a_recorder_that_stood_still_in_its_beginning_changes_no_word_of_the_next() {
        let arena = Arena::create().expect("address space");
        arena.header().slots_used.store(1, Relaxed);
        let Header { watch, unloads, .. } = arena.header();
        let first = arena.next_term(|| true).expect("it has the lease");
        let next = arena.begin_term(|| true).expect("it has the lease");
        watch.recording.say(next, 2000);
        watch.ticks_per_us.say(next, 3000);
        watch.born.add();
        unloads.unawaited.leave(&(32..64), 0, || arena.term());
        let posted = unloads.post(&(64..96), 0, arena.term()).expect("room");
        unloads.give_up();
        assert!(arena.ring(0).push(&[1]));

        arena.drop_earlier(first);
        watch.ticks_per_us.say(first, 2999);
        watch.recording.say(first, 1000);
        assert_eq!([&watch.recording, &watch.ticks_per_us].map(Said::number), [2000, 3000]);
        assert_eq!(watch.born.take(next), 1);
        let gone = unloads.unawaited.gone(0, next);
        assert_eq!(gone.map(|gone| (gone.count, gone.descs)), Some((1, 32..64)));
        assert!(unloads.is_stalled() && !unloads.is_done(&posted));
        assert_eq!(arena.ring(0).pop(next, |_| 1), Some([1]));
    }

    #[test]
    fn of_a_recorder_that_is_dead_nothing_is_left_once_a_thread_has_looked() {
        let arena = Arena::create().expect("address space");
        let watch = &arena.header().watch;
        assert!(!arena.is_watched(|| 1 << 40));
        watch.lease.take(Recorder::Other(7), 1 << 40).expect("nobody's");
        watch.recording.say(Term(1), 2000);
        assert!(arena.is_watched(|| 1 << 40));
        assert_eq!(watch.recording.number(), 2000);
        assert!(!arena.is_watched(|| 1 << 41));
        assert_eq!(watch.recording.number(), 0);
        assert_eq!(watch.lease.recorder(), None);
    }

    #[test]
    fn what_a_recorder_says_after_it_has_lost_the_lease_is_unsaid() {
        let arena = Arena::create().expect("address space");
        let watch = &arena.header().watch;
        watch.recording.say(Term(1), 2000);
        assert!(!arena.is_watched(|| 1 << 40));
        assert_eq!(watch.recording.number(), 0);
    }

    #[test]
    fn what_the_next_recorder_says_meanwhile_stays_and_be_it_the_same() {
        let arena = Arena::create().expect("address space");
        let watch = &arena.header().watch;
        watch.lease.take(Recorder::Other(7), 1 << 40).expect("nobody's");
        watch.recording.say(Term(1), 2000);
        let asked = Cell::new(0);
        let now = || {
            asked.set(asked.get() + 1);
            if asked.get() == 2 {
                // Between the two looks at the lease; the withdrawal itself is one step.
                watch.recording.say(Term(2), 2000);
            }
            1 << 41
        };
        assert!(!arena.is_watched(now));
        assert_eq!(asked.get(), 2);
        assert_eq!((watch.recording.number(), watch.lease.recorder()), (2000, None));
    }
}
