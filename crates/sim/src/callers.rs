//! A node as the client of further nodes: whom its calls ask, and what becomes of them.
//!
//! Each connection is an [`Endpoint`], as a client's is. Calls differ from clients' requests in what they end
//! with: their caller goes on with its path, or is refused. Where the node that is asked has replicas, `callers/shard.rs`
//! says at which a call is tried, and tried again.

mod shard;

use crate::connection::{Connection, Incarnation};
use crate::endpoint::{ConnectionState, Endpoint};
use crate::facts::{Fact, Thing};
use crate::faults::Clocks;
use crate::slab::Key;
use crate::space::{Errand, Event, Request, Space};
use crate::task::Stage;
use shard::{Ended, Shard};
use std::ops::Add;
use std::time::Duration;
use tailwater_control::retry::{Failure, HedgeCounts, Lateness, Tries};
use tailwater_control::{Call, Client, DropReason, Outcome, Reason, Replicas};
use tailwater_core::{Instant, Rng};

/// All connections of one node to the tiers that it calls.
#[derive(Default)]
pub(crate) struct Callers {
    /// In the order of their connections.
    all: Vec<Endpoint>,
    /// The node at the other end of each.
    to: Vec<usize>,
    /// The shard to which each belongs.
    spots: Vec<Spot>,
    /// By tier.
    routes: Vec<Route>,
    /// Nodes' clocks are right.
    clocks: Clocks,
    /// Callers whose wait is over.
    woken: Vec<Key>,
    /// Threads whose own call has ended, and the caller of each.
    freed: Vec<(u16, Key)>,
}

/// How a tier is reached: by node, and there by connection to each of its replicas.
#[derive(Default)]
struct Route {
    nodes: Vec<Vec<Shard>>,
    /// Those of a node are used in turn.
    turn: usize,
}

#[derive(Clone, Copy)]
struct Spot {
    tier: usize,
    node: usize,
    at: usize,
}

/// A server of a tier.
#[derive(Clone, Copy)]
pub(crate) struct Server {
    pub(crate) tier: usize,
    pub(crate) node: usize,
    pub(crate) replica: usize,
}

/// A call as a path asks for it.
#[derive(Clone, Copy, Debug)]
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

/// One call of a fan: the node that it asks, and what decides all that it does there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    node: usize,
    seed: u64,
}

impl Callers {
    /// Adds a connection to a server of a tier, which is the node `to` of all. Connections must come in order.
    /// `choice` is taken for the first replica.
    pub(crate) fn connect(
        &mut self,
        Server { tier, node, replica }: Server,
        (connection, to): (Connection, usize),
        client: Client,
        choice: impl FnOnce() -> Replicas,
    ) {
        if self.routes.len() <= tier {
            self.routes.resize_with(tier + 1, Route::default);
        }
        let nodes = &mut self.routes[tier].nodes;
        if nodes.len() <= node {
            nodes.resize_with(node + 1, Vec::new);
        }
        let shards = &mut nodes[node];
        let incomplete = shards.iter().position(|shard| shard.replicas() == replica);
        let at = incomplete.unwrap_or_else(|| {
            shards.push(Shard::new(choice()));
            shards.len() - 1
        });
        shards[at].add(self.all.len());
        self.all.push(Endpoint::new(connection, client, &self.clocks));
        self.to.push(to);
        self.spots.push(Spot { tier, node, at });
    }

    /// Makes the calls of a fan. What becomes of it is told by [`Callers::next_woken`].
    pub(crate) fn call(&mut self, now: Instant, asked: &Asked, space: &mut Space) {
        for planned in self.plan(asked) {
            self.make(now, (asked, planned), None, space);
        }
    }

    /// The calls of a fan: to `fan_out` different nodes of the tier, the first of them at random, and those to which no
    /// connection stands after all others.
    pub(crate) fn plan(&self, asked: &Asked) -> impl Iterator<Item = Planned> + use<> {
        let mut rng = Rng::from_seed(asked.seed);
        let nodes = self.order(asked.tier, &mut rng);
        let planned = move |node: usize| Planned { node, seed: rng.u64() };
        nodes.into_iter().take(asked.fan_out as usize).map(planned)
    }

