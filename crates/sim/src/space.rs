//! What clients and node share: the calendar, the network between them, and the requests.

use crate::calendar::Calendar;
use crate::fabric::{Fabric, Way};
use crate::slab::{Key, Slab};
use std::time::Duration;
use tailwater_control::{Dispatch, Offer, Outcome};
use tailwater_core::{Instant, Stamp};

/// What can happen. Small and without pointers: millions of them pass through the calendar.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A message reaches the node.
    Packet(Packet),
    /// A core has finished what it was given.
    CoreDone(u16),
    /// The controller asked to be called.
    Tick,
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
    Demand { client: u32, demand: u32, acked: u32 },
    Deregister { client: u32 },
}

/// A request from its intended time to its fate, with what its messages carry.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) client: u32,
    pub(crate) intended: Instant,
    pub(crate) service: Duration,
    /// Set when it leaves the client.
    pub(crate) sent: Instant,
    pub(crate) dispatch: Option<Dispatch>,
    /// At the node.
    pub(crate) arrived: Instant,
    pub(crate) parsed: Instant,
    pub(crate) started: Instant,
    /// Set when its answer leaves the node.
    pub(crate) answer: Option<Answer>,
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
