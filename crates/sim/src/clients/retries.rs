//! Clients of several replicas: where requests go, and whether they are tried again.
//!
//! Each client has one [`Replicas`], which decides, and a connection with a control of its own to each
//! replica. A request is at one of them at a time, and has one fate.

use super::Clients;
use super::state::Link;
use crate::checks::Rule;
use crate::checks::retries::Books;
use crate::planted::{Flaw, Planted};
use crate::slab::Key;
use crate::space::{Event, Request, Space};
use crate::world::World;
use std::time::Duration;
use tailwater_control::retry::{Failure, Next, RetryCounts, Tries};
use tailwater_control::{Call, Replicas, Reply, RetryConfig};
use tailwater_core::Instant;
use tailwater_stats::Histogram;
use tailwater_stats::result::RetryReport;

/// What all clients have decided; empty where there is one replica.
pub(super) struct Retries {
    config: RetryConfig,
    replicas: u32,
    /// By client.
    of: Vec<(Replicas, Books)>,
    /// From handing a request to its first replica to knowing that it failed there.
    failures: Histogram,
    from: Instant,
    pub(super) flaw: Flaw,
}

impl Retries {
    pub(super) fn new(world: &World) -> Self {
        let replicas = world.replicas.max(1);
        let make = |client| (fresh(&world.retry, replicas, client), Books::default());
        let of = if replicas > 1 { (0..world.clients).map(make).collect() } else { Vec::new() };
        Self {
            config: world.retry,
            replicas,
            of,
            failures: Histogram::coarse(),
            from: world.window().0,
            flaw: Flaw::default(),
        }
    }

    pub(super) fn set_up(&mut self, client: u32, replica: u32, up: bool) {
        if let Some((replicas, _)) = self.of.get_mut(client as usize) {
            replicas.set_up(replica as usize, up);
        }
    }

    pub(super) fn on_reply(&mut self, client: u32, replica: u32, reply: &Reply) {
        if let Some((replicas, _)) = self.of.get_mut(client as usize) {
            replicas.on_reply(replica as usize, reply);
        }
    }

    /// The client forgets what it knew, which its budget was kept for as well.
    pub(super) fn forget(&mut self, client: u32) {
        if let Some(of) = self.of.get_mut(client as usize) {
            *of = (fresh(&self.config, self.replicas, client), Books::default());
        }
    }

