//! Clients of several replicas: where requests go, and whether they are tried again.
//!
//! The rule is [`tailwater_control::retry`]'s, as in the simulator: each client has one [`Replicas`], which decides, and a
//! connection with a control of its own to each replica. A request is at one of them at a time, and has one fate.
//!
//! What the end of a try means, how a replica stands and which calls leave it is as in the runtime's client:
//! [`End::failure`](tailwater_rt::client::End::failure), [`Channel::health`], [`Replicas::next`]. Deadlines differ:
//! there a call ends with its deadline, here a late answer is waited for, since it is measured. Nor is a request tried at two
//! replicas at once.

use super::ThreadClients;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Add;
use tailwater_control::retry::{Failure, RetryCounts, Tries};
use tailwater_control::{Replicas, RetryConfig};
use tailwater_core::{Instant, RequestId};
use tailwater_rt::client::{Channel, Event, Health, NewCall};
use tailwater_stats::Histogram;
use tailwater_stats::result::RetryReport;

/// What the clients of a fleet have decided, and each request that has not ended.
pub(super) struct Retries {
    clients: usize,
    /// By client.
    of: Vec<Replicas>,
    flights: HashMap<u64, Flight>,
    /// When requests have waited long enough for credit where they are: one entry for each time that one was handed over.
    patience: BinaryHeap<Reverse<(Instant, u64)>>,
    /// By client, how many of its flights are impatient.
    impatient: Vec<usize>,
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
    /// When it was handed to its first replica; nothing once it has left that.
    entered: Option<Instant>,
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
            patience: BinaryHeap::new(),
            impatient: vec![0; clients as usize],
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
        channels: &[Channel],
    ) -> usize {
        self.look(now, client, channels);
        let clients = self.clients;
        let load = |replica: usize| channels[replica * clients + client].load(now);
        let (replica, tries) = self.of[client].first(load);
        let place = (replica * clients + client, RequestId(0));
        let (entered, leaves, is_impatient) = (Some(now), None, false);
        let flight = Flight { client, place, tries, deadline, entered, leaves, is_impatient };
        self.flights.insert(token, flight);
        place.0
    }

    /// The request is at this channel, under this number.
    pub(super) fn place(&mut self, now: Instant, token: u64, place: (usize, RequestId)) {
        let Some(flight) = self.flights.get_mut(&token) else { return };
        let wait = self.of[flight.client].credit_wait(flight.tries);
        (flight.place, flight.leaves) = (place, wait.map(|wait| now + wait));
        let was_impatient = std::mem::take(&mut flight.is_impatient);
        self.impatient[flight.client] -= usize::from(was_impatient);
        self.patience.extend(flight.leaves.map(|at| Reverse((at, token))));
    }

    /// A try has ended.
    pub(super) fn end(
        &mut self,
        now: Instant,
        index: usize,
        event: Event,
        channels: &[Channel],
    ) -> Stays {
        let (client, replica) = (index % self.clients, index / self.clients);
        if let Some(reply) = event.end.reply() {
            self.of[client].on_reply(replica, reply);
        }
        let Some(failure) = event.end.failure() else { return self.ended(client, event) };
        let entered = self.flights.get(&event.token).and_then(|flight| flight.entered);
        let next = self.next(now, event.token, failure, channels);
        // One that waits where it was has not failed there yet.
        let counts = next != Some(index) && now >= self.from;
        if let Some(entered) = entered.filter(|_| counts) {
            self.told.failures.record(now.since(entered));
        }
        match next {
            Some(channel) => Stays::Tried((channel, event.token, event.call)),
            None => self.ended(client, event),
        }
    }

    fn ended(&mut self, client: usize, event: Event) -> Stays {
        if let Some(flight) = self.flights.remove(&event.token) {
            self.impatient[flight.client] -= usize::from(flight.is_impatient);
        }
        Stays::Ended(client, event)
    }

    /// The channel over which a request goes whose try has failed.
    fn next(
        &mut self,
        now: Instant,
        token: u64,
        failure: Failure,
        channels: &[Channel],
    ) -> Option<usize> {
        let client = self.flights.get(&token)?.client;
        self.look(now, client, channels);
        let clients = self.clients;
        let load = |replica: usize| channels[replica * clients + client].load(now);
        let flight = self.flights.get_mut(&token)?;
        let here = flight.place.0 / clients;
        let (deadline, failed) = (flight.deadline, (here, failure));
        let next = self.of[client].next(now, deadline, &mut flight.tries, failed, load).ok()?;
        if next != here {
            flight.entered = None;
        }
        Some(next * clients + client)
    }

    /// Where a request is that waits, and where it goes instead, if anywhere.
    pub(super) fn leave(
        &mut self,
        now: Instant,
        token: u64,
        channels: &[Channel],
    ) -> Option<((usize, RequestId), usize)> {
        let place = self.flights.get(&token)?.place;
        if !channels[place.0].is_waiting(place.1) {
            return None;
        }
        Some((place, self.next(now, token, Failure::Unsent, channels)?))
    }

    /// The next request that has waited for as long as it may, and waits.
    pub(super) fn next_impatient(&mut self, now: Instant, channels: &[Channel]) -> Option<u64> {
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
                let was_impatient = std::mem::replace(&mut flight.is_impatient, true);
                self.impatient[flight.client] += usize::from(!was_impatient);
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
        let client = index % self.clients;
        let is_unwell = |channel: usize| self.health[channel] == Health::Unwell;
        // Behind a restart all clients come back at once, and most of them have nothing that could leave.
        let mut own = (client..self.health.len()).step_by(self.clients);
        if self.impatient[client] == 0 && !own.any(is_unwell) {
            return Vec::new();
        }
        let leaves = |flight: &Flight| {
            flight.client == client && (flight.is_impatient || is_unwell(flight.place.0))
        };
        let leaving = self.flights.iter().filter(|(_, flight)| leaves(flight));
        let mut tokens: Vec<u64> = leaving.map(|(token, _)| *token).collect();
        // In the order in which they came.
        tokens.sort_unstable();
        tokens
    }

    fn look(&mut self, now: Instant, client: usize, channels: &[Channel]) {
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
