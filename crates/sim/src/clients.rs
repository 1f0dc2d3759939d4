//! The clients: each the same state machine that the runtime's client drives.
//!
//! This file submits, sends and receives; `clients/retries.rs` chooses among replicas; `clients/links.rs`
//! is about connections that are lost and made again, and about clients that crash.

mod links;
mod retries;
mod state;

pub(crate) use links::pause;

use crate::checks::{Rule, fates, queues};
use crate::faults::Clocks;
use crate::slab::Key;
use crate::space::{Event, Packet, Request, Space};
use crate::world::World;
use retries::Retries;
use state::{Link, State};
use std::time::Duration;
use tailwater_control::retry::Failure;
use tailwater_control::{Action, Client, Dispatch, Outcome, Reply};
use tailwater_core::{Instant, Rng};
use tailwater_stats::Tally;
use tailwater_stats::result::RetryReport;
use tailwater_workload::scenario::Claim;

/// The middle priority; workloads do not set one yet.
const PRIORITY: u8 = 128;

/// All clients, and what became of their requests.
pub(crate) struct Clients<'a> {
    /// Connections: all clients' to the first replica, then to the next.
    all: Vec<State>,
    clients: u32,
    retries: Retries,
    /// Makes the control of a connection, which knows nothing.
    make: &'a dyn Fn(u32) -> Client,
    clocks: Clocks,
    /// Spreads the clients' attempts to connect again.
    rng: Rng,
    slo: Duration,
    starved_max: Option<Duration>,
    queue_max: u32,
    tally: Tally,
    pub(crate) intended: u64,
    pub(crate) ended: u64,
}

/// What became of everything.
pub(crate) struct Books {
    pub(crate) tally: Tally,
    /// The longest time, over all clients, in which one got nothing served.
    pub(crate) longest_unserved: Duration,
    /// Where there are replicas.
    pub(crate) retry: Option<RetryReport>,
}

