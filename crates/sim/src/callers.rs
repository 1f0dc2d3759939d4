//! A node as the client of further nodes: the controllers' client halves on its connections to them.
//!
//! This file calls and hears; `callers/links.rs` is about connections that are lost and made again.

mod links;

use crate::checks::honest::Conduct;
use crate::checks::{Rule, calls};
use crate::planted::{Flaw, Planted};
use crate::slab::Key;
use crate::space::{Event, Packet, Request, Space};
use crate::task::{Stage, Task};
use std::time::Duration;
use tailwater_control::{Action, Call, Client, Dispatch, DropReason, Outcome, Reason, Reply};
use tailwater_core::{Instant, Rng};

/// How a call ends whose other end is gone: nobody knows whether it was carried out, and its caller
/// answers as one that cannot serve.
const LOST: Outcome = Outcome::Shed(Reason::Draining);

/// All connections of one node to the tiers that it calls.
#[derive(Default)]
pub(crate) struct Callers {
    /// By number, which is unique among all connections of the simulation.
    connections: Vec<Connection>,
    /// By tier.
    routes: Vec<Route>,
    /// Requests that calls have made, and those that have ended: each exactly once.
    made: u64,
    ended: u64,
    /// Callers whose wait is over.
    woken: Vec<Key>,
    pub(crate) flaw: Flaw,
}

