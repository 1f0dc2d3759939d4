//! A connection's input: bytes to frames, and how much of them it may send.

use super::progress::{Pace, Progress};
use super::send_clock::SendClock;
use super::tokens::Tokens;
use crate::framing::{Incoming, Reading};
use tailwater_core::{Instant, MethodId, Stamp};
use tailwater_wire::{ClientFrame, DecodeError, Limits, Side, decode_from_client, needed};

pub(super) struct Input {
    incoming: Incoming,
    /// Held bytes that the loop's total counts.
    pub(super) counted: usize,
    /// In the loop's list of connections that have another go.
    pub(super) goes_again: bool,
    /// Held bytes may be whole frames: the connection had its go before they were looked at.
    leftover: bool,
    /// Since when they are held, if so: they waited here unseen.
    held_since: Instant,
    /// Of a frame whose rest has not come.
    partial: Option<Progress>,
    /// Reads since the last whole frame that brought a drip.
    drips: u32,
    /// Its allowance of control frames is used up until then.
    paused: Option<Instant>,
    tokens: Tokens,
    /// Calls that may be given up at no cost: one for each request that came.
    cancels: u32,
    sending: SendClock,
    /// When something came last.
    heard: Instant,
    /// A PING went out then, and nothing came since.
    pub(super) pinged: Option<Instant>,
    /// REQUEST frames taken.
    pub(super) taken: u64,
}

/// A read of fewer bytes that ends no frame is a drip. A network's smallest segments are larger.
const DRIP: usize = 256;

/// What stands at the front of the input.
pub(super) enum Next<'a> {
    /// A frame, and its length.
    Frame(ClientFrame<'a>, usize),
    /// Not a whole frame.
    Dry,
    /// A control frame beyond the allowance.
    Pause,
    /// No frame.
    Broken(DecodeError),
}

/// Why a connection's go ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Every whole frame was taken, or its allowance is used up.
    Dry,
    /// Others are to have their go.
    Fair,
}

/// So many calls of a client may be under way by default, and be given up together.
const CANCELS_MAX: u32 = 1 << 16;

