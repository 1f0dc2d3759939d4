//! The queues of the processes: counts in shared memory, whose differences are what the queues hold.

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A queue; all zero at first. The first two are its producer's, the last its visitor's.
#[repr(C, align(64))]
struct Counts {
    pushed: AtomicU64,
    /// Pushed, and the ring for it has returned.
    announced: AtomicU64,
    visited: AtomicU64,
}

/// Mapped until the process ends.
pub(crate) struct Table(&'static [Counts]);

impl Table {
    pub(crate) fn create(queues: usize) -> (Self, OwnedFd) {
        let file = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, (queues * size_of::<Counts>()) as u64).unwrap();
        (Self::open(&file, queues), file)
    }

    pub(crate) fn open(file: &impl AsFd, queues: usize) -> Self {
        let (length, protection) =
            (queues * size_of::<Counts>(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping of a file that `create` made so long; it is never unmapped, and is all atomics.
        let counts = unsafe {
            let start = mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0);
            std::slice::from_raw_parts(start.unwrap().cast::<Counts>(), queues)
        };
        Self(counts)
    }

    /// How many were pushed then.
    pub(crate) fn push(&self, queue: usize) -> u64 {
        // Relaxed: the ready set orders it.
        self.0[queue].pushed.fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn announce(&self, queue: usize, pushed: u64) {
        self.0[queue].announced.store(pushed, SeqCst);
    }

    pub(crate) fn visit(&self, queue: usize) {
        // Relaxed: as in `push`.
        let pushed = self.0[queue].pushed.load(Relaxed);
        self.0[queue].visited.fetch_max(pushed, SeqCst);
    }

    pub(crate) fn is_done(&self, queue: usize) -> bool {
        self.visited(queue) >= self.announced(queue)
    }

    pub(crate) fn pushed(&self, queue: usize) -> u64 {
        self.0[queue].pushed.load(SeqCst)
    }

    pub(crate) fn announced(&self, queue: usize) -> u64 {
        self.0[queue].announced.load(SeqCst)
    }

    pub(crate) fn visited(&self, queue: usize) -> u64 {
        self.0[queue].visited.load(SeqCst)
    }
}
