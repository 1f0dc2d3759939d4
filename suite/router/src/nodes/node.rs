//! One memcached: whether it may be asked, and what becomes of what it was asked.

use super::answer::Answer;
use super::connection::Connection;
use super::forget;
use super::ledger::{Asked, Broken, Ledger, Owed};
use crate::standing::{Forget, Standing};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::buffers::Pool;
use tailwater_rt::net::{Dial, Dialed, Dialing, Stream};
use tailwater_rt::poll::{Poller, Readiness};

/// Bounds of the pause between two attempts to connect.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How a node is reached, and how long that may take.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    pub(super) dialing: Dialing,
    /// The poller's.
    pub(super) key: u64,
    /// See [`super::NodesConfig::timeout`].
    pub(super) timeout: Duration,
    /// See [`super::NodesConfig::settle`].
    pub(super) settle: Duration,
    /// For commands that wait to be sent.
    pub(super) pool: Arc<Pool>,
}

/// A memcached, to which a connection is made again when it breaks.
#[derive(Debug)]
pub(super) struct Node {
    reach: Reach,
    state: State,
    attempts: usize,
    pause: Duration,
    ledger: Ledger,
    pub(super) standing: Standing,
    ended: Ended,
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
    /// Connected, and silent. It may still carry out what it was sent; so what it is to forget is said by the
    /// same connection, when it has answered everything.
    Hung(Connection),
    Up(Connection),
}

/// What will not be answered by a node.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Another replica may answer it.
    pub(super) lost: Vec<Owed>,
    /// Gets to which there was no right answer.
    pub(super) spoilt: Vec<Asked>,
}

/// What became of what one node was asked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct NodeCounts {
    pub(super) gets: u64,
    pub(super) misses: u64,
    pub(super) writes: u64,
    /// How often it was lost.
    pub(super) breaks: u64,
    /// How many keys it has forgotten, since it had an old value or none.
    pub(super) forgets: u64,
    /// How often it has forgotten everything.
    pub(super) cleanings: u64,
}

impl Node {
    pub(super) fn new(reach: Reach, forgets_everything: bool) -> Self {
        Self {
            reach,
            state: State::Down { until: Instant::ZERO, why: "not connected yet".into() },
            attempts: 0,
            pause: PAUSE_MIN,
            ledger: Ledger::default(),
            standing: Standing::new(forgets_everything),
            ended: Ended::default(),
            counts: NodeCounts::default(),
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
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
            State::Up(_) => "up",
        }
    }

    /// Whether a get that goes there now is likely to be late: it has been silent for so long.
    pub(super) fn is_silent(&self, now: Instant, time: Duration) -> bool {
        self.ledger.is_silent(now, time)
    }

    /// Whether a get that goes there now is sent at once.
    pub(super) fn is_open(&self) -> bool {
        matches!(&self.state, State::Up(connection) if !connection.has_output())
    }

    /// Makes room for one more command, of so many bytes. False if it is busy, or not up.
    pub(super) fn make_room(&mut self, bytes: usize) -> bool {
        let State::Up(connection) = &mut self.state else { return false };
        !self.ledger.is_full() && connection.make_room(bytes).is_ok()
    }

    /// Leaves a command, for which there is room, for the next [`Node::flush`].
    pub(super) fn queue(&mut self, command: &[&[u8]], owed: Owed) {
        let State::Up(connection) = &mut self.state else { return };
        match owed {
            Owed::Get(_) | Owed::LateGet(_) => self.counts.gets += 1,
            Owed::Write(_) | Owed::LateWrite => self.counts.writes += 1,
            Owed::Forget(_) => {}
        }
        connection.queue(command);
        self.ledger.add(owed);
    }

    /// What it holds of this is old: it forgets it before it is asked what is not asked yet.
    pub(super) fn forget(&mut self, now: Instant, what: Forget) {
        self.standing.grows_cold();
        let State::Up(connection) = &mut self.state else {
            return self.standing.add(what, 0);
        };
        // Beyond the bound on answers that are owed: each of these follows on one that was.
        if connection.make_room(forget::command(&what).concat().len()).is_ok() {
            self.queue(&forget::command(&what.clone()), Owed::Forget(what));
        } else {
            self.standing.add(what, 0);
            self.fail(now, "there is no room to tell it what to forget".into());
        }
    }

    /// Connects when it is time, and gives up what takes too long. It begins again only if it `may_begin`.
    pub(super) fn turn(&mut self, now: Instant, poller: &Poller, may_begin: bool) {
        match &self.state {
            State::Down { until, .. } if *until <= now && may_begin => {
                self.attempts += 1;
                let dialing = self.reach.dialing.clone();
                match Dial::begin(dialing, self.attempts, poller, self.reach.key) {
                    Ok(dial) => self.state = State::Dialing { dial: Box::new(dial), since: now },
                    Err(error) => self.fail(now, error.to_string()),
                }
            }
            State::Dialing { since, .. } if now.since(*since) >= self.reach.timeout => {
                self.fail(now, "the attempt to connect took too long".into());
            }
            State::Hung(_) if self.ledger.is_empty() && may_begin => {
                if let State::Hung(connection) = self.take_state() {
                    self.begin(now, connection);
                }
            }
            _ => {}
        }
    }