    /// Makes one of these; `by` is the thread that waits for it alone, told by [`Callers::next_freed`] when it has ended.
    pub(crate) fn make(
        &mut self,
        now: Instant,
        (asked, planned): (&Asked, Planned),
        by: Option<u16>,
        space: &mut Space,
    ) {
        let Planned { node, seed } = planned;
        let route = &mut self.routes[asked.tier];
        let count = route.nodes[node].len();
        let shard = &mut route.nodes[node][route.turn % count];
        route.turn = route.turn.wrapping_add(1);
        let (index, tries) = shard.first(now, &self.all);
        let wait = shard.late_after().map(|after| after.max(Duration::from_nanos(1)));
        let late = wait.map(|wait| Lateness::new(now, wait));
        let Asked { deadline, priority, parent, .. } = *asked;
        let errand = Errand { seed, priority, began: now, late, other: None, second: false, by };
        let deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
        let request = Request { deadline, tries, ..Request::call(now, parent, errand) };
        let key = self.insert(now, index, request, space);
        self.drive(now, index, space);
        late.into_iter().for_each(|it| space.calendar.at(it.at(), Event::Late(key)));
    }

    /// Hands a call to the control of a connection, which is to be driven then.
    fn insert(&mut self, now: Instant, index: usize, request: Request, space: &mut Space) -> Key {
        let endpoint = &mut self.all[index];
        let connection = endpoint.connection();
        let deadline = Some(request.deadline).filter(|at| *at != Instant::FAR_FUTURE);
        let priority = request.errand.as_ref().map_or(128, |errand| errand.priority);
        let key = space.requests.insert(Request { connection, ..request });
        space.tell(Fact::Called { connection });
        endpoint.submit(now, Call { id: key.id(), deadline, priority });
        key
    }

    /// The nodes of a tier as a call prefers them.
    fn order(&self, tier: usize, rng: &mut Rng) -> Vec<usize> {
        let nodes = &self.routes[tier].nodes;
        let (count, first) = (nodes.len(), rng.below(nodes.len() as u32) as usize);
        let mut order: Vec<usize> = (0..count).map(|offset| (first + offset) % count).collect();
        let stands = |shard: &Shard| shard.stands(&self.all);
        order.sort_by_key(|&node| !nodes[node].iter().any(stands));
        order
    }

    /// A call has been out for as long as most take: it is tried at another replica, too.
    pub(crate) fn on_late(&mut self, now: Instant, key: Key, space: &mut Space) {
        // A try that has ended has left its time to the next one.
        let Some(request) = space.requests.get_mut(key) else { return };
        let Some(errand) = &mut request.errand else { return };
        let Some(late) = &mut errand.late else { return };
        if let Some(again) = late.look(now) {
            return space.calendar.at(again, Event::Late(key));
        }
        errand.late = None;
        if request.dispatch.is_none() {
            // It is at no server.
            return;
        }
        let Some(request) = space.requests.get(key) else { return };
        let Some((parent, errand)) = request.parent().zip(request.errand.as_deref().copied())
        else {
            return;
        };
        let Some(index) = self.find(request.connection).filter(|_| is_awaited(parent, space))
        else {
            return;
        };
        let Spot { tier, node, at } = self.spots[index];
        let shard = &mut self.routes[tier].nodes[node][at];
        let Some((to, tries)) = shard.hedge(now, request, &self.all) else { return };
        let other = Errand { other: Some(key), second: true, ..errand };
        let deadline = request.deadline;
        let second = Request { deadline, tries, ..Request::call(now, parent, other) };
        let second = self.insert(now, to, second, space);
        if let Some(first) = space.requests.get_mut(key) {
            first.tries = tries;
            first.errand.iter_mut().for_each(|errand| errand.other = Some(second));
        }
        self.drive(now, to, space);
    }

