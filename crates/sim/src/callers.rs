//! A node as the client of further nodes: whom its calls ask, and what becomes of them.
//!
//! Each connection is an [`Endpoint`], as a client's is. Calls differ from clients' requests in what they end
//! with: their caller goes on with its path, or is refused. They are not tried again, since no other node is
//! a replica of the one asked.

use crate::endpoint::{Endpoint, Link};
use crate::facts::{Fact, Thing};
use crate::faults::Clocks;
use crate::slab::Key;
use crate::space::{Request, Space};
use crate::task::{Stage, Task};
use std::time::Duration;
use tailwater_control::{Call, Client, DropReason, Outcome, Reason};
use tailwater_core::{Instant, Rng};

/// How a call ends whose other end is gone: nobody knows whether it was carried out, and its caller
/// answers as one that cannot serve.
const LOST: Outcome = Outcome::Shed(Reason::Draining);

/// All connections of one node to the tiers that it calls.
#[derive(Default)]
pub(crate) struct Callers {
    /// By number, which is unique among all connections of the simulation.
    all: Vec<Endpoint>,
    /// The node at the other end of each.
    to: Vec<usize>,
    /// By tier.
    routes: Vec<Route>,
    /// Nodes' clocks are right.
    clocks: Clocks,
    /// Callers whose wait is over.
    woken: Vec<Key>,
}

/// How a tier is reached: indices of connections, by node.
#[derive(Clone, Debug, Default)]
struct Route {
    nodes: Vec<Vec<usize>>,
    /// Connections of a node are used in turn.
    turn: usize,
}

/// A call as a path asks for it.
pub(crate) struct Asked {
    pub(crate) parent: Key,
    pub(crate) tier: usize,
    pub(crate) fan_out: u32,
    /// Decides which nodes are asked, and what the requests do there.
    pub(crate) seed: u64,
    /// When the answer to the caller's own request is worthless.
    pub(crate) deadline: Option<Instant>,
    pub(crate) priority: u8,
}

impl Callers {
    /// Adds a connection to the node of a tier, which is the node `to` of all. Numbers must come in order.
    pub(crate) fn connect(
        &mut self,
        (tier, node): (usize, usize),
        (number, to): (u32, usize),
        client: Client,
    ) {
        if self.routes.len() <= tier {
            self.routes.resize(tier + 1, Route::default());
        }
        let nodes = &mut self.routes[tier].nodes;
        if nodes.len() <= node {
            nodes.resize(node + 1, Vec::new());
        }
        nodes[node].push(self.all.len());
        self.all.push(Endpoint::new(number, client, &self.clocks));
        self.to.push(to);
    }

    /// Asks `fan_out` different nodes of the tier, the first of them at random, and those to which no
    /// connection stands after all others. What becomes of it is told by [`Callers::next_woken`].
    pub(crate) fn call(&mut self, now: Instant, asked: &Asked, space: &mut Space) {
        let mut rng = Rng::from_seed(asked.seed);
        let nodes = self.order(asked.tier, &mut rng);
        for node in nodes.into_iter().take(asked.fan_out as usize) {
            let route = &mut self.routes[asked.tier];
            let to_node = &route.nodes[node];
            let index = to_node[route.turn % to_node.len()];
            route.turn = route.turn.wrapping_add(1);
            let endpoint = &mut self.all[index];
            let request = Request {
                task: Some(Task::new(rng.u64(), Some(asked.parent))),
                ..Request::new(now, endpoint.number(), Duration::ZERO)
            };
            let key = space.requests.insert(request);
            space.tell(Fact::Called { client: endpoint.number() });
            let call = Call { id: key.id(), deadline: asked.deadline, priority: asked.priority };
            endpoint.submit(now, call);
            self.drive(now, index, space);
        }
    }

    /// The nodes of a tier as a call prefers them.
    fn order(&self, tier: usize, rng: &mut Rng) -> Vec<usize> {
        let nodes = &self.routes[tier].nodes;
        let (count, first) = (nodes.len(), rng.below(nodes.len() as u32) as usize);
        let mut order: Vec<usize> = (0..count).map(|offset| (first + offset) % count).collect();
        let stands = |&index: &usize| self.all[index].link() == Link::Up;
        order.sort_by_key(|&node| !nodes[node].iter().any(stands));
        order
    }

    /// An answer was received and parsed.
    pub(crate) fn on_reply(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(request) = space.requests.remove(key) else {
            return space.astray(Thing::Call, "an answer came for a call that has ended before");
        };
        let Some(index) = self.find(request.client).filter(|_| request.answer.is_some()) else {
            return space.astray(Thing::Call, "an answer came without content, or astray");
        };
        let Some(reply) = self.all[index].on_reply(now, &request, &self.clocks, space) else {
            return self.end(now, &request, LOST, space);
        };
        self.end(now, &request, reply.outcome, space);
        self.drive(now, index, space);
    }

    /// A credit message was received and parsed.
    pub(crate) fn on_credit(&mut self, now: Instant, key: Key, space: &mut Space) {
        let credit = space.credits.remove(key);
        let Some((credit, index)) =
            credit.and_then(|credit| Some((credit, self.find(credit.client)?)))
        else {
            return space.astray(Thing::Request, "a credit message arrived twice, or astray");
        };
        if self.all[index].on_credit(now, &credit, &self.clocks, space) {
            self.drive(now, index, space);
        }
    }