impl<'a> Clients<'a> {
    /// Connected clients that have not sent anything and may send `first` requests.
    pub(crate) fn new(
        world: &World,
        make: &'a dyn Fn(u32) -> Client,
        first: u32,
        tally: Tally,
    ) -> Self {
        let rng = Rng::from_seed(world.seed);
        let crowd = (world.clients, world.replicas.max(1));
        let clocks = Clocks::new(&world.faults, crowd, &rng);
        let state = |index| {
            let mut state = State::new(make(index), first);
            state.client.on_connected(clocks.local(index, Instant::ZERO));
            state
        };
        Self {
            all: (0..crowd.0 * crowd.1).map(state).collect(),
            clients: crowd.0.max(1),
            retries: Retries::new(world),
            make,
            clocks,
            rng: rng.split("reconnect"),
            slo: world.slo,
            starved_max: world.starved_max,
            queue_max: world.client_queue_max,
            tally,
            intended: 0,
            ended: 0,
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
        if self.all[client as usize].link == Link::Crashed {
            // Nobody is there to make it.
            self.ended += 1;
            return self.tally.lost(now);
        }
        let (index, tries) = self.first(client);
        let state = &self.all[index as usize];
        let deadline = self.clocks.local(index, now) + self.slo;
        let connection = state.connection;
        let request = Request { connection, tries, deadline, ..Request::new(now, index, service) };
        if state.floods && state.link == Link::Up {
            let key = space.requests.insert(request);
            return self.force(now, index, key, space);
        }
        self.enter(now, request, space);
    }

    /// A response or reject is here; returns whose it was.
    pub(crate) fn on_reply(&mut self, now: Instant, key: Key, space: &mut Space) -> Option<u32> {
        let Some(request) = space.requests.remove(key) else {
            let what = || "a reply came for a request that has ended before".into();
            space.complain(Rule::Fates, what);
            return None;
        };
        let index = request.client;
        let (client, replica) = self.ends(index);
        let state = &mut self.all[index as usize];
        let answer = request.answer.filter(|_| request.connection == state.connection);
        let Some(answer) = answer else {
            // It came over a connection that is lost, or to a process that did not ask.
            self.ended += 1;
            self.tally.lost(request.intended);
            return None;
        };
        let local = self.clocks.local(index, now);
        if request.forced {
            state.conduct.on_offer(answer.offer);
            state.client.on_credit(local, answer.offer, answer.left.stamp());
        } else {
            state.conduct.on_answered(answer.offer);
            let reply = Reply {
                outcome: answer.outcome,
                offer: answer.offer,
                stamp: answer.left.stamp(),
                elapsed: local.since(self.clocks.local(index, request.sent)),
                sojourn: answer.left.since(request.arrived),
                waited: answer.waited,
            };
            state.client.on_reply(local, &reply);
            self.retries.on_reply(client, replica, &reply);
        }
        match answer.outcome {
            Outcome::Served => {
                self.all[client as usize].served(now);
                self.tally.served(request.intended, now.since(request.intended));
            }
            Outcome::Shed(reason) => {
                let failure = Failure::Shed(reason);
                if !request.forced && self.try_again(now, &request, failure, space) {
                    self.drive(now, index, space);
                    return None;
                }
                self.tally.shed(request.intended, now.since(request.sent), reason.name());
            }
        }
        self.ended += 1;
        self.drive(now, index, space);
        Some(client)
    }

    pub(crate) fn on_credit(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(credit) = space.credits.remove(key) else {
            return space.complain(Rule::Fates, || "a credit message arrived twice".into());
        };
        let state = &mut self.all[credit.client as usize];
        if credit.connection != state.connection {
            return;
        }
        state.conduct.on_offer(credit.offer);
        let local = self.clocks.local(credit.client, now);
        state.client.on_credit(local, credit.offer, credit.stamp);
        self.drive(now, credit.client, space);
    }

    /// A deadline of the client may have come; an entry that was replaced by an earlier one is
    /// passed over.
    pub(crate) fn on_due(&mut self, now: Instant, client: u32, space: &mut Space) {
        let state = &mut self.all[client as usize];
        if state.armed == now {
            state.armed = Instant::FAR_FUTURE;
            self.drive(now, client, space);
        }
    }

    /// All connections of clients; those of a client to further replicas count too.
    pub(crate) fn links(&self) -> u32 {
        self.all.len() as u32
    }

    /// Clients.
    pub(crate) const fn count(&self) -> u32 {
        self.clients
    }

    /// The client claims something else than its demand, or tells the truth again.
    pub(crate) fn set_claim(&mut self, client: u32, claim: Option<Claim>) {
        let state = &mut self.all[client as usize];
        (state.claim, state.lied) = (claim, true);
    }

    /// The client ignores its window, or uses its control again; it is not held to the rules again.
    pub(crate) fn set_flood(&mut self, client: u32, floods: bool) {
        let state = &mut self.all[client as usize];
        (state.floods, state.rogue) = (floods, true);
    }

    /// Counts what lost connections left behind; of calls between nodes the caller learns.
    pub(crate) fn bury(&mut self, now: Instant, space: &mut Space) {
        let links = self.links();
        for key in std::mem::take(&mut space.abandoned) {
            match space.requests.get(key).map(|request| (request.client, request.intended)) {
                Some((index, intended)) if index < links => {
                    space.requests.remove(key);
                    self.ended += 1;
                    self.tally.lost(intended);
                }
                Some((number, _)) => space.send_down(now, number, Event::CallLost(key)),
                None => space.complain(Rule::Fates, || "a request was lost twice".into()),
            }
        }
    }

    /// Calls that wait for permission to be sent.
    pub(crate) fn waiting(&self) -> u64 {
        self.all.iter().map(|state| u64::from(state.client.queued())).sum()
    }

    /// Closes the books: whatever is still out or waiting is lost.
    pub(crate) fn finish(mut self, now: Instant, space: &mut Space) -> Books {
        let mut left = 0;
        // Requests between nodes are no client's.
        let (links, clients) = (self.links(), self.clients as usize);
        for request in space.requests.iter().filter(|request| request.client < links) {
            self.tally.lost(request.intended);
            left += 1;
        }
        space.judge(Rule::Fates, fates::counted(self.intended, self.ended + left));
        for (index, state) in self.all.iter_mut().enumerate() {
            let spare_ns = space.spare[index / clients].reading(now);
            space.judge(Rule::Starvation, state.check_starvation(spare_ns, self.starved_max));
        }
        // With its first connection the client keeps when it was served by any.
        let gaps = self.all.iter_mut().take(clients).map(|state| {
            state.served(now);
            state.longest_gap_ns
        });
        let longest_unserved = Duration::from_nanos(gaps.max().unwrap_or(0));
        Books { tally: self.tally, longest_unserved, retry: self.retries.report() }
    }

    #[cfg(test)]
    pub(crate) const fn plant(&mut self, defect: crate::planted::Planted) {
        self.retries.flaw = crate::planted::Flaw::of(defect);
    }

    /// Carries out what the client decides now, and makes sure to ask again in time.
    fn drive(&mut self, now: Instant, index: u32, space: &mut Space) {
        let local = self.clocks.local(index, now);
        while let Some(action) = self.all[index as usize].client.poll(local) {
            match action {
                Action::Send(dispatch) => self.send(now, index, dispatch, space),
                Action::Drop(id, _) => match space.requests.remove(Key::of(id)) {
                    Some(request) if self.try_again(now, &request, Failure::Unsent, space) => {}
                    Some(request) => {
                        self.ended += 1;
                        self.tally.expired(request.intended);
                    }
                    None => {
                        let what = || format!("client {index} dropped a request twice");
                        space.complain(Rule::Fates, what);
                    }
                },
                Action::Demand { demand, acked } => {
                    let State { connection, .. } = self.all[index as usize];
                    let demand = self.all[index as usize].claimed(demand);
                    let packet = Packet::Demand { client: index, connection, demand, acked };
                    space.send_up(now, index, packet);
                }
                Action::Deregister => {
                    let state = &mut self.all[index as usize];
                    state.conduct.on_deregistered();
                    let connection = state.connection;
                    space.send_up(now, index, Packet::Deregister { client: index, connection });
                }
            }
        }
        let state = &mut self.all[index as usize];
        let (queued, max) = (state.client.queued() as usize, self.queue_max as usize);
        space.judge(Rule::Queues, queues::bounded("a client's queue", queued, max));
        let spare_ns = space.spare[(index / self.clients) as usize].reading(now);
        space.judge(Rule::Starvation, state.check_starvation(spare_ns, self.starved_max));
        if let Some(deadline) = state.client.next_deadline() {
            state.arm(now, self.clocks.global(index, deadline), index, space);
        }
    }

    fn send(&mut self, now: Instant, index: u32, dispatch: Dispatch, space: &mut Space) {
        let state = &mut self.all[index as usize];
        let finding = state.conduct.on_sent(dispatch.register);
        if let Some(what) = finding.filter(|_| !state.rogue) {
            space.complain(Rule::Honest, || format!("client {index}: {what}"));
        }
        let key = Key::of(dispatch.id);
        if let Some(request) = space.request(key, "at sending") {
            (request.sent, request.connection) = (now, state.connection);
            let demand = state.claimed(dispatch.demand);
            request.dispatch = Some(Dispatch { demand, ..dispatch });
            space.send_up(now, index, Packet::Request(key));
        }
    }

    /// A flooding client sends whatever it is asked for, and says of itself what it likes.
    fn force(&mut self, now: Instant, index: u32, key: Key, space: &mut Space) {
        let acked = self.all[index as usize].conduct.seq();
        let budget = Some(self.slo);
        if let Some(request) = space.request(key, "at flooding") {
            request.forced = true;
            request.dispatch = Some(Dispatch {
                id: key.id(),
                demand: 0,
                acked,
                register: true,
                echo: None,
                budget,
                priority: PRIORITY,
            });
            space.send_up(now, index, Packet::Request(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Fabric;
    use crate::world::Link as Way;
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;
    use tailwater_stats::TallySpec;

    const SLO: Duration = Duration::from_micros(200);

    fn space() -> Space {
        let link = Way { delay: Duration::from_micros(5), jitter: Duration::ZERO };
        Space::new(Fabric::new(link, 1, &Rng::from_seed(1)), 1)
    }

    fn make(index: u32) -> Client {
        Spec::named("breakwater").build(&Site::one_loop(SLO, 1)).unwrap().client(index.into())
    }

    fn clients() -> Clients<'static> {
        let tally = Tally::new(TallySpec {
            slo: SLO,
            from: Instant::ZERO,
            to: Instant::FAR_FUTURE,
            bin: None,
        });
        let world = World { clients: 1, slo: SLO, ..World::paper(1) };
        Clients::new(&world, &make, 1, tally)
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
                Event::ClientDue(client) => clients.on_due(now, client, &mut space),
                other => panic!("only a request and a deadline were needed, {other:?} found"),
            }
        }
        assert_eq!(sent.len(), 1);
        let Books { tally, longest_unserved, retry } =
            clients.finish(Instant::ZERO + SLO, &mut space);
        assert!(retry.is_none());
        let fates = tally.finish().fates;
        assert_eq!((fates.expired, fates.lost, fates.total()), (1, 1, 2));
        assert_eq!(longest_unserved, SLO, "never served");
        assert_eq!(space.broken, None);
    }

    #[test]
    fn a_second_answer_to_one_request_breaks_the_run() {
        let (mut space, mut clients) = (space(), clients());
        clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        let Some((now, Event::Packet(Packet::Request(key)))) = space.calendar.pop() else {
            panic!("a request was needed");
        };
        clients.on_reply(now, key, &mut space);
        clients.on_reply(now, key, &mut space);
        let (rule, broken) = space.broken.unwrap();
        assert_eq!(rule, Rule::Fates);
        assert!(broken.contains("ended before"), "{broken}");
    }
}