    /// Of all clients since they began; of failures, those since the measured window began.
    pub(super) fn report(&self) -> Option<RetryReport> {
        if self.of.is_empty() {
            return None;
        }
        let add = |sum: RetryCounts, counts: RetryCounts| RetryCounts {
            calls: sum.calls + counts.calls,
            retried: sum.retried + counts.retried,
            moved: sum.moved + counts.moved,
            over_budget: sum.over_budget + counts.over_budget,
        };
        let all = self.of.iter().map(|(replicas, _)| replicas.counts());
        let sum = all.fold(RetryCounts::default(), add);
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

impl Clients<'_> {
    /// The client of a connection, and the replica that it leads to.
    pub(super) const fn ends(&self, index: u32) -> (u32, u32) {
        (index % self.clients, index / self.clients)
    }

    /// The connection over which a client's new request goes.
    pub(super) fn first(&mut self, client: u32) -> (u32, Tries) {
        let (clients, all) = (self.clients, &self.all);
        let Some((replicas, books)) = self.retries.of.get_mut(client as usize) else {
            return (client, Tries::NONE);
        };
        books.on_call();
        let load = |replica: usize| {
            let state = &all[replica * clients as usize + client as usize];
            (state.client.outstanding() + state.client.queued()) as usize
        };
        let (replica, tries) = replicas.first(load);
        (replica as u32 * clients + client, tries)
    }

    /// Hands a request to the control of its connection.
    pub(super) fn enter(&mut self, now: Instant, request: Request, space: &mut Space) {
        let index = request.client;
        let (deadline, tries) = (request.deadline, request.tries);
        let local = self.clocks.local(index, now);
        let key = space.requests.insert(request);
        self.visit(local, key, space);
        let call = Call { id: key.id(), deadline: Some(deadline), priority: super::PRIORITY };
        self.all[index as usize].client.submit(local, call);
        self.drive(now, index, space);
        let client = self.ends(index).0;
        let patience = self.retries.of.get(client as usize).and_then(|of| of.0.credit_wait(tries));
        let waits = space.requests.get(key).is_some_and(|request| request.dispatch.is_none());
        if let Some(patience) = patience.filter(|_| waits) {
            let at = self.clocks.global(index, local + patience);
            space.calendar.at(at.max(now + Duration::from_nanos(1)), Event::Patience(key));
        }
    }

    /// A request has waited for credit for as long as it may while there is another replica.
    pub(crate) fn on_patience(&mut self, now: Instant, key: Key, space: &mut Space) {
        let waits = |request: &&Request| request.dispatch.is_none();
        if let Some(request) = space.requests.get(key).filter(waits) {
            let (index, tries, deadline) = (request.client, request.tries, request.deadline);
            self.leave(now, key, (index, tries, deadline), space);
        }
    }

    /// The connection is down: what waits for it goes elsewhere, if it can.
    pub(super) fn leave_all(&mut self, now: Instant, index: u32, space: &mut Space) {
        if self.retries.of.is_empty() {
            return;
        }
        let waiting: Vec<_> = self.all[index as usize].client.waiting().collect();
        for key in waiting.into_iter().map(Key::of) {
            if let Some(request) = space.requests.get(key) {
                let (tries, deadline) = (request.tries, request.deadline);
                self.leave(now, key, (index, tries, deadline), space);
            }
        }
    }

    /// A request that was not sent goes to another replica, or stays where it is.
    fn leave(
        &mut self,
        now: Instant,
        key: Key,
        (index, tries, deadline): (u32, Tries, Instant),
        space: &mut Space,
    ) {
        let stands = (index, tries, deadline);
        if let Some((to, tries)) = self.next(now, stands, Failure::Unsent)
            && self.all[index as usize].client.cancel(key.id())
            && let Some(request) = space.requests.remove(key)
        {
            self.move_on(now, request, (to, tries), space);
            self.drive(now, index, space);
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
        if request.tries.count() == 1 && now >= self.retries.from {
            self.retries.failures.record(now.since(request.entered));
        }
        let stands = (request.client, request.tries, request.deadline);
        let Some((to, tries)) = self.next(now, stands, failure) else {
            return false;
        };
        if let Failure::Shed(_) = failure {
            let client = self.ends(request.client).0;
            let (config, of) = (self.retries.config, &mut self.retries.of);
            space.judge(Rule::Retries, of[client as usize].1.on_retry(&config));
        }
        self.move_on(now, request.clone(), (to, tries), space);
        true
    }

    /// Where a request goes whose try has failed.
    fn next(
        &mut self,
        now: Instant,
        (index, tries, deadline): (u32, Tries, Instant),
        failure: Failure,
    ) -> Option<(u32, Tries)> {
        let (client, _) = self.ends(index);
        let (local, clients, all) = (self.clocks.local(index, now), self.clients, &self.all);
        let load = |replica: usize| {
            let state = &all[replica * clients as usize + client as usize];
            (state.client.outstanding() + state.client.queued()) as usize
        };
        let flaw = self.retries.flaw;
        let told = if flaw.is(Planted::ForgetsTheBudget) { Failure::Unsent } else { failure };
        let deadline = (!flaw.is(Planted::TriesTooLate)).then_some(deadline);
        let (replicas, _) = self.retries.of.get_mut(client as usize)?;
        let mut tries = tries;
        match replicas.next(local, deadline, &mut tries, told, load) {
            Next::Try(_) if flaw.is(Planted::TriesTheSame) => Some((index, tries)),
            Next::Try(replica) => Some((replica as u32 * clients + client, tries)),
            Next::GiveUp(_) => None,
        }
    }

    fn move_on(
        &mut self,
        now: Instant,
        request: Request,
        (to, tries): (u32, Tries),
        space: &mut Space,
    ) {
        let state = &self.all[to as usize];
        // With a broken rule the run ends; a defect may otherwise try again for ever.
        if self.retries.flaw.is(Planted::LosesTheRetried) || space.broken.is_some() {
            return;
        }
        debug_assert!(state.link != Link::Crashed, "a client crashes with all its connections");
        let Request { intended, service, visits, deadline, .. } = request;
        let request = Request {
            connection: state.connection,
            intended,
            tries,
            visits,
            deadline,
            ..Request::new(now, to, service)
        };
        self.enter(now, request, space);
    }

    fn visit(&self, local: Instant, key: Key, space: &mut Space) {
        let replica = self.ends(space.requests.get(key).map_or(0, |request| request.client)).1;
        let config = &self.retries.config;
        if self.retries.of.is_empty() {
            return;
        }
        if let Some(request) = space.requests.get_mut(key) {
            let finding = request.visits.at(replica, (local, request.deadline), config);
            space.judge(Rule::Retries, finding);
        }
    }
}
