//! The asking end of a connection to a node: a client's, or that of a node which calls another.
//!
//! The same state machine that the runtime's client drives, and what it needs around it: messages, deadlines,
//! a connection that is lost and made again. Whose end it is decides what becomes of requests that are given
//! up here: see [`Endpoint::poll`]. A client's clock may be wrong, a node's is not.

use crate::connection::{Connection, Incarnation};
use crate::facts::Fact;
use crate::faults::Clocks;
use crate::slab::Key;
use crate::space::{Credit, Event, Packet, Request, Space};
use std::time::Duration;
use tailwater_control::retry::Load;
use tailwater_control::{Action, Call, Client, Dispatch, DropReason, Offer, Reply, is_older};
use tailwater_core::{Instant, Nanos};
use tailwater_workload::scenario::Claim;

/// The middle priority; workloads do not set one yet.
const PRIORITY: u8 = 128;
/// The first pause before it connects again; each further one is twice as long.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// See the module.
pub(crate) struct Endpoint {
    connection: Connection,
    control: Client,
    /// It has sent something since it connected or gave its credits back; and the newest number of an offer
    /// that it was told since. One that floods says so, past its control.
    registered: bool,
    newest: u32,
    /// The next [`Event::ClientDue`] in the calendar that is to be heeded.
    armed: Instant,
    /// What comes over an earlier one is not for it.
    incarnation: Incarnation,
    state: ConnectionState,
    /// How often it has tried to connect in vain.
    attempts: u8,
    claim: Option<Claim>,
    floods: bool,
}

/// How the connection stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionState {
    Up,
    /// Lost; it will connect again.
    Down,
    /// The process itself is gone.
    Crashed,
}

impl Endpoint {
    const UNREAL_DEMAND: u32 = u32::MAX;

    /// A connection that stands and over which nothing was sent.
    pub(crate) fn new(connection: Connection, mut control: Client, clocks: &Clocks) -> Self {
        control.on_connected(clocks.local(connection, Instant::ZERO));
        Self {
            connection,
            control,
            registered: false,
            newest: 0,
            armed: Instant::FAR_FUTURE,
            incarnation: Incarnation::FIRST,
            state: ConnectionState::Up,
            attempts: 0,
            claim: None,
            floods: false,
        }
    }

    pub(crate) const fn connection(&self) -> Connection {
        self.connection
    }

    pub(crate) const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(crate) const fn state(&self) -> ConnectionState {
        self.state
    }

    /// It sends at once whatever it is asked for, if it can.
    pub(crate) fn floods(&self) -> bool {
        self.floods && self.state == ConnectionState::Up
    }