    /// Second tries of calls to a tier so far.
    pub(crate) fn hedges(&self, tier: usize) -> HedgeCounts {
        let shards = self.routes.get(tier).into_iter().flat_map(|it| it.nodes.iter().flatten());
        shards.map(Shard::hedges).fold(HedgeCounts::default(), Add::add)
    }

    /// An answer was received and parsed.
    pub(crate) fn on_reply(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(request) = space.requests.remove(key) else {
            return space.astray(Thing::Call, "an answer came for a call that has ended before");
        };
        let Some(index) = self.find(request.connection).filter(|_| request.answer.is_some()) else {
            return space.astray(Thing::Call, "an answer came without content, or astray");
        };
        let Some(reply) = self.all[index].on_reply(now, &request, &self.clocks, space) else {
            return self.end(now, &request, Ended::Lost, space);
        };
        self.shard(index).on_reply(index, &reply);
        self.end(now, &request, Ended::Answered(reply.outcome), space);
        self.drive(now, index, space);
    }

    /// A credit message was received and parsed.
    pub(crate) fn on_credit(&mut self, now: Instant, key: Key, space: &mut Space) {
        let credit = space.credits.remove(key);
        let Some((credit, index)) =
            credit.and_then(|credit| Some((credit, self.find(credit.connection)?)))
        else {
            return space.astray(Thing::Request, "a credit message arrived twice, or astray");
        };
        if self.all[index].on_credit(now, &credit, &self.clocks, space) {
            self.drive(now, index, space);
        }
    }

    /// A deadline of a connection may have come.
    pub(crate) fn on_due(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        if let Some(index) = self.find(connection)
            && self.all[index].on_due(now)
        {
            self.drive(now, index, space);
        }
    }

    /// A caller that need not wait any longer: all of its calls were answered, or one was not served.
    pub(crate) fn next_woken(&mut self) -> Option<Key> {
        self.woken.pop()
    }

    /// A thread whose own call has ended, and the caller for which it made that.
    pub(crate) fn next_freed(&mut self) -> Option<(u16, Key)> {
        self.freed.pop()
    }

    /// Calls that wait for permission to be sent.
    pub(crate) fn waiting(&self) -> u64 {
        self.all.iter().map(|endpoint| u64::from(endpoint.queued())).sum()
    }

    /// Catches up with deadlines that may have been missed. What waits for lost connections looks for another replica.
    pub(crate) fn drive_all(&mut self, now: Instant, space: &mut Space) {
        for index in 0..self.all.len() {
            self.all[index].disarm();
            self.drive(now, index, space);
        }
        for index in 0..self.all.len() {
            self.leave_at(now, index, space);
        }
    }

    /// A call gets no answer: the node that had it, or this one, is not the same any more.
    pub(crate) fn on_call_lost(&mut self, now: Instant, key: Key, space: &mut Space) {
        match space.requests.remove(key) {
            Some(request) => self.end(now, &request, Ended::Lost, space),
            None => space.astray(Thing::Call, "a call was lost twice"),
        }
    }

    /// A connection is lost, or was refused. What was sent over it ends by itself; what waits may
    /// [leave](Callers::leave) or expire. Nothing is sent over it before [`Callers::on_opened`].
    pub(crate) fn on_lost(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) {
        let chance = |incarnation: Incarnation| {
            Rng::from_seed(u64::from(connection.0) << 16 | u64::from(incarnation.0)).unit()
        };
        if let Some(index) = self.find(connection) {
            self.all[index].on_lost(now, incarnation, chance, space);
        }
    }

    /// What waits for this connection goes to another replica, if it is lost and another one stands. True if something
    /// went there.
    pub(crate) fn leave(
        &mut self,
        now: Instant,
        connection: Connection,
        space: &mut Space,
    ) -> bool {
        self.find(connection).is_some_and(|index| self.leave_at(now, index, space))
    }

    /// A pause is over, unless something else has happened meanwhile.
    pub(crate) fn on_reconnect(
        &self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) {
        if let Some(index) = self.find(connection) {
            self.all[index].on_reconnect(now, incarnation, space);
        }
    }