impl Input {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            incoming: Incoming::default(),
            counted: 0,
            goes_again: false,
            leftover: false,
            held_since: now,
            partial: None,
            drips: 0,
            paused: None,
            tokens: Tokens::new(now),
            cancels: 0,
            sending: SendClock::default(),
            heard: now,
            pinged: None,
            taken: 0,
        }
    }

    /// Bytes came.
    pub(super) const fn on_bytes(&mut self, now: Instant, count: usize) {
        self.heard = now;
        self.pinged = None;
        if let Some(partial) = &mut self.partial {
            partial.add(count);
        }
    }

    pub(super) const fn heard(&self) -> Instant {
        self.heard
    }

    pub(super) const fn held(&self) -> usize {
        self.incoming.held()
    }

    pub(super) const fn has_leftover(&self) -> bool {
        self.leftover
    }

    pub(super) const fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub(super) const fn paused_until(&self) -> Option<Instant> {
        self.paused
    }

    /// The pause is over if its time is.
    pub(super) fn resume(&mut self, now: Instant) {
        if let Some(until) = self.paused.take_if(|until| *until <= now) {
            // The pause is the client's own doing, and no delay of ours. So is what was unread beyond it.
            self.held_since = self.held_since.max(until);
            // Its PONG may be in the socket, too.
            self.pinged = self.pinged.map(|_| now);
            // The rest of a frame may have been in the socket all the time. What comes in drips is not excused: each of its pauses
            // would begin its patience anew.
            if self.drips == 0 {
                self.excuse(now);
            }
        }
    }

    /// The held bytes, and fresh ones behind them.
    pub(super) fn feed<'a>(&mut self, fresh: &'a [u8]) -> Reading<'a> {
        self.incoming.feed(fresh)
    }

    /// Looks at the front of `bytes`.
    // Out of line the frame would be copied once more, field by field.
    #[inline(always)]
    pub(super) fn next<'a>(&mut self, bytes: &'a [u8], limits: &Limits, now: Instant) -> Next<'a> {
        if self.paused.is_some() {
            return Next::Pause;
        }
        let (frame, length) = match decode_from_client(bytes, limits) {
            Ok(Some(found)) => found,
            Ok(None) => return Next::Dry,
            Err(error) => return Next::Broken(error),
        };
        if is_free(&frame) {
            self.tokens.earn();
            self.cancels = self.cancels.saturating_add(1).min(CANCELS_MAX);
        } else if matches!(frame, ClientFrame::Cancel(_)) && self.cancels > 0 {
            self.cancels -= 1;
        } else if let Err(until) = self.tokens.take(now) {
            self.paused = Some(until);
            return Next::Pause;
        }
        Next::Frame(frame, length)
    }

    /// A request came beyond the window: a client that goes on so is read more slowly.
    pub(super) fn fine(&mut self, now: Instant) {
        self.paused = self.tokens.fine(now).or(self.paused);
    }

    /// Keeps what a go of `fresh` bytes has left.
    pub(super) fn keep(&mut self, rest: Reading<'_>, fresh: usize, stop: Stop, now: Instant) {
        let (used, left) = (rest.used(), rest.rest().len());
        if !self.leftover {
            self.held_since = now;
        }
        if used > 0 {
            self.drips = 0;
        } else if fresh > 0 && fresh < DRIP && !self.is_paused() {
            self.drips += 1;
            self.paused = self.tokens.drip(now, self.drips);
        }
        self.leftover = left > 0 && (stop == Stop::Fair || self.is_paused());
        if used > 0 || self.partial.is_none() {
            self.partial = (left > 0).then(|| Progress::begin(now));
        }
        self.incoming.keep(rest);
    }

    /// When the rest of a frame is overdue, unless it waits for us.
    pub(super) fn rest_due(&self, pace: Pace) -> Option<Instant> {
        let partial = self.partial.filter(|_| !self.leftover && !self.is_paused());
        partial.map(|partial| partial.due(pace))
    }

    /// Whether the rest of a frame comes too slowly.
    pub(super) fn is_too_slow(&mut self, now: Instant, pace: Pace, limits: &Limits) -> bool {
        let held = self.incoming.bytes();
        let whole = needed(held, Side::Client, limits).unwrap_or(held.len());
        let left = whole.saturating_sub(held.len());
        let waits_for_us = self.leftover || self.is_paused();
        let partial = self.partial.as_mut().filter(|_| !waits_for_us);
        partial.is_some_and(|partial| partial.is_too_slow(now, pace, left))
    }

    /// We did not read: the time does not count against the client.
    pub(super) fn excuse(&mut self, now: Instant) {
        self.partial = self.partial.map(|_| Progress::begin(now));
    }

    /// Much of its output was unread until now, so that nothing was taken. That is the client's own doing, too, and no
    /// delay of ours. What it waited for us before that is forgotten with it, so its own delay is told too short.
    pub(super) const fn reader_goes_on(&mut self, now: Instant) {
        self.held_since = now;
    }

    /// How long a request of this stamp waited unseen, of `blind_ns` at most.
    pub(super) fn hidden_ns(&mut self, now: Instant, sent_at: Stamp, blind_ns: u64) -> u64 {
        let held_ns = if self.leftover { now.nanos_since(self.held_since) } else { 0 };
        self.sending.hidden_ns(now, sent_at, blind_ns.max(held_ns))
    }

    /// Forgets the held bytes: nothing of them will be taken.
    pub(super) fn clear(&mut self) {
        self.incoming.clear();
        (self.leftover, self.partial, self.paused) = (false, None, None);
    }
}

