//! What the threads of a server have in common.

use super::Remaining;
use super::inbox::Inbox;
use super::model::Models;
use crate::bell::Bell as _;
use crate::config::ServerConfig;
use crate::counters::{Published, Totals};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};
use tailwater_control::Admission;
use tailwater_core::Instant;

pub(crate) struct Shared {
    pub(crate) config: ServerConfig,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) inboxes: Arc<[Inbox]>,
    pub(crate) models: Models,
    counters: Vec<Published>,
    /// Connections of all loops.
    pub(super) connections: AtomicUsize,
    /// Loops that have not ended.
    pub(super) running: AtomicUsize,
    /// The server drains; after that its connections end.
    draining: AtomicBool,
    /// When to give up draining, in nanoseconds; `u64::MAX` for never.
    drain_until_ns: AtomicU64,
    /// Requests that were not answered when the draining was given up.
    pub(super) unanswered: AtomicU64,
    /// Connections whose answers were not all sent by then.
    pub(super) unsent: AtomicU64,
    /// What each loop has left to do, as of its last publishing.
    left: Vec<Left>,
    /// The first thread that panicked, and its words.
    failure: OnceLock<String>,
}

/// See [`Remaining`].
#[derive(Default)]
struct Left {
    connections: AtomicU64,
    unanswered: AtomicU64,
}

impl Shared {
    pub(super) fn new(
        config: ServerConfig,
        admission: Arc<dyn Admission>,
        inboxes: Arc<[Inbox]>,
    ) -> Self {
        Self {
            counters: inboxes.iter().map(|_| Published::default()).collect(),
            left: inboxes.iter().map(|_| Left::default()).collect(),
            models: Models::new(config.model, inboxes.len()),
            config,
            admission,
            inboxes,
            connections: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            drain_until_ns: AtomicU64::new(u64::MAX),
            unanswered: AtomicU64::new(0),
            unsent: AtomicU64::new(0),
            failure: OnceLock::new(),
        }
    }

    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for published in &self.counters {
            published.add_to(&mut totals);
        }
        totals
    }

    /// A loop publishes what it counted and what it has left to do.
    pub(super) fn publish(&self, index: usize, totals: &Totals, left: Remaining) {
        self.counters[index].store(totals);
        // Relaxed: numbers to look at, each for itself.
        self.left[index].connections.store(left.connections, Relaxed);
        self.left[index].unanswered.store(left.unanswered, Relaxed);
    }

    /// A loop has ended, however: it has nothing left to do, and takes nothing more.
    pub(super) fn ends(&self, index: usize) {
        self.models.ends(index);
        self.inboxes[index].close();
        // Relaxed: as they are published. The loop publishes no more.
        self.left[index].connections.store(0, Relaxed);
        self.left[index].unanswered.store(0, Relaxed);
    }

    /// A loop waits for what the caller has freed; which one is not known.
    pub(super) fn wake_loops(&self) {
        for inbox in &*self.inboxes {
            inbox.doorbell.notify();
        }
    }

    pub(super) fn remaining(&self) -> Remaining {
        // Relaxed: as they are published.
        let sum =
            |of: fn(&Left) -> &AtomicU64| self.left.iter().map(|it| of(it).load(Relaxed)).sum();
        Remaining { connections: sum(|it| &it.connections), unanswered: sum(|it| &it.unanswered) }
    }

    /// Begins to drain, until then at most. Of several times the earliest counts.
    pub(super) fn begin_drain(&self, until: Instant) {
        // The time before the flag: `draining_until` reads it once it has seen the flag. The flag before the
        // doorbells are looked at: the publishing of rule 2 in `bell.rs`.
        self.drain_until_ns.fetch_min(until.as_nanos(), SeqCst);
        self.draining.store(true, SeqCst);
        for inbox in &*self.inboxes {
            // Rung without looking: a loop may be between its last check and its sleep.
            inbox.doorbell.notify();
            inbox.bell.ring();
        }
    }

    /// New requests are refused from the moment in which draining begins.
    pub(super) fn is_draining(&self) -> bool {
        // Pairs with `begin_drain`.
        self.draining.load(SeqCst)
    }

    /// When to give up draining, if the server drains.
    pub(super) fn draining_until(&self) -> Option<Instant> {
        // Relaxed: the flag was seen, which is stored after the time.
        self.is_draining().then(|| Instant::from_nanos(self.drain_until_ns.load(Relaxed)))
    }

    /// Patience is at its end: no handler may hold its thread any longer.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.draining_until().is_some_and(|until| now >= until)
    }

    /// What the first thread that panicked has said.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Runs one of the server's threads. If it panics, the server ends.
    pub(crate) fn guard(&self, name: &str, thread: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(thread)) {
            let words = panic.downcast_ref::<&str>().copied();
            let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let said = words.unwrap_or("a panic without words");
            // Only the first one tells the cause.
            let _ = self.failure.set(format!("{name} of the server has panicked: {said}"));
            // Its payload may panic in its turn when it is dropped.
            std::mem::forget(panic);
            self.begin_drain(Instant::ZERO);
        }
    }
}
