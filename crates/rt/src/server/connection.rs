//! One client's connection: its socket, its buffers, and when its requests were really sent.

use super::introspect::Questions;
use crate::framing::give_back;
use crate::net::{Stream, Transfer};
use crate::poll::Interest;
use tailwater_control::Offer;
use tailwater_core::{Instant, Stamp};
use tailwater_wire::Limits;

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Its HELLO has not come.
    Greeting,
    /// It calls.
    Open,
    /// It was said goodbye to; what it still sends is thrown away.
    Closing,
}

pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) phase: Phase,
    pub(super) limits: Limits,
    /// The beginning of a frame whose rest has not come.
    pub(super) input: Vec<u8>,
    /// When more of that frame is overdue.
    pub(super) rest_due: Option<Instant>,
    output: Vec<u8>,
    output_sent: usize,
    pub(super) interest: Interest,
    /// Requests that wait or run.
    pub(super) pending: u32,
    /// Those of them in the run queue.
    pub(super) queued: u32,
    /// Bytes of arguments of those that were admitted.
    pub(super) pending_bytes: usize,
    /// In the loop's list of connections to flush.
    pub(super) dirty: bool,
    pub(super) generation: u32,
    pub(super) tenant: u32,
    /// The newest offer, repeated on answers that the controller does not see.
    pub(super) offer: Offer,
    pub(super) sending: SendClock,
    /// Asked for the server's counts.
    pub(super) questions: Questions,
    /// When its HELLO, its reading or its leaving is overdue.
    pub(super) overdue_at: Option<Instant>,
}

/// What became of a flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flush {
    /// All is with the kernel.
    Done,
    /// The kernel's buffer is full: go on when it is writable.
    Blocked,
    /// The peer is gone.
    Closed,
}

impl Connection {
    pub(super) fn new(stream: Stream, generation: u32, limits: Limits, overdue: Instant) -> Self {
        Self {
            stream,
            phase: Phase::Greeting,
            limits,
            input: Vec::new(),
            rest_due: None,
            output: Vec::new(),
            output_sent: 0,
            interest: Interest::READ,
            pending: 0,
            queued: 0,
            pending_bytes: 0,
            dirty: false,
            generation,
            tenant: 0,
            offer: Offer { window: 0, seq: 0, level: 0 },
            sending: SendClock::default(),
            questions: Questions::default(),
            overdue_at: Some(overdue),
        }
    }

    /// Whether it owes something for too long.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.overdue_at.is_some_and(|at| at <= now) || self.owes_rest(now)
    }

    /// Whether the rest of a frame is overdue. Who does not read is not read from, so that nobody knows
    /// whether it came.
    pub(super) fn owes_rest(&self, now: Instant) -> bool {
        self.unsent() == 0 && self.rest_due.is_some_and(|at| at <= now)
    }

    /// Where frames are appended.
    pub(super) const fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    pub(super) const fn unsent(&self) -> usize {
        self.output.len() - self.output_sent
    }

    pub(super) fn flush(&mut self) -> Flush {
        while self.unsent() > 0 {
            match self.stream.write(&self.output[self.output_sent..]) {
                Transfer::Bytes(count) => self.output_sent += count,
                Transfer::WouldBlock => return Flush::Blocked,
                Transfer::Closed => return Flush::Closed,
            }
        }
        self.output.clear();
        self.output_sent = 0;
        give_back(&mut self.output);
        Flush::Done
    }

    /// Drops what was sent from the front, so that a slow reader's buffer does not creep.
    pub(super) fn compact(&mut self) {
        self.output.drain(..self.output_sent);
        self.output_sent = 0;
    }
}

/// Tells how long a request waited in the socket, from the client's own stamps.
///
/// A socket hands over coalesced bytes; when each request came is lost. The client's send stamp,
/// against the smallest difference seen between the two clocks, gives the delay beyond the best
/// case without a common epoch. It is only believed up to what is possible: no request waited
/// longer than since the socket was last looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendClock {
    /// Smallest `now − sent_at` so far, and when it was last looked at.
    base: Option<(u32, Instant)>,
}

impl SendClock {
    /// The estimate in nanoseconds, from 0 to `most_ns`.
    pub(super) fn hidden_ns(&mut self, now: Instant, sent_at: Stamp, most_ns: u64) -> u64 {
        let difference = now.stamp().nanos_since(sent_at);
        let Some((base, looked)) = self.base else {
            self.base = Some((difference, now));
            return 0;
        };
        // Clocks drift apart by some 10⁻⁵: the base follows at 2⁻¹⁵ of the time that passes, so
        // that an old minimum does not turn into phantom delay.
        let drift = (now.nanos_since(looked) >> 15).min(u64::from(u32::MAX >> 2)) as u32;
        let base = base.wrapping_add(drift);
        let excess = difference.wrapping_sub(base).cast_signed();
        let Ok(excess) = u32::try_from(excess) else {
            self.base = Some((difference, now));
            return 0;
        };
        self.base = Some((base, now));
        u64::from(excess).min(most_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// The client's clock is 3 s behind and 2³² ns wrap somewhere on the way.
    fn sent(us: u64) -> Stamp {
        Stamp((us * 1_000) as u32)
    }

    #[test]
    fn delay_beyond_the_best_case_is_found_whatever_the_epochs() {
        let mut clock = SendClock::default();
        let behind = 3_000_000;
        assert_eq!(clock.hidden_ns(at(behind + 30), sent(0), u64::MAX), 0);
        assert_eq!(clock.hidden_ns(at(behind + 1_020), sent(1_000), u64::MAX), 0, "a better base");
        let hidden = clock.hidden_ns(at(behind + 2_120), sent(2_000), u64::MAX);
        assert!((99_900..=100_000).contains(&hidden), "{hidden}");
    }

    #[test]
    fn a_stamp_is_believed_only_up_to_what_is_possible() {
        let mut clock = SendClock::default();
        clock.hidden_ns(at(10), sent(10), u64::MAX);
        assert_eq!(clock.hidden_ns(at(1_000), sent(0), 50_000), 50_000);
        let mut silent = SendClock::default();
        silent.hidden_ns(at(10), Stamp(0), 0);
        assert_eq!(silent.hidden_ns(at(900), Stamp(0), 20_000), 20_000, "a client without a clock");
    }
}
