//! Clients of several replicas: where requests go, and whether they are tried again.
//!
//! Each client has one [`Replicas`], which decides, and a connection with a control of its own to each
//! replica. A request is at one of them at a time, and has one fate.

use super::Clients;
use crate::connection::{Connection, Incarnation};
use crate::endpoint::{ConnectionState, Endpoint, plain_call};
use crate::facts::Fact;
use crate::faults::Clocks;
use crate::slab::Key;
use crate::space::{Event, Request, Space};
use crate::world::World;
use std::collections::BTreeMap;
use std::ops::Add;
use std::time::Duration;
use tailwater_control::retry::{Failure, Load, RetryCounts, Tries};
use tailwater_control::{Replicas, Reply, RetryConfig};
use tailwater_core::Instant;
use tailwater_stats::Histogram;
use tailwater_stats::result::RetryReport;

/// What all clients have decided; empty where there is one replica.
pub(super) struct Retries {
    config: RetryConfig,
    replicas: u32,
    /// By client.
    of: Vec<Replicas>,
    /// From handing a request to its first replica to knowing that it failed there.
    failures: Histogram,
    from: Instant,
    /// Of requests that are lost at their first replica, when each was intended: by connection, until the client knows that this
    /// is lost. Of what is under way at most.
    unknown: BTreeMap<Connection, Vec<Instant>>,
    /// By connection: which one was lost last, and when its client knew.
    losses: BTreeMap<Connection, (Incarnation, Instant)>,
}

impl Retries {
    pub(super) fn new(world: &World) -> Self {
        let replicas = world.replicas.max(1);
        let make = |client| fresh(&world.retry, replicas, client);
        let of = if replicas > 1 { (0..world.clients).map(make).collect() } else { Vec::new() };
        Self {
            config: world.retry,
            replicas,
            of,
            failures: Histogram::coarse(),
            from: world.window().0,
            unknown: BTreeMap::new(),
            losses: BTreeMap::new(),
        }
    }

    pub(super) fn set_up(&mut self, client: u32, replica: u32, up: bool) {
        if let Some(replicas) = self.of.get_mut(client as usize) {
            replicas.set_up(replica as usize, up);
        }
    }

    pub(super) fn on_reply(&mut self, client: u32, replica: u32, reply: &Reply) {
        if let Some(replicas) = self.of.get_mut(client as usize) {
            replicas.on_reply(replica as usize, reply);
        }
    }

    /// A request has failed at its first replica, as its client knows by now.
    fn failed(&mut self, now: Instant, intended: Instant) {
        if now >= self.from {
            self.failures.record(now.since(intended));
        }
    }

    /// The client knows that a connection is lost, and with it what was under way.
    pub(super) fn on_lost(&mut self, now: Instant, connection: Connection, lost: Incarnation) {
        if self.of.is_empty() {
            return;
        }
        for intended in self.unknown.remove(&connection).unwrap_or_default() {
            self.failed(now, intended);
        }
        self.losses.insert(connection, (lost, now));
    }

    /// What became of this connection's requests is learnt by no client: it has crashed.
    pub(super) fn on_crashed(&mut self, connection: Connection) {
        self.unknown.remove(&connection);
    }

    /// The client forgets what it knew.
    pub(super) fn forget(&mut self, client: u32) {
        if let Some(of) = self.of.get_mut(client as usize) {
            *of = fresh(&self.config, self.replicas, client);
        }
    }

    /// Of all clients since they began; of failures, those since the measured window began.
    pub(super) fn report(&self) -> Option<RetryReport> {
        if self.of.is_empty() {
            return None;
        }
        let all = self.of.iter().map(Replicas::counts);
        let sum = all.fold(RetryCounts::default(), Add::add);
        let share = |count: u64| count as f64 / sum.calls.max(1) as f64;
        let p99 = self.failures.quantile(0.99);
        Some(RetryReport {
            retried: share(sum.retried),
            moved: share(sum.moved),
            over_budget: share(sum.over_budget),
            failure_p99_us: p99.as_nanos() as f64 / 1e3,
        })
    }
}

fn fresh(config: &RetryConfig, replicas: u32, client: u32) -> Replicas {
    Replicas::new(*config, replicas as usize, client.into())
}