    /// Whether it is up and has been silent for too long. What has come must have been read.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        let overdue = self.ledger.overdue(self.reach.timeout);
        self.is_up() && overdue.is_some_and(|at| at <= now)
    }

    /// It is found to be overdue: no client waits for it any longer. Found long after the time, it is given that again, once
    /// in a silence: then this process did not run, and perhaps the node did not, either.
    pub(super) fn give_up(&mut self, now: Instant) {
        let overdue = self.ledger.overdue(self.reach.timeout).unwrap_or(now);
        if now.since(overdue) > self.reach.timeout / 4 && self.ledger.grant(now) {
            return;
        }
        if let State::Up(connection) = self.take_state() {
            self.state = State::Hung(connection);
        }
        self.counts.breaks += 1;
        self.ended.lost.extend(self.ledger.give_up());
    }

    fn take_state(&mut self) -> State {
        let down = State::Down { until: Instant::ZERO, why: String::new() };
        std::mem::replace(&mut self.state, down)
    }

    /// May be asked by this connection; what it must forget comes first.
    fn begin(&mut self, now: Instant, connection: Connection) {
        self.state = State::Up(connection);
        for (what, _) in self.standing.take() {
            self.forget_at_first(now, what);
        }
    }

    fn forget_at_first(&mut self, now: Instant, what: Forget) {
        let is_cold = self.standing.is_cold();
        self.forget(now, what);
        // Emptied before anything was written, it lacks nothing.
        if !is_cold && self.is_up() {
            self.standing.grows_warm();
        }
    }

    /// When a turn is due at the latest.
    pub(super) fn next_due(&self, may_begin: bool) -> Option<Instant> {
        match &self.state {
            State::Down { until, .. } => may_begin.then_some(*until),
            State::Dialing { since, .. } => Some(*since + self.reach.timeout),
            State::Hung(_) => (self.ledger.is_empty() && may_begin).then_some(Instant::ZERO),
            State::Up(_) => self.ledger.overdue(self.reach.timeout),
        }
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
                Dialed::Connected(stream) => self.on_connected(now, stream),
                Dialed::Failed(error) => self.fail(now, error.to_string()),
            }
        } else if readiness.readable {
            self.receive(now, scratch, deliver);
        }
    }

    fn on_connected(&mut self, now: Instant, stream: Stream) {
        self.pause = PAUSE_MIN;
        if self.counts.breaks > 0 {
            // It may be another process by now, and empty.
            self.standing.grows_cold();
        }
        let connection = Connection::new(stream, self.reach.key, self.reach.pool.clone());
        self.begin(now, connection);
    }

    /// Reads what has come.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        scratch: &mut [u8],
        deliver: &mut dyn FnMut(Owed, Answer<'_>),
    ) {
        let (State::Up(connection) | State::Hung(connection)) = &mut self.state else { return };
        let (ledger, counts) = (&mut self.ledger, &mut self.counts);
        let standing = &mut self.standing;
        let received = connection.receive(scratch, |input| {
            ledger.read(input, |owed, answer| match owed {
                Owed::Forget(what) => match answer {
                    Answer::Line(line) if forget::is_done(&what, line) => {
                        match what {
                            Forget::Key(_) => counts.forgets += 1,
                            Forget::Everything => counts.cleanings += 1,
                        }
                        Ok(())
                    }
                    _ => {
                        standing.add(what, 0);
                        Err("it did not forget what it was told to")
                    }
                },
                Owed::LateGet(_) | Owed::LateWrite => Ok(()),
                Owed::Get(_) | Owed::Write(_) => {
                    counts.misses += u64::from(answer == Answer::Miss);
                    deliver(owed, answer);
                    Ok(())
                }
            })
        });
        match received {
            Ok(true) => self.ledger.on_bytes(now),
            Ok(false) => {}
            Err(Broken { why, by }) => {
                self.ended.spoilt.extend(by);
                self.fail(now, why.into());
            }
        }
    }

    /// Sends what is there.
    pub(super) fn flush(&mut self, now: Instant, poller: &Poller) {
        let (State::Up(connection) | State::Hung(connection)) = &mut self.state else { return };
        if connection.has_output() {
            self.ledger.on_sent(now);
            if let Err(why) = connection.flush(poller) {
                self.fail(now, why.into());
            }
        }
    }

    fn fail(&mut self, now: Instant, why: String) {
        // What it was sent and did not answer it may have carried out or not, and may yet.
        let settle =
            if self.ledger.changes_something() { self.reach.settle } else { Duration::ZERO };
        // This closes the socket, which the poller then forgets.
        self.state = State::Down { until: now + self.pause.max(settle), why };
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        self.counts.breaks += 1;
        for owed in self.ledger.take_all() {
            match owed {
                Owed::Forget(what) => self.standing.add(what, 0),
                owed => self.ended.lost.push(owed),
            }
        }
    }

    /// What will not be answered by it.
    pub(super) fn take_ended(&mut self) -> Ended {
        std::mem::take(&mut self.ended)
    }
}
