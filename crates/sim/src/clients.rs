//! The clients: whose request goes over which connection, and what became of it.
//!
//! A client has an [`Endpoint`] for each replica. This file submits and receives; `clients/retries.rs`
//! chooses among replicas; `clients/connections.rs` is about connections that are lost and made again, and about
//! clients that crash.

mod connections;
mod retries;

use crate::connection::Connection;
use crate::endpoint::{ConnectionState, Endpoint};
use crate::facts::{Fact, Thing};
use crate::faults::Clocks;
use crate::slab::Key;
use crate::space::{Event, Request, Space};
use crate::world::World;
use retries::Retries;
use std::ops::Range;
use std::time::Duration;
use tailwater_control::retry::Failure;
use tailwater_control::{Client, Outcome};
use tailwater_core::{Instant, Rng};
use tailwater_stats::Tally;
use tailwater_stats::result::RetryReport;
use tailwater_workload::Service;
use tailwater_workload::scenario::Claim;

/// All clients, and what became of their requests.
pub(crate) struct Clients<'a> {
    /// Connections: all clients' to the first replica, then to the next.
    all: Vec<Endpoint>,
    clients: u32,
    /// By client: when it was served last, and the longest time between two such times.
    served: Vec<(Instant, u64)>,
    retries: Retries,
    /// Makes the control of a connection to a replica, which knows nothing.
    make: &'a dyn Fn(usize, Connection) -> Client,
    clocks: Clocks,
    /// Spreads the clients' attempts to connect again.
    rng: Rng,
    slo: Duration,
    tally: Tally,
    /// Methods by service time, where there are several.
    modes: Option<Service>,
    intended: u64,
}

/// What became of everything.
pub(crate) struct Books {
    pub(crate) tally: Tally,
    /// The longest time, over all clients, in which one got nothing served.
    pub(crate) longest_unserved: Duration,
    /// Where there are replicas.
    pub(crate) retry: Option<RetryReport>,
}

/// The end of a request, as its client sees it.
pub(crate) struct Answered {
    pub(crate) client: u32,
    /// Otherwise it was refused.
    pub(crate) is_served: bool,
}

impl<'a> Clients<'a> {
    /// Connected clients that have not sent anything.
    pub(crate) fn new(
        world: &World,
        make: &'a dyn Fn(usize, Connection) -> Client,
        tally: Tally,
    ) -> Self {
        let rng = Rng::from_seed(world.seed);
        let crowd = (world.clients, world.replicas.max(1));
        let clocks = Clocks::new(&world.faults, crowd, &rng);
        let clients = crowd.0.max(1);
        let endpoint = |connection: Connection| {
            let (_, replica) = connection.ends(clients);
            Endpoint::new(connection, make(replica as usize, connection), &clocks)
        };
        Self {
            all: (0..crowd.0 * crowd.1).map(Connection).map(endpoint).collect(),
            served: vec![(Instant::ZERO, 0); crowd.0 as usize],
            clients,
            retries: Retries::new(world),
            make,
            clocks,
            rng: rng.split("reconnect"),
            modes: world.node.modes.clone(),
            slo: world.slo,
            tally,
            intended: 0,
        }
    }

    /// A request is due.
    pub(crate) fn submit(
        &mut self,
        now: Instant,
        client: u32,
        service: Duration,
        space: &mut Space,
    ) {
        self.intended += 1;
        self.tally.asked(now, self.class_of(service));
        let number = self.intended;
        space.tell(Fact::Intended);
        let first = Connection::of_client((client, 0), self.clients);
        if self.all[first.index()].state() == ConnectionState::Crashed {
            // The client that would make it has crashed.
            space.tell(Fact::Ended { request: number });
            return self.tally.lost(now);
        }
        let (connection, tries) = self.first(now, client);
        let endpoint = &self.all[connection.index()];
        let deadline = self.clocks.local(connection, now) + self.slo;
        let incarnation = endpoint.incarnation();
        let due = Request::new(now, connection, service);
        let request = Request { incarnation, number, tries, deadline, ..due };
        if endpoint.floods() {
            let key = space.requests.insert(request);
            return endpoint.force(now, key, self.slo, space);
        }
        self.enter(now, request, space);
    }

