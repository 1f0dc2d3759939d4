//! Clients of several replicas: where requests go, and whether they are tried again.
//!
//! The rule is [`tailwater_control::retry`]'s, as in the simulator: each client has one [`Replicas`], which decides, and a
//! connection with a control of its own to each replica. A request is at one of them at a time, and has one fate.
//!
//! What the end of a try means, how a replica stands and which calls leave it is as in the runtime's client:
//! [`End::failure`](tailwater_rt::client::End::failure), [`Channel::health`](tailwater_rt::client::Channel::health),
//! [`Replicas::next`]. Deadlines differ: there a call ends with its deadline, here a late answer is waited for, since it is
//! measured. Nor is a request tried at two replicas at once.

use super::ThreadClients;
use super::link::Link;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::ops::Add;
use tailwater_control::retry::{Failure, RetryCounts, Tries};
use tailwater_control::{Replicas, RetryConfig};
use tailwater_core::{Instant, RequestId};
use tailwater_rt::client::{Event, Health, NewCall};
use tailwater_stats::Histogram;
use tailwater_stats::result::RetryReport;

/// What the clients of a fleet have decided, and each request that has not ended.
pub(super) struct Retries {
    clients: usize,
    /// By client.
    of: Vec<Replicas>,
    flights: HashMap<u64, Flight>,
    /// By client, the tokens of its flights. Behind a restart all clients come back at once: each looks at its own.
    own: Vec<BTreeSet<u64>>,
    /// When requests have waited long enough for credit where they are: one entry for each time that one was handed over.
    patience: BinaryHeap<Reverse<(Instant, u64)>>,
    /// By channel, as it was found last.
    health: Vec<Health>,
    told: Retried,
    from: Instant,
}

/// A request on its way.
struct Flight {
    client: usize,
    /// Channel and number there.
    place: (usize, RequestId),
    tries: Tries,
    deadline: Option<Instant>,
    /// When it was handed to its first replica.
    entered: Instant,
    /// When it wants to leave for want of credit.
    leaves: Option<Instant>,
    /// It wanted to leave, but could go nowhere.
    is_impatient: bool,
}

/// What becomes of a request whose try has ended.
pub(super) enum Stays {
    /// It has ended, for this client.
    Ended(usize, Event),
    /// It goes to another channel, or waits at the same.
    Tried((usize, u64, NewCall)),
}

/// What clients of replicas did.
#[derive(Clone, Debug)]
pub struct Retried {
    counts: RetryCounts,
    /// From handing a request to its first replica to knowing that it failed there.
    failures: Histogram,
}

impl Retried {
    /// Of several fleets together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.counts = self.counts + other.counts;
        self.failures.merge(&other.failures);
        self
    }

    /// As results tell it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    pub fn report(&self) -> RetryReport {
        let Self { counts, failures } = self;
        let share = |count: u64| count as f64 / counts.calls.max(1) as f64;
        RetryReport {
            retried: share(counts.retried),
            moved: share(counts.moved),
            over_budget: share(counts.over_budget),
            failure_p99_us: failures.quantile(0.99).as_secs_f64() * 1e6,
        }
    }
}

impl Retries {
    pub(super) fn new(config: RetryConfig, replicas: usize, whose: ThreadClients) -> Self {
        let of = |client| Replicas::new(config, replicas, whose.number(client));
        let clients = whose.clients;
        let told = Retried { counts: RetryCounts::default(), failures: Histogram::coarse() };
        Self {
            clients: clients as usize,
            of: (0..clients).map(of).collect(),
            flights: HashMap::new(),
            own: vec![BTreeSet::new(); clients as usize],
            patience: BinaryHeap::new(),
            health: vec![Health::Unknown; clients as usize * replicas],
            told,
            from: Instant::ZERO,
        }
    }

    /// Failures count from then on.
    pub(super) const fn count_from(&mut self, from: Instant) {
        self.from = from;
    }