    /// The node has accepted a connection.
    pub(crate) fn on_opened(&mut self, now: Instant, key: Key, space: &mut Space) {
        let welcome = space.credits.remove(key);
        let Some((welcome, index)) =
            welcome.and_then(|welcome| Some((welcome, self.find(welcome.connection)?)))
        else {
            return space.astray(Thing::Request, "a WELCOME arrived twice, or astray");
        };
        self.all[index].on_opened(now, &welcome, &self.clocks, space);
    }

    /// The process dies, and what was not sent is gone. `make` has the controls of its successor, by node and
    /// connection.
    pub(crate) fn die(
        &mut self,
        now: Instant,
        make: &dyn Fn(usize, Connection) -> Client,
        space: &mut Space,
    ) {
        for (endpoint, to) in self.all.iter_mut().zip(&self.to) {
            let connection = endpoint.connection();
            for key in endpoint.waiting() {
                if space.requests.remove(key).is_some() {
                    space.tell(Fact::CallEnded { connection });
                }
            }
            endpoint.die(now, make(*to, connection), space);
            endpoint.disarm();
        }
        let shards = self.routes.iter_mut().flat_map(|it| it.nodes.iter_mut().flatten());
        shards.for_each(Shard::forget);
        self.woken.clear();
        self.freed.clear();
    }

    /// The successor connects to all nodes.
    pub(crate) fn boot(&mut self, now: Instant, space: &mut Space) {
        self.all.iter_mut().for_each(|endpoint| endpoint.revive(now, space));
    }