    /// Calls that wait here for permission to be sent, oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Key> {
        self.control.waiting().map(Key::of)
    }

    pub(crate) fn queued(&self) -> u32 {
        self.control.queued()
    }

    /// Requests that wait or are under way, and whether the server wants none now, by the client's clock.
    pub(crate) fn load(&self, now: Instant) -> Load {
        let queued = self.control.queued();
        let calls = (self.control.outstanding() + queued) as usize;
        Load { is_paused: self.control.is_paused(now), calls, has_waiting: queued > 0 }
    }

    /// It claims something else than its demand, or tells the truth again.
    pub(crate) const fn set_claim(&mut self, claim: Option<Claim>) {
        self.claim = claim;
    }

    /// It ignores its window, or uses its control again.
    pub(crate) const fn set_flood(&mut self, floods: bool) {
        self.floods = floods;
    }

    /// Queues a call; to be polled next. `local` is the time by its own clock.
    pub(crate) fn submit(&mut self, local: Instant, call: Call) {
        self.control.submit(local, call);
    }

    /// Takes back what was not sent; false if it was.
    pub(crate) fn cancel(&mut self, key: Key) -> bool {
        self.control.cancel(key.id())
    }

    /// Carries out what its control decides now. Returns a request that was given up here, which its owner
    /// must see to before it polls again; `None` when there is nothing left to do until the next deadline.
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        clocks: &Clocks,
        space: &mut Space,
    ) -> Option<(Key, DropReason)> {
        let local = clocks.local(self.connection, now);
        let (connection, incarnation) = (self.connection, self.incarnation);
        while let Some(action) = self.control.poll(local) {
            match action {
                Action::Send(dispatch) => self.send(now, dispatch, space),
                Action::Drop(id, why) => return Some((Key::of(id), why)),
                Action::Demand { demand, acked } => {
                    let demand = self.claimed(demand);
                    let packet = Packet::Demand { connection, incarnation, demand, acked };
                    space.send_up(now, connection, packet);
                }
                Action::Deregister => {
                    self.registered = false;
                    space.tell(Fact::Resigned { connection });
                    space.send_up(now, connection, Packet::Deregister { connection, incarnation });
                }
            }
        }
        space.tell(self.driven());
        if let Some(deadline) = self.control.next_deadline() {
            self.arm(now, clocks.global(self.connection, deadline), space);
        }
        None
    }

    /// How it stands after it did what it could.
    pub(crate) fn driven(&self) -> Fact {
        let queued = self.control.queued();
        let idle = self.control.outstanding() == 0 && queued > 0;
        let stranded = idle && self.state == ConnectionState::Up;
        Fact::Driven { connection: self.connection, queued, stranded }
    }

    /// Sends a request past its control, and says of itself what it likes.
    pub(crate) fn force(&self, now: Instant, key: Key, time_left: Duration, space: &mut Space) {
        let dispatch = Dispatch {
            id: key.id(),
            demand: 0,
            acked: self.newest,
            register: true,
            echo: None,
            time_left: Some(time_left),
            priority: PRIORITY,
        };
        if let Some(request) = space.request(key, "at flooding") {
            (request.forced, request.dispatch) = (true, Some(dispatch));
            space.send_up(now, self.connection, Packet::Request(key));
        }
    }

    /// A response or reject to this request is here. `None` if it came over a connection that is lost, or to a
    /// process that did not ask.
    pub(crate) fn on_reply(
        &mut self,
        now: Instant,
        request: &Request,
        clocks: &Clocks,
        space: &mut Space,
    ) -> Option<Reply> {
        let answer = request.answer.filter(|_| request.incarnation == self.incarnation)?;
        self.hear(answer.offer, !request.forced, space);
        let local = clocks.local(self.connection, now);
        let reply = Reply {
            outcome: answer.outcome,
            offer: answer.offer,
            stamp: answer.left.stamp(),
            elapsed: local.since(clocks.local(self.connection, request.sent)),
            sojourn: answer.left.since(request.arrived),
            waited: answer.waited,
        };
        if request.forced {
            self.control.on_credit(local, reply.offer, reply.stamp);
        } else {
            self.control.on_reply(local, &reply);
        }
        Some(reply)
    }

    /// A credit message is here; false if it came over a connection that is lost.
    pub(crate) fn on_credit(
        &mut self,
        now: Instant,
        credit: &Credit,
        clocks: &Clocks,
        space: &mut Space,
    ) -> bool {
        if credit.incarnation != self.incarnation {
            return false;
        }
        self.hear(credit.offer, false, space);
        let local = clocks.local(self.connection, now);
        self.control.on_credit(local, credit.offer, credit.stamp);
        true
    }

    /// A deadline may have come: whether it is to be polled. An entry that was replaced by an earlier one is
    /// passed over.
    pub(crate) fn on_due(&mut self, now: Instant) -> bool {
        let due = self.armed == now;
        if due {
            self.disarm();
        }
        due
    }

    /// Forgets which deadline it waits for.
    pub(crate) const fn disarm(&mut self) {
        self.armed = Instant::FAR_FUTURE;
    }

    /// The connection is lost, or was refused: what was sent gets no answer, and what waits waits on. It will
    /// connect again; `chance` from 0 to 1 spreads the pauses, or all clients of a server that restarts would
    /// come at once. False if this was known, or nobody is there.
    pub(crate) fn on_lost(
        &mut self,
        now: Instant,
        incarnation: Incarnation,
        chance: impl FnOnce(Incarnation) -> f64,
        space: &mut Space,
    ) -> bool {
        if self.incarnation != incarnation || self.state == ConnectionState::Crashed {
            return false;
        }
        self.incarnation = incarnation.next();
        if self.state == ConnectionState::Up {
            self.state = ConnectionState::Down;
            self.control.on_disconnected();
            self.forget();
            space.tell(Fact::Disconnected { connection: self.connection });
        }
        let at = now + pause(self.attempts, chance(self.incarnation));
        self.attempts = self.attempts.saturating_add(1);
        let again = Event::Reconnect { connection: self.connection, incarnation: self.incarnation };
        space.calendar.at(at, again);
        true
    }

    /// The pause is over, unless something else has happened to the connection meanwhile.
    pub(crate) fn on_reconnect(&self, now: Instant, incarnation: Incarnation, space: &mut Space) {
        if self.incarnation == incarnation && self.state == ConnectionState::Down {
            let connection = self.connection;
            space.send_up(now, connection, Packet::Open { connection, incarnation });
        }
    }

    /// The node has accepted the connection and says WELCOME; false if it is not the one of the moment.
    pub(crate) fn on_opened(
        &mut self,
        now: Instant,
        welcome: &Credit,
        clocks: &Clocks,
        space: &mut Space,
    ) -> bool {
        if welcome.incarnation != self.incarnation || self.state != ConnectionState::Down {
            return false;
        }
        let local = clocks.local(self.connection, now);
        (self.state, self.attempts) = (ConnectionState::Up, 0);
        self.control.on_connected(local);
        self.hear(welcome.offer, false, space);
        self.control.on_welcome(local, welcome.offer, welcome.stamp);
        true
    }

    /// Its process dies with all that it knew; the system closes the connection. Its successor will have
    /// `fresh`.
    pub(crate) fn die(&mut self, now: Instant, fresh: Client, space: &mut Space) {
        let (connection, incarnation) = (self.connection, self.incarnation);
        if self.state == ConnectionState::Up {
            space.send_up(now, connection, Packet::Hangup { connection, incarnation });
        }
        (self.incarnation, self.state) = (incarnation.next(), ConnectionState::Crashed);
        self.control = fresh;
        self.forget();
        space.tell(Fact::Crashed { connection });
    }

    /// The successor connects, unless it has done so.
    pub(crate) fn revive(&mut self, now: Instant, space: &mut Space) {
        if self.state != ConnectionState::Up {
            (self.state, self.attempts) = (ConnectionState::Down, 0);
            self.on_reconnect(now, self.incarnation, space);
        }
    }

    fn send(&mut self, now: Instant, dispatch: Dispatch, space: &mut Space) {
        self.registered = true;
        let key = Key::of(dispatch.id);
        let request = space.requests.get(key).map_or(0, |request| request.number);
        let (connection, registers) = (self.connection, dispatch.register);
        space.tell(Fact::Sent { request, connection, registers });
        if let Some(request) = space.request(key, "at sending") {
            (request.sent, request.incarnation) = (now, self.incarnation);
            request.dispatch = Some(Dispatch { demand: self.claimed(dispatch.demand), ..dispatch });
            space.send_up(now, self.connection, Packet::Request(key));
        }
    }

    fn hear(&mut self, offer: Offer, answers: bool, space: &mut Space) {
        space.tell(Fact::Heard { connection: self.connection, offer, answers });
        if self.registered && !is_older(offer.seq, self.newest) {
            self.newest = offer.seq;
        }
    }

    const fn forget(&mut self) {
        (self.registered, self.newest) = (false, 0);
    }

    /// What it says when its demand is `real`.
    const fn claimed(&self, real: u32) -> u32 {
        match self.claim {
            None => real,
            Some(Claim::Nothing) => 0,
            Some(Claim::Everything) => Self::UNREAL_DEMAND,
        }
    }

    /// Makes sure to be polled at `deadline`.
    fn arm(&mut self, now: Instant, deadline: Instant, space: &mut Space) {
        if deadline < self.armed {
            // At least a nanosecond ahead, or a deadline that has come would stop the clock.
            self.armed = deadline.max(now + Duration::from_nanos(1));
            space.calendar.at(self.armed, Event::ClientDue(self.connection));
        }
    }
}

/// A call of the middle priority.
pub(crate) const fn plain_call(key: Key, deadline: Instant) -> Call {
    Call { id: key.id(), deadline: Some(deadline), priority: PRIORITY }
}

/// The pause after so many attempts in vain; `chance` spreads it over half of it.
fn pause(attempts: u8, chance: f64) -> Duration {
    let pause_ns = PAUSE_FIRST.nanos() << attempts.min(16);
    let pause_ns = pause_ns.min(PAUSE_MAX.nanos()) as f64 * (0.5 + 0.5 * chance);
    Duration::from_nanos(pause_ns as u64)
}