    /// The number of the class that a request of this time belongs to, where there are several.
    fn class_of(&self, service: Duration) -> Option<usize> {
        self.modes.as_ref().map(|modes| modes.mode_of(service).into())
    }

    /// A response or reject is here; returns whose it was, where its request has ended by it.
    pub(crate) fn on_reply(
        &mut self,
        now: Instant,
        key: Key,
        space: &mut Space,
    ) -> Option<Answered> {
        let Some(request) = space.requests.remove(key) else {
            space.astray(Thing::Request, "a reply came for a request that has ended before");
            return None;
        };
        let connection = request.connection;
        let (client, replica) = self.ends(connection);
        let endpoint = &mut self.all[connection.index()];
        let Some(reply) = endpoint.on_reply(now, &request, &self.clocks, space) else {
            self.on_request_lost(&request);
            space.tell(Fact::Ended { request: request.number });
            self.tally.lost(request.intended);
            return None;
        };
        if !request.forced {
            self.retries.on_reply(client, replica, &reply);
        }
        match reply.outcome {
            Outcome::Served => {
                self.on_served(now, client);
                let latency = now.since(request.intended);
                self.tally.served(request.intended, latency);
                self.tally.answered(request.intended, self.class_of(request.service), latency);
            }
            Outcome::Shed(reason) => {
                let failure = Failure::refused(reason);
                if !request.forced && self.try_again(now, &request, failure, space) {
                    self.drive(now, connection, space);
                    return None;
                }
                self.tally.shed(request.intended, now.since(request.sent), reason.name());
            }
        }
        space.tell(Fact::Ended { request: request.number });
        self.drive(now, connection, space);
        Some(Answered { client, is_served: reply.outcome == Outcome::Served })
    }

    pub(crate) fn on_credit(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(credit) = space.credits.remove(key) else {
            return space.astray(Thing::Request, "a credit message arrived twice");
        };
        let endpoint = &mut self.all[credit.connection.index()];
        if endpoint.on_credit(now, &credit, &self.clocks, space) {
            self.drive(now, credit.connection, space);
        }
    }

    /// A deadline of the client may have come.
    pub(crate) fn on_due(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        if self.all[connection.index()].on_due(now) {
            self.drive(now, connection, space);
        }
    }

    /// All connections of clients; those of a client to further replicas count too.
    pub(crate) fn connections(&self) -> Range<Connection> {
        Connection(0)..Connection(self.all.len() as u32)
    }

    /// Clients.
    pub(crate) const fn count(&self) -> u32 {
        self.clients
    }

    /// The client claims something else than its demand, or tells the truth again.
    pub(crate) fn set_claim(
        &mut self,
        connection: Connection,
        claim: Option<Claim>,
        space: &mut Space,
    ) {
        space.tell(Fact::Lied { connection });
        self.all[connection.index()].set_claim(claim);
    }

    /// The client ignores its window, or uses its control again.
    pub(crate) fn set_flood(&mut self, connection: Connection, floods: bool, space: &mut Space) {
        space.tell(Fact::Floods { connection });
        self.all[connection.index()].set_flood(floods);
    }

    /// Counts what lost connections left behind; of calls between nodes the caller learns.
    pub(crate) fn bury(&mut self, now: Instant, space: &mut Space) {
        let of_clients = self.connections();
        for key in std::mem::take(&mut space.abandoned) {
            match space.requests.get(key).map(|request| (request.connection, request.number)) {
                Some((connection, number)) if of_clients.contains(&connection) => {
                    if let Some(request) = space.requests.remove(key) {
                        self.on_request_lost(&request);
                        self.tally.lost(request.intended);
                    }
                    space.tell(Fact::Ended { request: number });
                }
                Some((connection, _)) => space.send_down(now, connection, Event::CallLost(key)),
                None => space.astray(Thing::Request, "a request was lost twice"),
            }
        }
    }

