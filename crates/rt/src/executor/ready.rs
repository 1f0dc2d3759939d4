//! The wake half of the executor: the slots whose tasks want to be polled.
//!
//! # The protocol
//!
//! A slot has a flag, `queued`, which is set from when the slot is woken until its task is about to be
//! polled. The queue holds at most one entry for each slot, and only while the slot's flag is set.
//!
//! 1. A *waker*, on any thread, first makes visible what it wakes for, then sets the flag by a swap. If the
//!    flag was clear, it raises the slot's stamp, pushes the slot and notifies the doorbell. If it was set,
//!    it does nothing: a poll is due already.
//! 2. The *owner*, the executor's thread, pops a slot, clears its flag by a swap, and only then polls.
//! 3. Wakers touch the flag, the stamp (upwards) and the back of the queue. The owner alone pops and
//!    clears. Slots, tasks and the free list are the owner's; no waker sees them.
//!
//! No wake-up is lost. All changes of the flag are read-modify-writes: they have one order, and each reads
//! what the one before it wrote. A waker that finds the flag clear pushes the slot, so a poll follows. One
//! that finds it set comes before the owner's next clearing in that order. The clearing reads the waker's
//! write, or a later one of other wakers that continues its release sequence. It acquires, so the poll
//! after it sees what the waker had made visible. The owner sleeps by the rules of [`crate::bell`].
//!
//! A flag belongs to its slot, not to a task. A waker may be of an earlier task, ended or cancelled. It makes the
//! slot's present task be polled once too often, which futures permit, or a free slot be passed over.
//! Therefore wakers carry no generation. A stale stamp is harmless: waiting is counted from the task's
//! last poll or later.

use crate::bell::Doorbell;
use crate::primitive::{AtomicBool, AtomicU64, Queue, fence};
use crate::time::now;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::task::Wake;
use std::time::Duration;

/// Slots with a task that wants to be polled; each is in it once at most.
pub(super) struct Ready {
    slots: Queue<u32>,
    doorbell: Arc<Doorbell>,
    /// Wake-ups are stamped, so that what a woken task waits for its turn can be deducted.
    stamps: bool,
}

impl Ready {
    pub(super) fn new(doorbell: Arc<Doorbell>, stamps: bool) -> Self {
        Self { slots: Queue::new(), doorbell, stamps }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The next woken slot. The owner calls its [`SlotWaker::taken`] before it polls.
    pub(super) fn next(&self) -> Option<u32> {
        self.slots.pop()
    }
}

/// What all wakers of a slot share.
pub(super) struct SlotWaker {
    slot: u32,
    queued: AtomicBool,
    /// When it was woken, or last polled if that was later, in nanoseconds; kept only where wake-ups are
    /// stamped.
    woken_ns: AtomicU64,
    ready: Arc<Ready>,
}

impl SlotWaker {
    pub(super) fn new(slot: u32, ready: Arc<Ready>) -> Self {
        Self { slot, queued: AtomicBool::new(false), woken_ns: AtomicU64::new(0), ready }
    }

    /// The owner has popped the slot and is about to poll. How long the slot waited for its turn; zero
    /// where wake-ups are not stamped.
    pub(super) fn taken(&self) -> Duration {
        // Before the flag is cleared: from then on a new wake-up may raise it.
        let woken_ns = self.woken_ns.load(Relaxed);
        // A swap, for what it reads: the write of a waker that found the flag set and left the poll to us.
        // A store reads nothing, so it would order the poll after no waker; on x86 the poll's loads even
        // pass it in the store buffer. The wake-up was lost (defect A1; `models.rs` shows it).
        self.queued.swap(false, AcqRel);
        let waits = self.ready.stamps;
        Duration::from_nanos(if waits { now().as_nanos().saturating_sub(woken_ns) } else { 0 })
    }

    /// The owner has polled the slot's task, which waits on. Until now it computed, whatever woke the slot
    /// meanwhile or before it was this task's.
    pub(super) fn polled(&self) {
        if self.ready.stamps {
            // Relaxed: the owner reads it by itself, in `taken`.
            self.woken_ns.fetch_max(now().as_nanos(), Relaxed);
        }
    }

    /// How many clones there are of a slot's waker beside the two references that the slot keeps, or
    /// `None` if it was woken. A clone consumed in between was counted by the first read or sets the flag
    /// that the second sees.
    pub(super) fn clones(self: &Arc<Self>) -> Option<usize> {
        let clones = Arc::strong_count(self) - 2;
        // Pairs with the release by which a reference count falls: the flag was set before that.
        fence(Acquire);
        // Pairs with the exchange in `wake_by_ref`.
        (!self.queued.load(Acquire)).then_some(clones)
    }
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Releases what the poll shall see to the swap in `taken`. If the flag was set it continues the release
        // sequence of the waker that set it.
        if !self.queued.swap(true, AcqRel) {
            if self.ready.stamps {
                // Seen by the owner, which pops what is pushed after it.
                self.woken_ns.fetch_max(now().as_nanos(), Relaxed);
            }
            self.ready.slots.push(self.slot);
            self.ready.doorbell.notify();
        }
    }
}