    /// A new request: the channel over which it goes.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        (client, token): (usize, u64),
        deadline: Option<Instant>,
        channels: &[Link],
    ) -> usize {
        self.look(now, client, channels);
        let clients = self.clients;
        let load = |replica: usize| channels[replica * clients + client].load(now);
        let (replica, tries) = self.of[client].first(load);
        let place = (replica * clients + client, RequestId(0));
        let (entered, leaves, is_impatient) = (now, None, false);
        let flight = Flight { client, place, tries, deadline, entered, leaves, is_impatient };
        self.flights.insert(token, flight);
        self.own[client].insert(token);
        place.0
    }

    /// The request is at this channel, under this number.
    pub(super) fn place(&mut self, now: Instant, token: u64, place: (usize, RequestId)) {
        let Some(flight) = self.flights.get_mut(&token) else { return };
        let wait = self.of[flight.client].credit_wait(flight.tries);
        (flight.place, flight.is_impatient) = (place, false);
        flight.leaves = wait.map(|wait| now + wait);
        self.patience.extend(flight.leaves.map(|at| Reverse((at, token))));
    }

    /// A try has ended.
    pub(super) fn end(
        &mut self,
        now: Instant,
        index: usize,
        event: Event,
        channels: &[Link],
    ) -> Stays {
        let (client, replica) = (index % self.clients, index / self.clients);
        if let Some(reply) = event.end.reply() {
            self.of[client].on_reply(replica, reply);
        }
        let Some(failure) = event.end.failure() else { return self.ended(client, event) };
        let flight = self.flights.get(&event.token).map(|flight| (flight.tries, flight.entered));
        let next = self.next(now, event.token, failure, channels);
        if let Some((tries, entered)) = flight
            && tries.fails_first(replica, next.map(|index| index / self.clients))
            && now >= self.from
        {
            self.told.failures.record(now.since(entered));
        }
        match next {
            Some(channel) => Stays::Tried((channel, event.token, event.call)),
            None => self.ended(client, event),
        }
    }

    fn ended(&mut self, client: usize, event: Event) -> Stays {
        self.flights.remove(&event.token);
        self.own[client].remove(&event.token);
        Stays::Ended(client, event)
    }

    /// The channel over which a request goes whose try has failed.
    fn next(
        &mut self,
        now: Instant,
        token: u64,
        failure: Failure,
        channels: &[Link],
    ) -> Option<usize> {
        let client = self.flights.get(&token)?.client;
        self.look(now, client, channels);
        let clients = self.clients;
        let load = |replica: usize| channels[replica * clients + client].load(now);
        let flight = self.flights.get_mut(&token)?;
        let here = flight.place.0 / clients;
        let (deadline, failed) = (flight.deadline, (here, failure));
        let next = self.of[client].next(now, deadline, &mut flight.tries, failed, load).ok()?;
        Some(next * clients + client)
    }

    /// Where a request is that waits, and where it goes instead, if anywhere.
    pub(super) fn leave(
        &mut self,
        now: Instant,
        token: u64,
        channels: &[Link],
    ) -> Option<((usize, RequestId), usize)> {
        let place = self.flights.get(&token)?.place;
        if !channels[place.0].is_waiting(place.1) {
            return None;
        }
        Some((place, self.next(now, token, Failure::Unsent, channels)?))
    }

    /// The next request that has waited for as long as it may, and waits.
    pub(super) fn next_impatient(&mut self, now: Instant, channels: &[Link]) -> Option<u64> {
        while let Some(&Reverse((at, token))) = self.patience.peek()
            && at <= now
        {
            self.patience.pop();
            // One that has moved since, was sent, or has ended, wants nothing.
            let waits = |flight: &&mut Flight| {
                let (channel, id) = flight.place;
                flight.leaves == Some(at) && channels[channel].is_waiting(id)
            };
            if let Some(flight) = self.flights.get_mut(&token).filter(waits) {
                flight.is_impatient = true;
                return Some(token);
            }
        }
        None
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.patience.peek().map(|&Reverse((at, _))| at)
    }

    /// How a channel is: where that has changed, the requests of its client that had better go elsewhere. One that is well
    /// again is a place for those that could go nowhere.
    pub(super) fn note_health(&mut self, index: usize, health: Health) -> Vec<u64> {
        if std::mem::replace(&mut self.health[index], health) == health {
            return Vec::new();
        }
        let is_unwell = |channel: usize| self.health[channel] == Health::Unwell;
        let leaves = |flight: &Flight| flight.is_impatient || is_unwell(flight.place.0);
        // In the order in which they came.
        let own = self.own[index % self.clients].iter().copied();
        own.filter(|token| self.flights.get(token).is_some_and(leaves)).collect()
    }

    fn look(&mut self, now: Instant, client: usize, channels: &[Link]) {
        let replicas = &mut self.of[client];
        for replica in 0..replicas.count() {
            let health = channels[replica * self.clients + client].health(now);
            replicas.set_up(replica, health == Health::Well);
        }
    }

    pub(super) fn told(&self) -> Retried {
        let counts = self.of.iter().map(Replicas::counts).fold(RetryCounts::default(), Add::add);
        Retried { counts, ..self.told.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tailwater_control::catalog::Spec;
    use tailwater_control::{DropReason, Site};
    use tailwater_core::MethodId;
    use tailwater_rt::Address;
    use tailwater_rt::client::{Caller, Channel, ChannelConfig, End};

    const SLO: Duration = Duration::from_secs(60);
    const WAIT: Duration = Duration::from_micros(10);

    fn call() -> NewCall {
        let (method, payload) = (MethodId(1), bytes::Bytes::new());
        NewCall { method, payload, deadline: None, priority: 128, tenant: 0, caller: Caller::NONE }
    }

    /// Two clients of two replicas, none of which is reached: a request waits where its client is at home.
    struct Pair {
        retries: Retries,
        channels: Vec<Link>,
    }

    impl Pair {
        fn new() -> Self {
            let control = Spec::named("none").build(&Site::one_loop(SLO, 1)).unwrap();
            let config = ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], 1).into()));
            let channel = |key: u64| {
                Link::Ours(Channel::to_replica(&config, key / 2, key, control.client(key)))
            };
            let retry = RetryConfig { credit_wait: Some(WAIT), ..RetryConfig::default() };
            let retries = Retries::new(retry, 2, ThreadClients::all(2));
            Self { retries, channels: (0..4).map(channel).collect() }
        }

        fn submit(&mut self, now: Instant, client: usize, token: u64) {
            let index = self.retries.begin(now, (client, token), None, &self.channels);
            let id = self.channels[index].submit(now, token, call());
            self.retries.place(now, token, (index, id));
        }

        /// A client's other replica is well: the requests that look again. Client 0 is at home at channel 0, client 1 at 3.
        fn other_is_well(&mut self, client: usize) -> Vec<u64> {
            self.retries.note_health([2, 1][client], Health::Well)
        }
    }

    /// Each client that came back went through the requests of all clients of its thread.
    #[test]
    fn a_client_that_is_back_looks_at_its_own_requests_in_their_order() {
        let (mut pair, later) = (Pair::new(), Instant::ZERO + 10 * WAIT);
        for token in [7, 3, 5] {
            pair.submit(Instant::ZERO, 0, token);
        }
        pair.submit(later, 1, 4);
        let due = Instant::ZERO + WAIT;
        let impatient = std::iter::from_fn(|| pair.retries.next_impatient(due, &pair.channels));
        assert_eq!(impatient.collect::<Vec<u64>>(), [3, 5, 7], "not the one that came later");
        assert!(pair.other_is_well(1).is_empty(), "its own is patient");
        assert_eq!(pair.other_is_well(0), [3, 5, 7]);
        assert!(pair.other_is_well(0).is_empty(), "nothing has changed");
    }

    #[test]
    fn a_request_that_has_ended_or_moved_is_not_looked_at() {
        let mut pair = Pair::new();
        for token in [1, 2] {
            pair.submit(Instant::ZERO, 0, token);
        }
        let due = Instant::ZERO + WAIT;
        while pair.retries.next_impatient(due, &pair.channels).is_some() {}
        pair.retries.place(due, 1, (2, RequestId(9)));
        let end = End::Unsent(DropReason::Expired);
        let event = Event { token: 2, at: due, call: call(), end };
        let stays = pair.retries.end(due, 0, event, &pair.channels);
        assert!(matches!(stays, Stays::Ended(0, _)), "no other replica is up");
        assert!(pair.other_is_well(0).is_empty());
    }
}
