//! One memcached: one connection, what was sent by it, and whether it may be asked.

use super::answer::{Answer, Read, read};
use super::owed::Owed;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_rt::net::{Dial, Dialed, Dialing, Stream, Transfer};
use tailwater_rt::poll::{Interest, Poller, Readiness};

/// Answers owed at a time; further commands are refused as busy.
const OWED_MAX: usize = 1 << 16;
/// Bytes that wait to be sent; likewise.
const OUTPUT_MAX: usize = 16 << 20;
/// What is kept of buffers that a large value has made long.
const KEPT_BYTES: usize = 256 << 10;
/// Bounds of the pause between two attempts to connect.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A connection to a memcached, which is made again when it breaks.
#[derive(Debug)]
pub(super) struct Node {
    dialing: Dialing,
    /// The poller's.
    key: u64,
    /// In which it must connect, and answer each command.
    timeout: Duration,
    /// See [`super::NodesConfig::settle`].
    settle: Duration,
    /// Whether others hold the same keys: then what it missed must be forgotten.
    is_replicated: bool,
    state: State,
    attempts: usize,
    pause: Duration,
    /// Writes have passed it by.
    missed: bool,
    /// It has been emptied: others may hold what it does not.
    is_cold: bool,
    owed: VecDeque<(Instant, Owed)>,
    /// What will not be answered, and somebody waits for.
    lost: Vec<Owed>,
    output: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    /// Bytes of input without which the first answer is not whole.
    needed: usize,
    watches_output: bool,
    pub(super) counts: NodeCounts,
}

#[derive(Debug)]
enum State {
    Down {
        until: Instant,
        why: String,
    },
    Dialing {
        dial: Box<Dial>,
        since: Instant,
    },
    /// Connected, and too slow. It may still carry out what it was sent; so what it is to forget is said by the
    /// same connection, when it has answered everything.
    Hung(Stream),
    /// Connected; it forgets what it had.
    Cleaning(Stream),
    Up(Stream),
}

/// What became of what one node was asked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct NodeCounts {
    pub(super) gets: u64,
    pub(super) misses: u64,
    pub(super) writes: u64,
    /// How often it was lost.
    pub(super) breaks: u64,
    /// How often it was emptied since it had missed writes.
    pub(super) cleanings: u64,
}