/// What one of so many clients has at each replica.
fn loads(
    now: Instant,
    (client, clients): (u32, u32),
    all: &[Endpoint],
    clocks: &Clocks,
) -> impl Fn(usize) -> Load {
    move |replica| {
        let connection = Connection::of_client((client, replica as u32), clients);
        all[connection.index()].load(clocks.local(connection, now))
    }
}

impl Clients<'_> {
    /// The client of a connection, and the replica that it leads to.
    pub(super) const fn ends(&self, connection: Connection) -> (u32, u32) {
        connection.ends(self.clients)
    }

    /// The connection over which a client's new request goes.
    pub(super) fn first(&mut self, now: Instant, client: u32) -> (Connection, Tries) {
        let load = loads(now, (client, self.clients), &self.all, &self.clocks);
        let Some(replicas) = self.retries.of.get_mut(client as usize) else {
            return (Connection::of_client((client, 0), self.clients), Tries::NONE);
        };
        let (replica, tries) = replicas.first(load);
        (Connection::of_client((client, replica as u32), self.clients), tries)
    }

    /// Hands a request to the control of its connection.
    pub(super) fn enter(&mut self, now: Instant, request: Request, space: &mut Space) {
        let (connection, deadline) = (request.connection, request.deadline);
        let leaves = self.leaves_at(&request);
        let local = self.clocks.local(connection, now);
        space.tell(Fact::Tried { request: request.number, connection, now: local, deadline });
        let key = space.requests.insert(request);
        self.all[connection.index()].submit(local, plain_call(key, deadline));
        self.drive(now, connection, space);
        let waits = space.requests.get(key).is_some_and(|request| request.dispatch.is_none());
        if let Some(at) = leaves.filter(|_| waits) {
            space.calendar.at(at, Event::Patience(key));
        }
    }

    /// When a request wants to leave its connection for want of credit, at least a nanosecond after it came there.
    fn leaves_at(&self, request: &Request) -> Option<Instant> {
        let connection = request.connection;
        let of = self.retries.of.get(self.ends(connection).0 as usize)?;
        let wait = of.credit_wait(request.tries)?;
        let entered = self.clocks.local(connection, request.entered);
        let at = self.clocks.global(connection, entered + wait);
        Some(at.max(request.entered + Duration::from_nanos(1)))
    }

    /// A request has waited for credit for as long as it may while there is another replica.
    pub(crate) fn on_patience(&mut self, now: Instant, key: Key, space: &mut Space) {
        let waits = |request: &&Request| request.dispatch.is_none();
        if let Some(request) = space.requests.get(key).filter(waits) {
            let stands = (request.connection, request.tries, request.deadline);
            self.leave(now, key, stands, space);
        }
    }

    /// A connection stands again: what waits at the others of its client goes there, if it had better. The generator and
    /// the runtime's client ask so when the health of a channel changes.
    pub(super) fn look_again(&mut self, now: Instant, opened: Connection, space: &mut Space) {
        let (client, back) = self.ends(opened);
        for replica in (0..self.retries.replicas).filter(|&replica| replica != back) {
            let connection = Connection::of_client((client, replica), self.clients);
            self.leave_all(now, connection, space);
        }
    }

    /// What waits for a connection that is down goes elsewhere, if it can; of one that stands, what has waited for credit
    /// for as long as it may.
    pub(super) fn leave_all(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        if self.retries.of.is_empty() {
            return;
        }
        let endpoint = &self.all[connection.index()];
        let is_down = endpoint.state() != ConnectionState::Up;
        let waiting: Vec<Key> = endpoint.waiting().collect();
        for key in waiting {
            if let Some(request) = space.requests.get(key)
                && (is_down || self.leaves_at(request).is_some_and(|at| at <= now))
            {
                let (tries, deadline) = (request.tries, request.deadline);
                self.leave(now, key, (connection, tries, deadline), space);
            }
        }
    }

    /// A request that was not sent goes to another replica, or stays where it is.
    fn leave(
        &mut self,
        now: Instant,
        key: Key,
        (connection, tries, deadline): (Connection, Tries, Instant),
        space: &mut Space,
    ) {
        let stands = (connection, tries, deadline);
        if let Some((to, tries)) = self.next(now, stands, Failure::Unsent)
            && self.all[connection.index()].cancel(key)
            && let Some(request) = space.requests.remove(key)
        {
            self.tell_of(&request, Failure::Unsent, space);
            self.move_on(now, request, (to, tries), space);
            self.drive(now, connection, space);
        }
    }

    /// A try has failed: true if the request goes on elsewhere, and its fate is open.
    pub(super) fn try_again(
        &mut self,
        now: Instant,
        request: &Request,
        failure: Failure,
        space: &mut Space,
    ) -> bool {
        if self.retries.of.is_empty() {
            return false;
        }
        let stands = (request.connection, request.tries, request.deadline);
        let next = self.next(now, stands, failure);
        let to = next.map(|(to, _)| self.ends(to).1);
        if self.fails_first(request, to) {
            // It came there when it was intended.
            self.retries.failed(now, request.intended);
        }
        let Some((to, tries)) = next else {
            return false;
        };
        self.tell_of(request, failure, space);
        self.move_on(now, request.clone(), (to, tries), space);
        true
    }

    /// See [`Tries::fails_first`].
    fn fails_first(&self, request: &Request, to: Option<u32>) -> bool {
        let (_, here) = self.ends(request.connection);
        request.tries.fails_first(here as usize, to.map(|to| to as usize))
    }

    /// A request that was sent gets no answer, and has failed. Its client knows that when it knows that the connection is lost:
    /// from then on, or since then.
    pub(super) fn on_request_lost(&mut self, request: &Request) {
        let was_sent = request.dispatch.is_some() && !request.forced;
        if self.retries.of.is_empty() || !was_sent || !self.fails_first(request, None) {
            return;
        }
        let (connection, intended) = (request.connection, request.intended);
        if request.incarnation == self.all[connection.index()].incarnation() {
            self.retries.unknown.entry(connection).or_default().push(intended);
        } else if let Some(&(lost, known)) = self.retries.losses.get(&connection)
            && lost == request.incarnation
        {
            self.retries.failed(known, intended);
        }
    }

    /// A request whose try has failed goes on.
    fn tell_of(&self, request: &Request, failure: Failure, space: &mut Space) {
        let (request, connection) = (request.number, request.connection);
        let is_lost = self.all[connection.index()].state() != ConnectionState::Up;
        match failure {
            Failure::Shed(_) => space.tell(Fact::Retried { connection }),
            // No node says so yet. One that drains needs a fact of its own, by which the referee can judge this.
            Failure::NotBegun => space.tell(Fact::Untried { request, connection }),
            Failure::Unsent if is_lost => space.tell(Fact::Untried { request, connection }),
            Failure::Unsent | Failure::Lost => {}
        }
    }

    /// Where a request goes whose try has failed.
    fn next(
        &mut self,
        now: Instant,
        (connection, tries, deadline): (Connection, Tries, Instant),
        failure: Failure,
    ) -> Option<(Connection, Tries)> {
        let (client, here) = self.ends(connection);
        let (local, clients) = (self.clocks.local(connection, now), self.clients);
        let load = loads(now, (client, clients), &self.all, &self.clocks);
        let replicas = self.retries.of.get_mut(client as usize)?;
        let mut tries = tries;
        let failed = (here as usize, failure);
        let next = replicas.next(local, Some(deadline), &mut tries, failed, load).ok()?;
        Some((Connection::of_client((client, next as u32), clients), tries))
    }

    fn move_on(
        &mut self,
        now: Instant,
        request: Request,
        (to, tries): (Connection, Tries),
        space: &mut Space,
    ) {
        let endpoint = &self.all[to.index()];
        debug_assert!(
            endpoint.state() != ConnectionState::Crashed,
            "a client crashes with all its connections"
        );
        let Request { intended, service, number, deadline, .. } = request;
        let request = Request {
            incarnation: endpoint.incarnation(),
            intended,
            tries,
            number,
            deadline,
            ..Request::new(now, to, service)
        };
        self.enter(now, request, space);
    }
}