    /// A deadline of a connection may have come.
    pub(crate) fn on_due(&mut self, now: Instant, number: u32, space: &mut Space) {
        if let Some(index) = self.find(number)
            && self.all[index].on_due(now)
        {
            self.drive(now, index, space);
        }
    }

    /// A caller that need not wait any longer: all of its calls were answered, or one was not served.
    pub(crate) fn next_woken(&mut self) -> Option<Key> {
        self.woken.pop()
    }

    /// Calls that wait for permission to be sent.
    pub(crate) fn waiting(&self) -> u64 {
        self.all.iter().map(|endpoint| u64::from(endpoint.queued())).sum()
    }

    /// Catches up with deadlines that may have been missed.
    pub(crate) fn drive_all(&mut self, now: Instant, space: &mut Space) {
        for index in 0..self.all.len() {
            self.all[index].disarm();
            self.drive(now, index, space);
        }
    }

    /// A call gets no answer: the node that had it, or this one, is not the same any more.
    pub(crate) fn on_call_lost(&mut self, now: Instant, key: Key, space: &mut Space) {
        match space.requests.remove(key) {
            Some(request) => self.end(now, &request, LOST, space),
            None => space.astray(Thing::Call, "a call was lost twice"),
        }
    }

    /// A connection is lost, or was refused. What was sent over it ends by itself; what waits waits on
    /// and may expire. Nothing is sent before [`Callers::on_opened`].
    pub(crate) fn on_lost(
        &mut self,
        now: Instant,
        number: u32,
        connection: u16,
        space: &mut Space,
    ) {
        let chance = |connection: u16| {
            Rng::from_seed(u64::from(number) << 16 | u64::from(connection)).unit()
        };
        if let Some(index) = self.find(number) {
            self.all[index].on_lost(now, connection, chance, space);
        }
    }

    /// A pause is over, unless something else has happened meanwhile.
    pub(crate) fn on_reconnect(
        &self,
        now: Instant,
        number: u32,
        connection: u16,
        space: &mut Space,
    ) {
        if let Some(index) = self.find(number) {
            self.all[index].on_reconnect(now, connection, space);
        }
    }

    /// The node has accepted a connection.
    pub(crate) fn on_opened(&mut self, now: Instant, number: u32, connection: u16) {
        if let Some(index) = self.find(number) {
            self.all[index].on_opened(now, connection, &self.clocks);
        }
    }

    /// The process dies, and what was not sent is gone. `make` has the controls of its successor, by node and
    /// number.
    pub(crate) fn die(
        &mut self,
        now: Instant,
        make: &dyn Fn(usize, u32) -> Client,
        space: &mut Space,
    ) {
        for (endpoint, to) in self.all.iter_mut().zip(&self.to) {
            let client = endpoint.number();
            for key in endpoint.waiting() {
                if space.requests.remove(key).is_some() {
                    space.tell(Fact::CallEnded { client });
                }
            }
            endpoint.die(now, make(*to, client), space);
            endpoint.disarm();
        }
        self.woken.clear();
    }

    /// The successor connects to all nodes.
    pub(crate) fn boot(&mut self, now: Instant, space: &mut Space) {
        self.all.iter_mut().for_each(|endpoint| endpoint.revive(now, space));
    }

    /// Tells the caller, if it still waits: it may have been refused for another of its calls.
    fn end(&mut self, now: Instant, request: &Request, outcome: Outcome, space: &mut Space) {
        space.tell(Fact::CallEnded { client: request.client });
        let Some(parent) = request.task.as_ref().and_then(|task| task.parent) else {
            return;
        };
        let waiting = space.requests.get_mut(parent);
        let Some(task) = waiting.and_then(|request| request.task.as_mut()) else {
            return;
        };
        let Stage::Calling { left, .. } = &mut task.stage else {
            if task.refused.is_none() {
                space.astray(Thing::Call, "a call ended for a request that does not wait for it");
            }
            return;
        };
        *left -= 1;
        let over = *left == 0;
        if let Outcome::Shed(reason) = outcome {
            task.refuse(reason);
        }
        if over || task.refused.is_some() {
            task.stop_waiting(now);
            self.woken.push(parent);
        }
    }

    /// Carries out what a connection's control decides.
    fn drive(&mut self, now: Instant, index: usize, space: &mut Space) {
        while let Some((key, why)) = self.all[index].poll(now, &self.clocks, space) {
            match space.requests.remove(key) {
                Some(request) => self.end(now, &request, Outcome::Shed(reason_of(why)), space),
                None => space.astray(Thing::Call, "a call was dropped that had ended before"),
            }
        }
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.all.binary_search_by_key(&number, Endpoint::number).ok()
    }
}

/// What the caller's own client hears when the call was given up before it was sent.
const fn reason_of(why: DropReason) -> Reason {
    match why {
        DropReason::QueueFull => Reason::QueueFull,
        DropReason::Priority => Reason::Priority,
        DropReason::Disconnected => Reason::Draining,
        // Expired, or something that this version does not know.
        _ => Reason::Deadline,
    }
}
