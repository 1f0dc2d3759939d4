//! What clients and nodes share: the calendar, the network between them, the requests, and a list of what
//! happens, which is for others to read.

use crate::calendar::Calendar;
use crate::connection::{Connection, Incarnation};
use crate::fabric::Fabric;
use crate::facts::{Fact, Thing};
use crate::slab::{Key, Slab};
use crate::task::Task;
use std::time::Duration;
use tailwater_control::retry::{Lateness, Tries};
use tailwater_control::{Dispatch, Offer, Outcome};
use tailwater_core::{Instant, Stamp};
use tailwater_workload::scenario::Direction;

/// What can happen. Small and without pointers: millions of them pass through the calendar.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A message reaches its node.
    Packet(Packet),
    /// A core has finished what it was given in its node's life of this number. Cores of all nodes
    /// are numbered through.
    CoreDone(u16, u16),
    /// A stall of a core begins, or the one that it is in ends.
    Stall(u16),
    /// The controller of a node's loop asked to be called.
    Tick(u16, u16),
    /// A waiter's budget ends, if it still waits for the same.
    GiveUp(Key),
    /// A request's pause on its path is over.
    Resume(Key),
    /// A response or reject reaches its client.
    Reply(Key),
    /// A credit message reaches its client.
    Credit(Key),
    /// Something falls due in a client's queue.
    ClientDue(Connection),
    /// The measured window begins (true) or ends.
    Window(bool),
    /// A request has waited for credit for long enough, if it still does.
    Patience(Key),
    /// A call has been out for as long as most take, if it still is.
    Late(Key),
    /// A node learns that its call of this number gets no answer: the other end is gone.
    CallLost(Key),
    /// A thread of a node wakes, in that node's life of this number.
    Woken { node: u16, thread: u16, life: u16 },
    /// The change of model of this number is made.
    Switch(u16),
    /// Time for a sample of the trace.
    Sample,
    /// A fault of the world begins (true) or ends.
    Fault(u16, bool),
    /// A node has accepted a connection: its WELCOME, which is among the credit messages, reaches the other end.
    Opened(Key),
    /// A client learns that its connection is lost, or was refused.
    Lost { connection: Connection, incarnation: Incarnation },
    /// A client has paused for long enough and connects again, unless it has done so meanwhile.
    Reconnect { connection: Connection, incarnation: Incarnation },
}

/// A message to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Packet {
    Request(Key),
    Demand {
        connection: Connection,
        incarnation: Incarnation,
        demand: u32,
        acked: u32,
    },
    Deregister {
        connection: Connection,
        incarnation: Incarnation,
    },
    Open {
        connection: Connection,
        incarnation: Incarnation,
    },
    /// The client's system closed the connection.
    Hangup {
        connection: Connection,
        incarnation: Incarnation,
    },
    /// Of another node, to a call.
    Reply(Key),
    /// Of another node.
    Credit(Key),
}

impl Packet {
    /// To a call of this node, which the thread that waits for it hears; not its loop's clients'.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(self, Self::Reply(_) | Self::Credit(_))
    }

    /// Over which it comes; the first of all, if what it belongs to has ended.
    pub(crate) fn connection(&self, space: &Space) -> Connection {
        match *self {
            Self::Request(key) | Self::Reply(key) => {
                space.requests.get(key).map_or(Connection(0), |request| request.connection)
            }
            Self::Credit(key) => {
                space.credits.get(key).map_or(Connection(0), |credit| credit.connection)
            }
            Self::Demand { connection, .. }
            | Self::Deregister { connection, .. }
            | Self::Open { connection, .. }
            | Self::Hangup { connection, .. } => connection,
        }
    }
}