    /// Calls that wait for permission to be sent.
    pub(crate) fn waiting(&self) -> u64 {
        self.all.iter().map(|endpoint| u64::from(endpoint.queued())).sum()
    }

    /// How all of them stand.
    pub(crate) fn tell_all(&self, space: &mut Space) {
        self.all.iter().for_each(|endpoint| space.tell(endpoint.driven()));
    }

    /// Closes the books: whatever is still out or waiting is lost.
    pub(crate) fn finish(mut self, now: Instant, space: &Space) -> Books {
        // Requests between nodes are no client's.
        let of_clients = self.connections();
        let left = space.requests.iter();
        for request in left.filter(|request| of_clients.contains(&request.connection)) {
            self.tally.lost(request.intended);
        }
        (0..self.served.len() as u32).for_each(|client| self.on_served(now, client));
        let gaps_ns = self.served.iter().map(|(_, longest_ns)| *longest_ns);
        let longest_unserved = Duration::from_nanos(gaps_ns.max().unwrap_or(0));
        Books { tally: self.tally, longest_unserved, retry: self.retries.report() }
    }

    /// Carries out what the control of a connection decides.
    fn drive(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        while let Some((key, _)) = self.all[connection.index()].poll(now, &self.clocks, space) {
            match space.requests.remove(key) {
                Some(request) if self.try_again(now, &request, Failure::Unsent, space) => {}
                Some(request) => {
                    space.tell(Fact::Ended { request: request.number });
                    self.tally.expired(request.intended);
                }
                None => {
                    let what = format!("client {} dropped a request twice", connection.0);
                    space.astray(Thing::Request, what);
                }
            }
        }
    }

    /// By whichever replica.
    fn on_served(&mut self, now: Instant, client: u32) {
        let (last, longest_ns) = &mut self.served[client as usize];
        *longest_ns = (*longest_ns).max(now.nanos_since(*last));
        *last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Incarnation;
    use crate::fabric::Fabric;
    use crate::faults::Members;
    use crate::space::Packet;
    use crate::space::testing::{refuse, taken, welcome};
    use crate::world::Link;
    use tailwater_control::catalog::Spec;
    use tailwater_control::{Reason, RetryConfig, Site};
    use tailwater_core::Ratio;
    use tailwater_stats::TallySpec;
    use tailwater_workload::scenario::{Chosen, Fault, FaultKind, Struck};

    const SLO: Duration = Duration::from_micros(200);

    fn space() -> Space {
        let link = Link { delay: Duration::from_micros(5), jitter: Duration::ZERO };
        Space::new(Fabric::new(link, 2, &Rng::from_seed(1)))
    }

    fn make(_: usize, connection: Connection) -> Client {
        let family = Spec::named("breakwater").build(&Site::one_loop(SLO, 1)).unwrap();
        family.client(connection.0.into())
    }

    fn world() -> World {
        World { clients: 1, slo: SLO, warm_up: Duration::ZERO, ..World::paper(1) }
    }

    fn clients() -> Clients<'static> {
        clients_of(&world())
    }

