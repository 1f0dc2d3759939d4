//! What clients and node share: the calendar, the network between them, and the requests.

use crate::calendar::Calendar;
use crate::fabric::{Fabric, Way};
use crate::slab::{Key, Slab};
use crate::task::Task;
use std::time::Duration;
use tailwater_control::{Dispatch, Offer, Outcome};
use tailwater_core::{Instant, Stamp};

/// What can happen. Small and without pointers: millions of them pass through the calendar.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A message reaches the node.
    Packet(Packet),
    /// A core has finished what it was given. Cores of all nodes are numbered through.
    CoreDone(u16),
    /// The controller of a node asked to be called.
    Tick(u16),
    /// A waiter's budget ends, if it still waits for the same.
    GiveUp(Key),
    /// A response or reject reaches its client.
    Reply(Key),
    /// A credit message reaches its client.
    Credit(Key),
    /// Something falls due in a client's queue.
    ClientDue(u32),
    /// The measured window begins (true) or ends.
    Window(bool),
    /// Time for a sample of the trace.
    Sample,
}

/// A message to the node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Packet {
    Request(Key),
    Demand {
        client: u32,
        demand: u32,
        acked: u32,
    },
    Deregister {
        client: u32,
    },
    /// Of another node, to a call.
    Reply(Key),
    /// Of another node.
    Credit(Key),
}

impl Packet {
    /// The connection that it comes on; the first, if what it belongs to has ended.
    pub(crate) fn client(&self, space: &Space) -> u32 {
        match *self {
            Self::Request(key) | Self::Reply(key) => {
                space.requests.get(key).map_or(0, |request| request.client)
            }
            Self::Credit(key) => space.credits.get(key).map_or(0, |credit| credit.client),
            Self::Demand { client, .. } | Self::Deregister { client } => client,
        }
    }
}

/// A request from its intended time to its fate, with what its messages carry.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The connection: a client's, or, numbered after those, one between nodes.
    pub(crate) client: u32,
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
    /// Set when its answer leaves the node.
    pub(crate) answer: Option<Answer>,
    /// Where it stands, if requests at this node have paths.
    pub(crate) task: Option<Box<Task>>,
}

impl Request {
    /// A request that is due now.
    pub(crate) const fn new(now: Instant, client: u32, service: Duration) -> Self {
        Self {
            client,
            intended: now,
            service,
            sent: now,
            dispatch: None,
            arrived: now,
            queued: now,
            started: now,
            answer: None,
            task: None,
        }
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

/// A credit message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    pub(crate) client: u32,
    pub(crate) offer: Offer,
    pub(crate) stamp: Stamp,
}

/// See the module.
pub(crate) struct Space {
    pub(crate) calendar: Calendar<Event>,
    pub(crate) fabric: Fabric,
    pub(crate) requests: Slab<Request>,
    pub(crate) credits: Slab<Credit>,
    /// The first rule that was found broken; ends the run.
    pub(crate) broken: Option<String>,
}

impl Space {
    pub(crate) fn new(fabric: Fabric) -> Self {
        Self {
            calendar: Calendar::default(),
            fabric,
            requests: Slab::default(),
            credits: Slab::default(),
            broken: None,
        }
    }

    /// Sends a message from `client` to the node.
    pub(crate) fn send_up(&mut self, now: Instant, client: u32, packet: Packet) {
        let arrives = self.fabric.deliver(now, client, Way::Up);
        self.calendar.at(arrives, Event::Packet(packet));
    }

    /// Sends a message from the node to `client`.
    pub(crate) fn send_down(&mut self, now: Instant, client: u32, event: Event) {
        let arrives = self.fabric.deliver(now, client, Way::Down);
        self.calendar.at(arrives, event);
    }

    /// A request that must exist; otherwise the run is broken.
    pub(crate) fn request(&mut self, key: Key, where_from: &str) -> Option<&mut Request> {
        let found = self.requests.get_mut(key);
        if found.is_none() && self.broken.is_none() {
            self.broken = Some(format!("{where_from}: the request has ended before"));
        }
        found
    }

    /// Notes a broken rule; the first one stands.
    pub(crate) fn complain(&mut self, what: impl FnOnce() -> String) {
        if self.broken.is_none() {
            self.broken = Some(what());
        }
    }
}