/// A request from its intended time to its fate, with what its messages carry.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// A client's, or one between nodes.
    pub(crate) connection: Connection,
    /// Of the connection that it was sent over.
    pub(crate) incarnation: Incarnation,
    /// Numbers what clients intend, however often it is tried; calls between nodes have none.
    pub(crate) number: u64,
    /// Where it has been.
    pub(crate) tries: Tries,
    /// When its answer is worthless, by its client's clock; in the far future where that is never.
    pub(crate) deadline: Instant,
    /// When it was handed to the control of its connection.
    pub(crate) entered: Instant,
    /// Sent past the client's control, by one that floods.
    pub(crate) forced: bool,
    pub(crate) intended: Instant,
    pub(crate) service: Duration,
    /// Set when it leaves the client.
    pub(crate) sent: Instant,
    pub(crate) dispatch: Option<Dispatch>,
    /// At the node.
    pub(crate) arrived: Instant,
    /// When it came to the run queue: parsed, or woken last.
    pub(crate) queued: Instant,
    pub(crate) started: Instant,
    /// When nothing was left to do for it but to answer: its handler had ended, or it was refused.
    pub(crate) ended: Option<Instant>,
    /// Set when its answer leaves the node.
    pub(crate) answer: Option<Answer>,
    /// Where it stands, if requests at this node have paths.
    pub(crate) task: Option<Box<Task>>,
    /// Of a call from one node to another.
    pub(crate) errand: Option<Box<Errand>>,
}

/// What a call is made of, for another try at another replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errand {
    /// Decides what it does, wherever it is tried.
    pub(crate) seed: u64,
    pub(crate) priority: u8,
    /// When its first try was made.
    pub(crate) began: Instant,
    /// When it is late, whichever try is under way then; `None` once it was, or where nothing is.
    pub(crate) late: Option<Lateness>,
    /// Another try that is under way.
    pub(crate) other: Option<Key>,
    /// Of the two it is the later.
    pub(crate) second: bool,
    /// The thread of fork and join that waits for it alone.
    pub(crate) by: Option<u16>,
}

impl Request {
    /// A request that is due now.
    pub(crate) const fn new(now: Instant, connection: Connection, service: Duration) -> Self {
        Self {
            connection,
            incarnation: Incarnation::FIRST,
            tries: Tries::NONE,
            number: 0,
            deadline: Instant::FAR_FUTURE,
            entered: now,
            forced: false,
            intended: now,
            service,
            sent: now,
            dispatch: None,
            arrived: now,
            queued: now,
            started: now,
            ended: None,
            answer: None,
            task: None,
            errand: None,
        }
    }

    /// A try of a call that the request `parent` makes now.
    pub(crate) fn call(now: Instant, parent: Key, errand: Errand) -> Self {
        let (task, errand) = (Task::new(errand.seed, Some(parent)), Box::new(errand));
        let due = Self::new(now, Connection(0), Duration::ZERO);
        Self { task: Some(task), errand: Some(errand), ..due }
    }

    /// The request that waits for this call.
    pub(crate) fn parent(&self) -> Option<Key> {
        self.task.as_ref().and_then(|task| task.parent)
    }

    /// What is left of its deadline, which its node counts from its arrival; `None` without one.
    pub(crate) fn time_left(&self, now: Instant) -> Option<Duration> {
        let left = self.dispatch?.time_left?;
        Some(left.saturating_sub(now.since(self.arrived)))
    }

    /// It runs beside another try, which came first.
    pub(crate) fn is_second_try(&self) -> bool {
        self.errand.as_ref().is_some_and(|errand| errand.second && errand.other.is_some())
    }
}

/// What a response or reject carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) offer: Offer,
    pub(crate) left: Instant,
    pub(crate) waited: Duration,
}

/// A credit message under way, or the WELCOME of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    pub(crate) connection: Connection,
    pub(crate) incarnation: Incarnation,
    pub(crate) offer: Offer,
    pub(crate) stamp: Stamp,
}

