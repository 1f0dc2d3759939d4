//! A connection's output: frames that wait to be written, and whether their reader reads.

use super::progress::{Pace, Progress};
use crate::framing::{Flushed, Outgoing};
use crate::net::Stream;
use tailwater_core::Instant;
use tailwater_marks::Mark;

#[derive(Default)]
pub(super) struct Output {
    outgoing: Outgoing,
    /// A PONG is in it, which waits for no handler: its reader may be about to give us up.
    pub(super) prompt: bool,
    /// In the loop's list of connections to flush.
    pub(super) dirty: bool,
    /// Of what the kernel did not take.
    blocked: Option<Progress>,
    /// Bytes that the loop's total counts for this connection.
    pub(super) counted: usize,
    /// Of requests whose answers were appended since the last flush; empty where no profiler reads them.
    marks: Vec<Mark>,
}

impl Output {
    /// Where frames are appended.
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        self.outgoing.buffer()
    }

    /// The answer to this request was appended. It lasts until just before that is first offered to the kernel: a client's
    /// clock is told by that it reads it later.
    pub(super) fn answered(&mut self, mark: Mark) {
        if mark.is_read() {
            self.marks.push(mark);
        }
    }

    pub(super) const fn unsent(&self) -> usize {
        self.outgoing.unsent()
    }

    /// The kernel takes nothing more at the moment.
    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    pub(super) fn flush(&mut self, stream: &Stream, now: Instant) -> Flushed {
        self.prompt = false;
        let before = self.unsent();
        self.marks.clear();
        let flushed = self.outgoing.flush(stream);
        match flushed {
            Flushed::Blocked => {
                let blocked = self.blocked.get_or_insert_with(|| Progress::begin(now));
                blocked.add(before - self.outgoing.unsent());
            }
            Flushed::Done | Flushed::Closed => self.blocked = None,
        }
        flushed
    }

    /// When its reader is looked at.
    pub(super) fn stalled_due(&self, pace: Pace) -> Option<Instant> {
        self.blocked.map(|blocked| blocked.due(pace))
    }

    /// Whether its reader takes too little.
    pub(super) fn is_too_slow(&mut self, now: Instant, pace: Pace) -> bool {
        let left = self.outgoing.unsent();
        self.blocked.as_mut().is_some_and(|blocked| blocked.is_too_slow(now, pace, left))
    }
}