impl Node {
    pub(super) fn new(
        dialing: Dialing,
        key: u64,
        [timeout, settle]: [Duration; 2],
        is_replicated: bool,
    ) -> Self {
        Self {
            dialing,
            key,
            timeout,
            settle,
            is_replicated,
            state: State::Down { until: Instant::ZERO, why: "not connected yet".into() },
            attempts: 0,
            pause: PAUSE_MIN,
            missed: false,
            is_cold: false,
            owed: VecDeque::new(),
            lost: Vec::new(),
            output: Vec::new(),
            sent: 0,
            input: Vec::new(),
            needed: 1,
            watches_output: false,
            counts: NodeCounts::default(),
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    pub(super) const fn is_cold(&self) -> bool {
        self.is_cold
    }

    /// Whether the first attempt to connect is over.
    pub(super) const fn was_tried(&self) -> bool {
        self.is_up() || self.counts.breaks > 0
    }

    /// For people.
    pub(super) fn state(&self) -> &str {
        match &self.state {
            State::Down { why, .. } => why,
            State::Dialing { .. } => "connecting",
            State::Hung(_) => "it has not answered in time",
            State::Cleaning(_) => "forgetting what it had",
            State::Up(_) => "up",
        }
    }

    /// Whether one more command may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.owed.len() < OWED_MAX && self.output.len() - self.sent < OUTPUT_MAX
    }

    /// A write goes to the other replicas only. One that is about to forget everything misses nothing.
    pub(super) const fn miss_write(&mut self) {
        if !matches!(self.state, State::Cleaning(_)) {
            self.missed = true;
        }
    }

    /// Leaves a command for the next [`Node::flush`]; [`Node::owes`] is to follow. Only while it is up.
    pub(super) fn queue(&mut self, command: impl FnOnce(&mut Vec<u8>)) {
        command(&mut self.output);
    }

    /// What is owed for the command that was left last.
    pub(super) fn owes(&mut self, now: Instant, owed: Owed) {
        match owed {
            Owed::Get(_) => self.counts.gets += 1,
            Owed::Write(_) => self.counts.writes += 1,
            Owed::Clean => self.counts.cleanings += 1,
            Owed::LateGet(_) | Owed::Late => {}
        }
        self.owed.push_back((now, owed));
    }

    /// Connects when it is time, and gives up what takes too long.
    pub(super) fn turn(&mut self, now: Instant, poller: &Poller) {
        match &self.state {
            State::Down { until, .. } if *until <= now => {
                self.attempts += 1;
                match Dial::begin(self.dialing.clone(), self.attempts, poller, self.key) {
                    Ok(dial) => self.state = State::Dialing { dial: Box::new(dial), since: now },
                    Err(error) => self.fail(now, error.to_string()),
                }
            }
            State::Dialing { since, .. } if now.since(*since) >= self.timeout => {
                self.fail(now, "the attempt to connect took too long".into());
            }
            State::Up(_) | State::Cleaning(_) if self.overdue().is_some_and(|at| at <= now) => {
                self.hang();
            }
            _ => {}
        }
    }

    /// Nobody waits for it any longer.
    fn hang(&mut self) {
        let down = State::Down { until: Instant::ZERO, why: String::new() };
        self.state = match std::mem::replace(&mut self.state, down) {
            State::Up(stream) | State::Cleaning(stream) => State::Hung(stream),
            other => other,
        };
        self.counts.breaks += 1;
        self.missed |= self.owed.iter().any(|(_, owed)| owed.is_write());
        self.lost.extend(self.owed.iter_mut().map(|(_, owed)| owed.give_up()));
    }

    /// It has answered everything.
    fn recover(&mut self, now: Instant) {
        let down = State::Down { until: Instant::ZERO, why: String::new() };
        match std::mem::replace(&mut self.state, down) {
            State::Hung(stream) => self.begin(now, stream),
            other => self.state = other,
        }
    }

    /// May be asked by this connection, once it has forgotten what it must.
    fn begin(&mut self, now: Instant, stream: Stream) {
        if self.missed && self.is_replicated {
            self.state = State::Cleaning(stream);
            self.queue(|out| out.extend_from_slice(b"flush_all\r\n"));
            self.owes(now, Owed::Clean);
        } else {
            self.state = State::Up(stream);
        }
    }

    /// When a turn is due at the latest.
    pub(super) fn next_due(&self) -> Option<Instant> {
        match &self.state {
            State::Down { until, .. } => Some(*until),
            State::Dialing { since, .. } => Some(*since + self.timeout),
            State::Hung(_) => None,
            State::Cleaning(_) | State::Up(_) => self.overdue(),
        }
    }

    fn overdue(&self) -> Option<Instant> {
        self.owed.front().map(|(since, _)| *since + self.timeout)
    }

    /// The poller says something. `deliver` gets each answer, and what it is one to.
    pub(super) fn on_ready(
        &mut self,
        now: Instant,
        poller: &Poller,
        readiness: Readiness,
        scratch: &mut [u8],
        deliver: &mut dyn FnMut(Owed, Answer<'_>),
    ) {
        if let State::Dialing { dial, .. } = &mut self.state {
            match dial.on_ready(poller, readiness) {
                Dialed::Pending => {}
                Dialed::Connected(stream) => {
                    self.pause = PAUSE_MIN;
                    self.begin(now, stream);
                }
                Dialed::Failed(error) => self.fail(now, error.to_string()),
            }
        } else if readiness.readable {
            match self.receive(scratch, deliver) {
                Ok(()) if self.owed.is_empty() => self.recover(now),
                Ok(()) => {}
                Err(why) => self.fail(now, why.into()),
            }
        }
    }

    fn receive(
        &mut self,
        scratch: &mut [u8],
        deliver: &mut dyn FnMut(Owed, Answer<'_>),
    ) -> Result<(), &'static str> {
        let Some(stream) = self.stream() else { return Ok(()) };
        let read = match stream.read(scratch) {
            Transfer::Bytes(read) => read,
            Transfer::WouldBlock => return Ok(()),
            Transfer::Closed => return Err("it closed the connection"),
        };
        // Usually nothing is left of earlier reads, and the answers need not be copied.
        if self.input.is_empty() {
            let used = self.answers(&scratch[..read], deliver)?;
            self.input.extend_from_slice(&scratch[used..read]);
        } else {
            self.input.extend_from_slice(&scratch[..read]);
            if self.input.len() < self.needed {
                return Ok(());
            }
            let mut input = std::mem::take(&mut self.input);
            let used = self.answers(&input, deliver)?;
            input.drain(..used);
            input.shrink_to(KEPT_BYTES);
            self.input = input;
        }
        Ok(())
    }

    /// Delivers the whole answers among these bytes. How many bytes they have.
    fn answers(
        &mut self,
        input: &[u8],
        deliver: &mut dyn FnMut(Owed, Answer<'_>),
    ) -> Result<usize, &'static str> {
        let mut at = 0;
        self.needed = 1;
        while at < input.len() {
            let Some((since, owed)) = self.owed.pop_front() else {
                return Err("it answered what was not asked");
            };
            match read(&input[at..], owed.expected()) {
                Read::Incomplete(needed) => {
                    self.needed = needed;
                    self.owed.push_front((since, owed));
                    break;
                }
                Read::Whole(answer, used) => {
                    at += used;
                    self.take(owed, answer, deliver)?;
                }
                Read::Broken(why) => {
                    self.owed.push_front((since, owed));
                    return Err(why);
                }
            }
        }
        Ok(at)
    }

    fn take(
        &mut self,
        owed: Owed,
        answer: Answer<'_>,
        deliver: &mut dyn FnMut(Owed, Answer<'_>),
    ) -> Result<(), &'static str> {
        if matches!(owed, Owed::Clean) {
            if answer != Answer::Line(b"OK") {
                return Err("it did not take flush_all, and has missed writes");
            }
            let down = State::Down { until: Instant::ZERO, why: String::new() };
            if let State::Cleaning(stream) = std::mem::replace(&mut self.state, down) {
                self.state = State::Up(stream);
            }
            (self.missed, self.is_cold) = (false, true);
            return Ok(());
        }
        if !matches!(owed, Owed::LateGet(_) | Owed::Late) {
            self.counts.misses += u64::from(answer == Answer::Miss);
            deliver(owed, answer);
        }
        Ok(())
    }

    const fn stream(&self) -> Option<&Stream> {
        match &self.state {
            State::Up(stream) | State::Cleaning(stream) | State::Hung(stream) => Some(stream),
            State::Down { .. } | State::Dialing { .. } => None,
        }
    }

    /// Sends what is there.
    pub(super) fn flush(&mut self, now: Instant, poller: &Poller) {
        if self.output.is_empty() {
            return;
        }
        let Some(stream) = self.stream() else { return };
        let mut sent = self.sent;
        let mut is_closed = false;
        while sent < self.output.len() && !is_closed {
            match stream.write(&self.output[sent..]) {
                Transfer::Bytes(more) => sent += more,
                Transfer::WouldBlock => break,
                Transfer::Closed => is_closed = true,
            }
        }
        let waits = sent < self.output.len();
        let interest = Interest { readable: true, writable: waits };
        if is_closed {
            return self.fail(now, "it closed the connection".into());
        }
        if waits != self.watches_output && poller.modify(stream, self.key, interest).is_err() {
            return self.fail(now, "the kernel does not watch the connection".into());
        }
        (self.sent, self.watches_output) = (sent, waits);
        if !waits {
            self.output.clear();
            self.output.shrink_to(KEPT_BYTES);
            self.sent = 0;
        }
    }

    fn fail(&mut self, now: Instant, why: String) {
        let owes_writes = self.owed.iter().any(|(_, owed)| owed.is_write());
        // What it was sent and did not answer it may have carried out or not, and may yet.
        self.missed |= owes_writes;
        let settle = if owes_writes { self.settle } else { Duration::ZERO };
        // This closes the socket, which the poller then forgets.
        self.state = State::Down { until: now + self.pause.max(settle), why };
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        self.counts.breaks += 1;
        self.lost.extend(std::mem::take(&mut self.owed).into_iter().map(|(_, owed)| owed));
        self.output.clear();
        self.input.clear();
        (self.sent, self.needed, self.watches_output) = (0, 1, false);
    }

    /// What will not be answered.
    pub(super) fn take_lost(&mut self) -> Vec<Owed> {
        std::mem::take(&mut self.lost)
    }
}