/// See the module.
pub(crate) struct Space {
    pub(crate) calendar: Calendar<Event>,
    pub(crate) fabric: Fabric,
    pub(crate) requests: Slab<Request>,
    pub(crate) credits: Slab<Credit>,
    /// Requests that a lost connection left without an answer, to be counted as lost.
    pub(crate) abandoned: Vec<Key>,
    /// What has happened since somebody took note; emptied after each event.
    pub(crate) facts: Vec<Fact>,
}

impl Space {
    pub(crate) fn new(fabric: Fabric) -> Self {
        Self {
            calendar: Calendar::default(),
            fabric,
            requests: Slab::default(),
            credits: Slab::default(),
            abandoned: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Sends a message to the node that the connection leads to.
    pub(crate) fn send_up(&mut self, now: Instant, connection: Connection, packet: Packet) {
        let arrives = self.fabric.deliver(now, connection, Direction::Requests);
        self.calendar.at(arrives, Event::Packet(packet));
    }

    /// Sends a message from that node.
    pub(crate) fn send_down(&mut self, now: Instant, connection: Connection, event: Event) {
        let arrives = self.fabric.deliver(now, connection, Direction::Answers);
        self.calendar.at(arrives, event);
    }

    /// Sends the WELCOME of a connection.
    pub(crate) fn welcome(&mut self, now: Instant, welcome: Credit) {
        let connection = welcome.connection;
        let key = self.credits.insert(welcome);
        self.send_down(now, connection, Event::Opened(key));
    }

    /// The connection of a request; `None` where that has ended.
    pub(crate) fn connection_of(&self, key: Key) -> Option<Connection> {
        self.requests.get(key).map(|request| request.connection)
    }

    /// A request that must exist.
    pub(crate) fn request(&mut self, key: Key, where_from: &str) -> Option<&mut Request> {
        let Self { requests, facts, .. } = self;
        let found = requests.get_mut(key);
        if found.is_none() {
            let what = format!("{where_from}: the request has ended before");
            facts.push(Fact::Astray(Thing::Request, what));
        }
        found
    }

    /// Nothing is left to do for a request but to answer it. False if that was so before.
    pub(crate) fn note_end(&mut self, key: Key, at: Instant) -> bool {
        let Some(request) = self.requests.get_mut(key) else { return false };
        let is_new = request.ended.is_none();
        request.ended.get_or_insert(at);
        is_new
    }

    /// Something has happened.
    pub(crate) fn tell(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    /// Something was met where it cannot be.
    pub(crate) fn astray(&mut self, thing: Thing, what: impl Into<String>) {
        self.tell(Fact::Astray(thing, what.into()));
    }
}

/// What tests of both ends of connections need.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::connection::Incarnation;
    use std::time::Duration;
    use tailwater_control::{Offer, Outcome, Reason};

    /// The connections over which requests go, in the order of their arrival.
    pub(crate) fn taken(space: &mut Space) -> Vec<Connection> {
        let mut taken = Vec::new();
        while let Some((_, event)) = space.calendar.pop() {
            if let Event::Packet(Packet::Request(key)) = event {
                taken.extend(space.connection_of(key));
            }
        }
        taken
    }

    /// The server of a try has refused it.
    pub(crate) fn refuse(now: Instant, key: Key, reason: Reason, space: &mut Space) {
        let (outcome, offer) = (Outcome::Shed(reason), Offer::OPEN);
        let answer = Answer { outcome, offer, left: now, waited: Duration::ZERO };
        space.requests.get_mut(key).expect("a try").answer = Some(answer);
    }

    /// The WELCOME of a connection that was lost once and stands again.
    pub(crate) fn welcome(now: Instant, connection: Connection, space: &mut Space) -> Key {
        let incarnation = Incarnation::FIRST.next();
        let welcome = Credit { connection, incarnation, offer: Offer::OPEN, stamp: now.stamp() };
        space.credits.insert(welcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With its key of 16 bytes an entry of the calendar takes half a cache line.
    #[test]
    fn an_event_takes_sixteen_bytes() {
        assert_eq!(size_of::<Event>(), 16);
    }
}