    fn clients_of(world: &World) -> Clients<'static> {
        let tally = Tally::new(TallySpec {
            slo: SLO,
            from: Instant::ZERO,
            to: Instant::FAR_FUTURE,
            bin: None,
        });
        Clients::new(world, &make, tally)
    }

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// A client of two replicas, at home at the first, that has lost some of its connections.
    fn bereft(
        lost: Range<u32>,
        credit_wait: Option<Duration>,
        space: &mut Space,
    ) -> Clients<'static> {
        let retry = RetryConfig { credit_wait, ..RetryConfig::default() };
        let mut clients = clients_of(&World { replicas: 2, retry, ..world() });
        for connection in lost.map(Connection) {
            clients.on_lost(Instant::ZERO, connection, Incarnation::FIRST, space);
        }
        clients
    }

    /// A connection that was lost once stands again.
    fn open(now: Instant, connection: Connection, clients: &mut Clients<'_>, space: &mut Space) {
        let key = welcome(now, connection, space);
        clients.on_opened(now, key, space);
    }

    /// Such requests stayed where they were until the next vain attempt to connect there.
    #[test]
    fn what_waits_at_a_lost_replica_goes_to_the_one_that_comes_back() {
        let mut space = space();
        let mut clients = bereft(0..2, None, &mut space);
        clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        open(Instant::ZERO + us(1), Connection(1), &mut clients, &mut space);
        assert_eq!(taken(&mut space), [Connection(1)]);
    }

    /// Of two requests the first holds the only credit. The other one asked for the second replica while that was lost.
    #[test]
    fn what_has_waited_for_credit_goes_to_the_replica_that_comes_back() {
        for (back_us, at_second) in [(1, 0), (3, 1)] {
            let mut space = space();
            let mut clients = bereft(1..2, Some(us(2)), &mut space);
            for _ in 0..2 {
                clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
            }
            open(Instant::ZERO + us(back_us), Connection(1), &mut clients, &mut space);
            let taken = taken(&mut space);
            assert_eq!(taken.len(), 1 + at_second, "back after {back_us} µs: {taken:?}");
            assert_eq!(taken.iter().filter(|it| **it == Connection(1)).count(), at_second);
        }
    }

    /// The connections over which a request went, and when the first of them had failed, in microseconds. Its first tries are
    /// refused, each so long after it came.
    fn refused(lost: Range<u32>, refusals: &[(Reason, u64)]) -> (Vec<Connection>, f64) {
        let mut space = space();
        let mut clients = bereft(lost, None, &mut space);
        clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        let (mut tried, mut refusals) = (Vec::new(), refusals.iter());
        while let Some((arrived, event)) = space.calendar.pop() {
            let Event::Packet(Packet::Request(key)) = event else { continue };
            tried.extend(space.connection_of(key));
            if let Some(&(reason, after_us)) = refusals.next() {
                let now = arrived + us(after_us);
                refuse(now, key, reason, &mut space);
                clients.on_reply(now, key, &mut space);
            }
        }
        (tried, clients.retries.report().expect("there are replicas").failure_p99_us)
    }

    /// The second of two requests waits for the credit that the first one holds, as the connection is lost. Its only try is then
    /// at the other replica, which refuses it.
    #[test]
    fn a_request_that_left_a_lost_replica_unsent_may_be_tried_there() {
        let mut space = space();
        let mut clients = bereft(0..0, None, &mut space);
        for _ in 0..2 {
            clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        }
        let (first, second) = (Connection(0), Connection(1));
        clients.on_lost(Instant::ZERO, first, Incarnation::FIRST, &mut space);
        open(Instant::ZERO, first, &mut clients, &mut space);
        let mut tried = Vec::new();
        while let Some((now, event)) = space.calendar.pop() {
            let Event::Packet(Packet::Request(key)) = event else { continue };
            tried.extend(space.connection_of(key));
            if tried.last() == Some(&second) {
                refuse(now, key, Reason::Lock, &mut space);
                clients.on_reply(now, key, &mut space);
            }
        }
        assert_eq!(tried, [first, second, first]);
        let untried = |fact: &&Fact| matches!(fact, Fact::Untried { .. });
        assert_eq!(space.facts.iter().filter(untried).count(), 1, "where it was never sent");
    }

    /// Each try takes 5 µs to its server.
    #[test]
    fn a_request_fails_once_at_its_first_replica_as_in_the_generator() {
        let (first, second) = (Connection(0), Connection(1));
        let (tried, failed_us) = refused(0..0, &[(Reason::Draining, 0), (Reason::Lock, 100)]);
        assert_eq!(tried[..2], [first, second]);
        assert!((4.9..5.2).contains(&failed_us), "{failed_us}: it was not at the second first");
        let (tried, failed_us) = refused(1..2, &[(Reason::Draining, 0), (Reason::Lock, 0)]);
        assert_eq!(tried, [first, first], "it waited for the next server");
        assert!((9.8..10.3).contains(&failed_us), "{failed_us}: until then it had not failed");
    }

    /// The only request of a client of two replicas, as it arrives at the first.
    fn arrived() -> (Space, Clients<'static>, Instant, Key) {
        let mut space = space();
        let mut clients = bereft(0..0, None, &mut space);
        clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        while let Some((now, event)) = space.calendar.pop() {
            if let Event::Packet(Packet::Request(key)) = event {
                return (space, clients, now, key);
            }
        }
        panic!("a request was needed");
    }

    fn lose(now: Instant, key: Key, clients: &mut Clients<'_>, space: &mut Space) {
        space.abandoned.push(key);
        clients.bury(now, space);
    }

    fn failure_us(clients: &Clients<'_>) -> f64 {
        clients.retries.report().expect("there are replicas").failure_p99_us
    }

    /// The generator counted those. The simulator meets some before their client knows of the loss, and some later.
    #[test]
    fn a_request_that_is_lost_has_failed_when_its_client_knows_that_the_connection_is() {
        let (mut space, mut clients, now, key) = arrived();
        lose(now, key, &mut clients, &mut space);
        assert!(failure_us(&clients) < 1.0, "its client does not know");
        clients.on_lost(now + us(2), Connection(0), Incarnation::FIRST, &mut space);
        assert!((6.8..7.3).contains(&failure_us(&clients)), "{}", failure_us(&clients));
        let (mut space, mut clients, now, key) = arrived();
        clients.on_lost(now + us(2), Connection(0), Incarnation::FIRST, &mut space);
        lose(now + us(50), key, &mut clients, &mut space);
        assert!((6.8..7.3).contains(&failure_us(&clients)), "{}", failure_us(&clients));
    }

    #[test]
    fn of_a_crashed_clients_requests_nobody_knows_that_they_have_failed() {
        let (mut space, mut clients, now, key) = arrived();
        lose(now, key, &mut clients, &mut space);
        let crash = Fault {
            at: Duration::ZERO,
            length: Duration::ZERO,
            clients: Chosen::Share(Ratio(1.0)),
            nodes: Struck::default(),
            way: None,
            kind: FaultKind::ClientCrash,
        };
        let all = Members::of(&crash, 0, (1, 2), &Rng::from_seed(1));
        clients.crash(now, &all, &mut space);
        clients.revive(now, |it| all.contain(it), &mut space);
        open(now, Connection(0), &mut clients, &mut space);
        clients.on_lost(now + us(2), Connection(0), Incarnation::FIRST.next(), &mut space);
        assert!(failure_us(&clients) < 1.0, "{}", failure_us(&clients));
    }

    /// An unregistered client may send one request; the second waits and expires at its deadline.
    #[test]
    fn a_call_without_credit_expires_by_its_own_event() {
        let (mut space, mut clients) = (space(), clients());
        for _ in 0..2 {
            clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        }
        let mut sent = Vec::new();
        while let Some((now, event)) = space.calendar.pop() {
            match event {
                Event::Packet(Packet::Request(key)) => sent.push(key),
                Event::ClientDue(connection) => clients.on_due(now, connection, &mut space),
                other => panic!("only a request and a deadline were needed, {other:?} found"),
            }
        }
        assert_eq!(sent.len(), 1);
        let Books { tally, longest_unserved, retry } = clients.finish(Instant::ZERO + SLO, &space);
        assert!(retry.is_none());
        let fates = tally.finish().fates;
        assert_eq!((fates.expired, fates.lost, fates.total()), (1, 1, 2));
        assert_eq!(longest_unserved, SLO, "never served");
        let astray = space.facts.iter().find(|fact| matches!(fact, Fact::Astray(..)));
        assert_eq!(astray, None);
    }

    #[test]
    fn a_second_answer_to_one_request_is_astray() {
        let (mut space, mut clients) = (space(), clients());
        clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        let Some((now, Event::Packet(Packet::Request(key)))) = space.calendar.pop() else {
            panic!("a request was needed");
        };
        clients.on_reply(now, key, &mut space);
        clients.on_reply(now, key, &mut space);
        let last = space.facts.last();
        let Some(Fact::Astray(Thing::Request, what)) = last else { panic!("{last:?}") };
        assert!(what.contains("ended before"), "{what}");
    }
}