struct Connection {
    number: u32,
    /// The node at its other end.
    to: usize,
    client: Client,
    conduct: Conduct,
    /// The next [`Event::ClientDue`] that is to be heeded.
    armed: Instant,
    /// Counts losses; what comes over an earlier one is for nobody.
    connection: u16,
    up: bool,
    /// How often it was tried to connect in vain.
    attempts: u8,
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
    /// Adds a connection to the node of a tier, which is the node `to` of all, over which `first`
    /// requests may go before the node says more. Numbers must come in order.
    pub(crate) fn connect(
        &mut self,
        (tier, node): (usize, usize),
        (number, to): (u32, usize),
        mut client: Client,
        first: u32,
    ) {
        client.on_connected(Instant::ZERO);
        if self.routes.len() <= tier {
            self.routes.resize(tier + 1, Route::default());
        }
        let nodes = &mut self.routes[tier].nodes;
        if nodes.len() <= node {
            nodes.resize(node + 1, Vec::new());
        }
        nodes[node].push(self.connections.len());
        let (conduct, armed) = (Conduct::new(first), Instant::FAR_FUTURE);
        self.connections.push(Connection {
            number,
            to,
            client,
            conduct,
            armed,
            connection: 0,
            up: true,
            attempts: 0,
        });
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
            let connection = &mut self.connections[index];
            let request = Request {
                task: Some(Task::new(rng.u64(), Some(asked.parent))),
                ..Request::new(now, connection.number, Duration::ZERO)
            };
            let key = space.requests.insert(request);
            self.made += 1;
            let call = Call { id: key.id(), deadline: asked.deadline, priority: asked.priority };
            connection.client.submit(now, call);
            self.drive(now, index, space);
        }
    }

    /// The nodes of a tier as a call prefers them.
    fn order(&self, tier: usize, rng: &mut Rng) -> Vec<usize> {
        let nodes = &self.routes[tier].nodes;
        let (count, first) = (nodes.len(), rng.below(nodes.len() as u32) as usize);
        let mut order: Vec<usize> = (0..count).map(|offset| (first + offset) % count).collect();
        order.sort_by_key(|&node| !nodes[node].iter().any(|&index| self.connections[index].up));
        order
    }

    /// An answer was received and parsed.
    pub(crate) fn on_reply(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(request) = space.requests.remove(key) else {
            let what = || "an answer came for a call that has ended before".into();
            return space.complain(Rule::Calls, what);
        };
        let (Some(answer), Some(index)) = (request.answer, self.find(request.client)) else {
            let what = || "an answer came without content, or astray".into();
            return space.complain(Rule::Calls, what);
        };
        let connection = &mut self.connections[index];
        if request.connection != connection.connection {
            // The connection that it came over is lost, and the process that asked may be another.
            return self.end(now, &request, LOST, space);
        }
        connection.conduct.on_answered(answer.offer);
        let reply = Reply {
            outcome: answer.outcome,
            offer: answer.offer,
            stamp: answer.left.stamp(),
            elapsed: now.since(request.sent),
            sojourn: answer.left.since(request.arrived),
            waited: answer.waited,
        };
        connection.client.on_reply(now, &reply);
        self.end(now, &request, answer.outcome, space);
        self.drive(now, index, space);
    }

    /// A credit message was received and parsed.
    pub(crate) fn on_credit(&mut self, now: Instant, key: Key, space: &mut Space) {
        let credit = space.credits.remove(key);
        let Some((credit, index)) =
            credit.and_then(|credit| Some((credit, self.find(credit.client)?)))
        else {
            let what = || "a credit message arrived twice, or astray".into();
            return space.complain(Rule::Fates, what);
        };
        if credit.connection != self.connections[index].connection {
            return;
        }
        self.connections[index].conduct.on_offer(credit.offer);
        self.connections[index].client.on_credit(now, credit.offer, credit.stamp);
        self.drive(now, index, space);
    }

    /// A deadline of a connection's client may have come.
    pub(crate) fn on_due(&mut self, now: Instant, number: u32, space: &mut Space) {
        if let Some(index) = self.find(number)
            && self.connections[index].armed == now
        {
            self.connections[index].armed = Instant::FAR_FUTURE;
            self.drive(now, index, space);
        }
    }

    /// A caller that need not wait any longer: all of its calls were answered, or one was not served.
    pub(crate) fn next_woken(&mut self) -> Option<Key> {
        self.woken.pop()
    }

    /// Calls that wait for permission to be sent.
    pub(crate) fn waiting(&self) -> u64 {
        self.connections.iter().map(|connection| u64::from(connection.client.queued())).sum()
    }

    /// Every call must have ended, or still be a request.
    pub(crate) fn check(&self, space: &mut Space) {
        let ours = |request: &&Request| self.find(request.client).is_some();
        let left = space.requests.iter().filter(ours).count() as u64;
        space.judge(Rule::Calls, calls::counted(self.made, self.ended, left));
    }

    /// Catches up with deadlines that may have been missed.
    pub(crate) fn drive_all(&mut self, now: Instant, space: &mut Space) {
        for index in 0..self.connections.len() {
            self.connections[index].armed = Instant::FAR_FUTURE;
            self.drive(now, index, space);
        }
    }

    /// Tells the caller, if it still waits: it may have been refused for another of its calls.
    fn end(&mut self, now: Instant, request: &Request, outcome: Outcome, space: &mut Space) {
        if self.flaw.is(Planted::LosesAnswers) {
            return;
        }
        self.ended += 1;
        let Some(parent) = request.task.as_ref().and_then(|task| task.parent) else {
            return;
        };
        let waiting = space.requests.get_mut(parent);
        let Some(task) = waiting.and_then(|request| request.task.as_mut()) else {
            return;
        };
        let Stage::Calling { left, .. } = &mut task.stage else {
            let stray = task.refused.is_none();
            let what = || "a call ended for a request that does not wait for it".into();
            if stray {
                space.complain(Rule::Calls, what);
            }
            return;
        };
        *left -= 1;
        let over = *left == 0 || self.flaw.is(Planted::WakesEarly);
        if let Outcome::Shed(reason) = outcome {
            task.refuse(reason);
        }
        if (over || task.refused.is_some()) && !self.flaw.is(Planted::ForgetsToWake) {
            task.stop_waiting(now);
            self.woken.push(parent);
        }
    }

    /// As the clients do: carries out what the connection's client decides.
    fn drive(&mut self, now: Instant, index: usize, space: &mut Space) {
        let number = self.connections[index].number;
        while let Some(action) = self.connections[index].client.poll(now) {
            match action {
                Action::Send(dispatch) => self.send(now, index, dispatch, space),
                Action::Drop(id, why) => match space.requests.remove(Key::of(id)) {
                    Some(request) => {
                        self.end(now, &request, Outcome::Shed(reason_of(why)), space);
                    }
                    None => {
                        let what = || format!("connection {number} dropped a call twice");
                        space.complain(Rule::Calls, what);
                    }
                },
                Action::Demand { demand, acked } => {
                    let connection = self.connections[index].connection;
                    let packet = Packet::Demand { client: number, connection, demand, acked };
                    space.send_up(now, number, packet);
                }
                Action::Deregister => {
                    self.connections[index].conduct.on_deregistered();
                    let connection = self.connections[index].connection;
                    let packet = Packet::Deregister { client: number, connection };
                    space.send_up(now, number, packet);
                }
            }
        }
        self.connections[index].arm(now, space);
    }

    fn send(&mut self, now: Instant, index: usize, dispatch: Dispatch, space: &mut Space) {
        let connection = &mut self.connections[index];
        let number = connection.number;
        if let Some(what) = connection.conduct.on_sent(dispatch.register) {
            space.complain(Rule::Honest, || format!("connection {number}: {what}"));
        }
        let key = Key::of(dispatch.id);
        if let Some(request) = space.request(key, "at calling") {
            (request.sent, request.dispatch) = (now, Some(dispatch));
            request.connection = self.connections[index].connection;
            space.send_up(now, number, Packet::Request(key));
        }
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.connections.binary_search_by_key(&number, |connection| connection.number).ok()
    }
}

impl Connection {
    fn arm(&mut self, now: Instant, space: &mut Space) {
        if let Some(deadline) = self.client.next_deadline()
            && deadline < self.armed
        {
            self.armed = deadline.max(now + Duration::from_nanos(1));
            space.calendar.at(self.armed, Event::ClientDue(self.number));
        }
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
