//! What a loop gets from the server's other threads: clients, the ends of what workers ran, and reports.

use super::job::Origin;
use super::key::FlightKey;
use crate::bell::Doorbell;
use crate::counts::BudgetCounts;
use crate::executor::Panicked;
use crate::net::Stream;
use crate::poll::EventBell;
use crate::service::Reply;
use crossbeam_queue::SegQueue;
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::SyncSender;
use tailwater_core::Instant;
use tailwater_marks::Mark;
use tailwater_sync::budget::TaskBudget;
use tailwater_wire::{Goodbye, GoodbyeCode};

/// What other threads leave for a loop.
pub(crate) struct Inbox {
    /// As many as `connections_max` at most.
    streams: SegQueue<Stream>,
    /// The loop has ended.
    closed: AtomicBool,
    /// As many as the loop's flights at most, those that were abandoned among them.
    pub(crate) done: SegQueue<Done>,
    /// What the reporter has to say: as many as were asked.
    pub(super) reports: SegQueue<Report>,
    pub(crate) doorbell: Arc<Doorbell>,
    pub(super) bell: EventBell,
}

impl Inbox {
    pub(super) fn new() -> Result<Self, Errno> {
        let bell = EventBell::new()?;
        Ok(Self {
            streams: SegQueue::new(),
            closed: AtomicBool::new(false),
            done: SegQueue::new(),
            reports: SegQueue::new(),
            doorbell: Arc::new(Doorbell::new(Box::new(bell.clone()))),
            bell,
        })
    }

    /// Leaves a client to the loop.
    pub(super) fn give(&self, stream: Stream) {
        self.streams.push(stream);
        // One of the two sees the other: the loop closes before it looks for the last time.
        if self.closed.load(SeqCst) {
            self.turn_away_all();
        }
        self.doorbell.notify();
    }

    pub(super) fn take_stream(&self) -> Option<Stream> {
        self.streams.pop()
    }

    /// The loop ends: clients that are left to it from now on are turned away.
    pub(super) fn close(&self) {
        // Pairs with the load in `give`, which says how.
        self.closed.store(true, SeqCst);
        self.turn_away_all();
    }

    fn turn_away_all(&self) {
        while let Some(stream) = self.streams.pop() {
            turn_away(&stream, GoodbyeCode::Draining, "the server shuts down");
        }
    }

    /// Workers have ended requests that the loop has not taken yet.
    pub(super) fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.done.is_empty() && self.reports.is_empty()
    }
}

/// Says goodbye to a client of which nothing was read.
pub(super) fn turn_away(stream: &Stream, code: GoodbyeCode, why: &str) {
    let mut bytes = Vec::new();
    Goodbye::new(code, why).encode(&mut bytes);
    // Best effort: a fresh socket's buffer has room for this.
    let _ = stream.write(&bytes);
}

/// A flight's end on its way back to its loop.
pub(crate) struct Done {
    pub(super) flight: FlightKey,
    pub(super) end: Result<End, Unbegun>,
}

/// Why a handler has no end of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unbegun {
    /// Its loop cancelled it.
    Cancelled,
    /// Its deadline passed while it waited for the worker.
    Late,
}

/// A handler's end at a worker.
pub(crate) struct End {
    pub(super) started: Instant,
    /// On its way back it may wait for the loop.
    pub(super) ended: Instant,
    pub(super) reply: Result<Reply, Panicked>,
    pub(super) budget: Option<Box<TaskBudget>>,
    pub(super) mark: Mark,
}

/// Where loops leave questions for the reporter.
pub(super) type Questions = SyncSender<Question>;

/// A client's question, and the loop that is to answer it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) home: usize,
    pub(super) origin: Origin,
    pub(super) budgets: Option<BudgetCounts>,
}

/// The server's counts, for the client that asked.
pub(super) struct Report {
    pub(super) question: Question,
    /// `None` if the server is asked too often.
    pub(super) text: Option<Vec<u8>>,
}