/// Whether a frame costs its sender something already.
const fn is_free(frame: &ClientFrame<'_>) -> bool {
    match frame {
        ClientFrame::Request(request) => request.method.0 != MethodId::INTROSPECT.0,
        ClientFrame::Hello(_) | ClientFrame::Goodbye(_) => true,
        ClientFrame::Demand(_)
        | ClientFrame::Deregister(_)
        | ClientFrame::Cancel(_)
        | ClientFrame::Ping(_)
        | ClientFrame::Pong(_) => false,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::sent;
    use super::*;
    use std::time::Duration;
    use tailwater_core::RequestId;
    use tailwater_wire::{Cancel, Ping};

    const PACE: Pace = Pace { patience: Duration::from_secs(1), rate_min: 1_024 };

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn pings(count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        (0..count).for_each(|token| Ping { token }.encode(&mut bytes));
        bytes
    }

    /// Takes `most` frames at most; how many there were.
    fn go(input: &mut Input, fresh: &[u8], most: usize, ms: u64) -> usize {
        let limits = Limits::default();
        input.on_bytes(at(ms), fresh.len());
        let mut reading = input.feed(fresh);
        for taken in 0..most {
            match input.next(reading.rest(), &limits, at(ms)) {
                Next::Frame(_, length) => reading.take(length),
                Next::Dry | Next::Pause => {
                    input.keep(reading, fresh.len(), Stop::Dry, at(ms));
                    return taken;
                }
                Next::Broken(error) => panic!("{error}"),
            }
        }
        input.keep(reading, fresh.len(), Stop::Fair, at(ms));
        most
    }

    #[test]
    fn a_go_is_of_bounded_length_and_the_next_goes_on_where_it_ended() {
        let mut input = Input::new(at(0));
        assert_eq!(go(&mut input, &pings(10), 4, 1), 4);
        assert!(input.has_leftover() && input.held() == 6 * 16);
        assert_eq!(input.rest_due(PACE), None, "the rest waits for us");
        assert_eq!(go(&mut input, &[], 4, 2), 4);
        assert_eq!(go(&mut input, &[], 4, 3), 2);
        assert!(!input.has_leftover() && input.held() == 0);
    }

    /// Calls whose deadlines pass together are given up together, however long ago their requests came.
    #[test]
    fn each_request_pays_for_its_cancel_whenever_that_comes_and_for_no_other() {
        let mut input = Input::new(at(0));
        let mut bytes = Vec::new();
        for id in 0..5_000 {
            sent(id).encode(&Limits::default(), &mut bytes).expect("it fits");
        }
        assert_eq!(go(&mut input, &bytes, usize::MAX, 0), 5_000);
        let cancels = |count: u64| {
            let mut bytes = Vec::new();
            (0..count).for_each(|id| Cancel { id: RequestId(id) }.encode(&mut bytes));
            bytes
        };
        assert_eq!(go(&mut input, &cancels(5_000), usize::MAX, 0), 5_000);
        assert!(!input.is_paused());
        let forged = go(&mut input, &cancels(5_000), usize::MAX, 0);
        assert!(forged < 2_500 && input.is_paused(), "{forged} that no request has paid for");
    }

    #[test]
    fn control_frames_beyond_the_allowance_wait_and_are_not_lost() {
        let mut input = Input::new(at(0));
        let taken = go(&mut input, &pings(2_000), usize::MAX, 0);
        assert!(taken < 2_000 && input.is_paused() && input.has_leftover());
        let until = input.paused_until().unwrap();
        input.resume(at(0));
        assert!(input.is_paused(), "not yet");
        input.resume(until + Duration::from_millis(5));
        assert!(!input.is_paused());
        assert_eq!(
            input.held_since, until,
            "what the client waits for by its own doing is no delay"
        );
        let mut all = taken;
        for second in 1..3 {
            input.resume(at(second * 1_000));
            all += go(&mut input, &[], usize::MAX, second * 1_000);
        }
        assert_eq!(all, 2_000);
    }

    #[test]
    fn what_was_unread_beyond_a_pause_is_no_delay_either() {
        let mut input = Input::new(at(0));
        go(&mut input, &pings(2_000), usize::MAX, 0);
        let until = input.paused_until().expect("it is paused");
        input.reader_goes_on(until + Duration::from_secs(9));
        input.resume(until + Duration::from_secs(9));
        assert!(!input.is_paused());
        assert_eq!(input.held_since, until + Duration::from_secs(9));
    }

    /// It was due as if it had been read meanwhile. A client was sent away for what the server had not taken.
    #[test]
    fn the_rest_of_a_frame_has_its_time_from_a_pause_on_unless_it_comes_in_drips() {
        let pace = Pace { patience: Duration::from_millis(10), rate_min: 1_024 };
        let mut input = Input::new(at(0));
        let bytes = pings(2);
        input.on_bytes(at(0), bytes.len());
        let mut reading = input.feed(&bytes[..24]);
        let Next::Frame(_, length) = input.next(reading.rest(), &Limits::default(), at(0)) else {
            panic!("one frame is whole");
        };
        reading.take(length);
        while !input.is_paused() {
            input.fine(at(0));
        }
        input.keep(reading, 24, Stop::Dry, at(0));
        let until = input.paused_until().expect("it is paused");
        input.resume(until);
        assert_eq!(go(&mut input, &[], usize::MAX, 500), 0, "half a frame");
        assert_eq!(input.rest_due(pace), Some(until + pace.patience));

        let (mut dripping, mut frame) = (Input::new(at(0)), Vec::new());
        sent(1).encode(&Limits::default(), &mut frame).expect("it fits");
        let mut drips = frame.iter();
        while !dripping.is_paused() {
            let drip = *drips.next().expect("it is paused before the frame's end");
            assert_eq!(go(&mut dripping, &[drip], usize::MAX, 0), 0);
        }
        dripping.resume(dripping.paused_until().expect("it is paused"));
        assert_eq!(go(&mut dripping, &[], usize::MAX, 500), 0);
        assert_eq!(dripping.rest_due(pace), Some(at(10)));
    }

    #[test]
    fn a_frame_that_comes_by_drips_is_too_slow_although_something_always_comes() {
        let mut input = Input::new(at(0));
        let mut frame = Vec::new();
        Cancel { id: RequestId(7) }.encode(&mut frame);
        let limits = Limits::default();
        assert_eq!(go(&mut input, &frame[..8], usize::MAX, 0), 0);
        assert_eq!(input.rest_due(PACE), Some(at(1_000)));
        for ms in [300, 600, 900] {
            assert_eq!(go(&mut input, &[0], usize::MAX, ms), 0);
        }
        assert!(!input.is_too_slow(at(999), PACE, &limits));
        assert!(input.is_too_slow(at(1_000), PACE, &limits), "three of the eight bytes came");
        input.excuse(at(1_000));
        assert!(!input.is_too_slow(at(1_500), PACE, &limits), "we did not read meanwhile");
    }

    #[test]
    fn a_frame_in_drips_is_read_ever_more_rarely_and_comes_whole() {
        let mut input = Input::new(at(0));
        let frame = pings(64);
        let (mut taken, mut pauses, mut ms) = (0, 0, 0);
        for byte in &frame {
            taken += go(&mut input, &[*byte], usize::MAX, ms);
            if let Some(until) = input.paused_until() {
                (pauses, ms) = (pauses + 1, until.as_nanos() / 1_000_000 + 1);
                input.resume(at(ms));
            }
        }
        assert_eq!(taken, 64, "nothing is lost");
        assert!(pauses > 0, "960 drips, fifteen in a row, are more than the allowance");
        let large = 1_000;
        let mut honest = Input::new(at(0));
        let mut frames = pings(64);
        for piece in frames.chunks_mut(large) {
            go(&mut honest, piece, usize::MAX, 0);
        }
        assert!(!honest.is_paused(), "pieces of a network's segments are no drips");
    }
}