    /// Tells the caller, if it still waits: it may have been refused for another of its calls. A call that failed may go
    /// on at another replica.
    fn end(&mut self, now: Instant, request: &Request, ended: Ended, space: &mut Space) {
        space.tell(Fact::CallEnded { connection: request.connection });
        let Some(parent) = request.parent() else { return };
        if self.goes_on(now, (parent, request), ended, space) {
            return;
        }
        let by = request.errand.as_ref().and_then(|errand| errand.by);
        self.freed.extend(by.map(|thread| (thread, parent)));
        let outcome = ended.outcome();
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

    /// Whether the call has another try, or gets one.
    fn goes_on(
        &mut self,
        now: Instant,
        (parent, request): (Key, &Request),
        ended: Ended,
        space: &mut Space,
    ) -> bool {
        let index = self.find(request.connection);
        let Some((errand, index)) = request.errand.as_deref().zip(index) else {
            return false;
        };
        let Some(failure) = ended.failure() else {
            let by_second = errand.second && errand.other.is_some();
            self.shard(index).on_served(now.since(errand.began), by_second);
            errand.other.into_iter().for_each(|other| self.withdraw(other, space));
            return false;
        };
        if let Some(other) = errand.other
            && space.requests.get(other).is_some()
        {
            self.goes_on_alone(now, other, (index, failure), space);
            return true;
        }
        if !is_awaited(parent, space) {
            return false;
        }
        let Spot { tier, node, at } = self.spots[index];
        let next =
            self.routes[tier].nodes[node][at].next(now, request, (index, failure), &self.all);
        let Some(next) = next else { return false };
        self.move_on(now, (parent, request.deadline, *errand), next, space);
        true
    }

    /// Of two tries at once one has failed. The other may wait for a connection that was lost meanwhile.
    fn goes_on_alone(
        &mut self,
        now: Instant,
        other: Key,
        (index, failure): (usize, Failure),
        space: &mut Space,
    ) {
        let here = self.shard(index).replica_of(index);
        let Some(request) = space.requests.get_mut(other) else { return };
        request.errand.iter_mut().for_each(|errand| errand.other = None);
        here.into_iter().for_each(|here| request.tries.failed_beside((here, failure)));
        let Some(at) = self.find(request.connection) else { return };
        let end = &self.all[at];
        if end.state() != ConnectionState::Up && end.waiting().any(|key| key == other) {
            self.leave_one(now, (at, other), space);
        }
    }

    /// See [`Callers::leave`].
    fn leave_at(&mut self, now: Instant, index: usize, space: &mut Space) -> bool {
        if self.all[index].state() == ConnectionState::Up || self.shard(index).replicas() == 1 {
            return false;
        }
        let waiting: Vec<Key> = self.all[index].waiting().collect();
        let mut has_left = false;
        for key in waiting {
            has_left |= self.leave_one(now, (index, key), space);
        }
        has_left
    }

    /// A call waits for a lost connection: whether it goes to another replica. As on sockets, one of two tries stays.
    fn leave_one(&mut self, now: Instant, (index, key): (usize, Key), space: &mut Space) -> bool {
        let Some(request) = space.requests.get(key) else { return false };
        let (deadline, parent) = (request.deadline, request.parent());
        let awaited = parent.filter(|&parent| is_awaited(parent, space));
        let Some((parent, errand)) = awaited.zip(request.errand.as_deref().copied()) else {
            return false;
        };
        if errand.other.is_some() {
            return false;
        }
        let Spot { tier, node, at } = self.spots[index];
        let shard = &mut self.routes[tier].nodes[node][at];
        let Some(next) = shard.next(now, request, (index, Failure::Unsent), &self.all) else {
            return false;
        };
        if !self.all[index].cancel(key) || space.requests.remove(key).is_none() {
            return false;
        }
        space.tell(Fact::CallEnded { connection: self.all[index].connection() });
        self.move_on(now, (parent, deadline, errand), next, space);
        true
    }

    /// A call goes on over another connection.
    fn move_on(
        &mut self,
        now: Instant,
        (parent, deadline, errand): (Key, Instant, Errand),
        (to, tries): (usize, Tries),
        space: &mut Space,
    ) {
        let again = Errand { other: None, second: false, ..errand };
        let again = Request { deadline, tries, ..Request::call(now, parent, again) };
        let again = self.insert(now, to, again, space);
        self.drive(now, to, space);
        // The call is late when it would have been: as on sockets, another try has no time of its own.
        errand.late.into_iter().for_each(|it| space.calendar.at(it.at(), Event::Late(again)));
    }

    /// A call was served by another try of it.
    fn withdraw(&mut self, key: Key, space: &mut Space) {
        let Some(request) = space.requests.get_mut(key) else { return };
        let connection = request.connection;
        if request.dispatch.is_none()
            && let Some(index) = self.find(connection)
            && self.all[index].cancel(key)
        {
            space.requests.remove(key);
            return space.tell(Fact::CallEnded { connection });
        }
        request.errand.iter_mut().for_each(|errand| errand.other = None);
        request.task.iter_mut().for_each(|task| task.parent = None);
    }

    fn shard(&mut self, index: usize) -> &mut Shard {
        let Spot { tier, node, at } = self.spots[index];
        &mut self.routes[tier].nodes[node][at]
    }

    /// Carries out what a connection's control decides.
    fn drive(&mut self, now: Instant, index: usize, space: &mut Space) {
        while let Some((key, why)) = self.all[index].poll(now, &self.clocks, space) {
            match space.requests.remove(key) {
                Some(request) => self.end(now, &request, Ended::Unsent(reason_of(why)), space),
                None => space.astray(Thing::Call, "a call was dropped that had ended before"),
            }
        }
    }

    fn find(&self, connection: Connection) -> Option<usize> {
        self.all.binary_search_by_key(&connection, Endpoint::connection).ok()
    }
}

/// Whether a request waits for its calls: it may have been refused for one of them.
fn is_awaited(parent: Key, space: &Space) -> bool {
    let task = space.requests.get(parent).and_then(|request| request.task.as_ref());
    task.is_some_and(|task| matches!(task.stage, Stage::Calling { .. }))
}

/// What the caller's own client hears when the call was given up before it was sent.
const fn reason_of(why: DropReason) -> Reason {
    match why {
        DropReason::QueueFull => Reason::QueueFull,
        DropReason::Priority => Reason::Priority,
        DropReason::Disconnected => Reason::Unavailable,
        // Expired, or something that this version does not know.
        _ => Reason::Deadline,
    }
}

#[cfg(test)]
mod tests;
