//! One server in virtual time, Poisson arrivals from clients with real gates, no network: enough to
//! close the loop around a controller.

use crate::client::{Action, Call, Client, ClientConfig, Expiry, Gate, Reply};
use crate::server::{Admission, Arrival, Completion, Outcome, Reached, Shard, Verdict};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Class, Instant, Nanos, RequestId, Rng, SessionId, Silent};

/// Mean of the exponential service times: a capacity of one request per 10 µs.
const SERVICE_NS: f64 = 10_000.0;

/// What came of the requests that started, or were given up, after the first half of a phase.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) offered: u32,
    pub(crate) dropped_by_clients: u32,
    pub(crate) shed: u32,
    pub(crate) served: u32,
    pub(crate) waited: Duration,
    pub(crate) waited_max: Duration,
    /// Served with a wait of at most 160 µs.
    pub(crate) in_time: u32,
}

impl Tally {
    pub(crate) fn mean_wait_us(&self) -> f64 {
        self.waited.as_secs_f64() * 1e6 / f64::from(self.served.max(1))
    }

    pub(crate) fn refused(&self) -> u32 {
        self.dropped_by_clients + self.shed
    }
}

pub(crate) struct Testbed {
    shard: Box<dyn Shard>,
    clients: Vec<Client>,
    rng: Rng,
    now: Instant,
    queue: VecDeque<Waiting>,
    running: Option<(Instant, Waiting, Completion)>,
    next_id: u64,
    tally: Tally,
    counts_from: Instant,
}

#[derive(Clone, Copy)]
struct Waiting {
    client: usize,
    since: Instant,
}

impl Testbed {
    pub(crate) fn new(admission: Arc<dyn Admission>, gates: Vec<Box<dyn Gate>>, seed: u64) -> Self {
        let config = ClientConfig {
            queue_max: 4,
            expiry: Expiry::Never,
            announce_demand: false,
            deregister_after: None,
        };
        let mut shard = admission.shard(0);
        let now = Instant::from_nanos(1_000_000);
        let mut clients = Vec::new();
        for (index, gate) in (0..).zip(gates) {
            shard.on_open(now, SessionId(index), &mut Silent);
            let mut client = Client::new(config, gate);
            client.on_connected(now);
            clients.push(client);
        }
        Self {
            shard,
            clients,
            rng: Rng::from_seed(seed),
            now,
            queue: VecDeque::new(),
            running: None,
            next_id: 0,
            tally: Tally::default(),
            counts_from: now,
        }
    }

    /// Offers `load` times the capacity for `time`; the first half of it is warm-up.
    pub(crate) fn run(&mut self, load: f64, time: Duration) -> Tally {
        let end = self.now + time;
        self.tally = Tally::default();
        self.counts_from = self.now + time / 2;
        let mut arrival = self.now + self.exponential(SERVICE_NS / load);
        let mut tick = self.now;
        while self.now < end {
            let done = self.running.as_ref().map_or(Instant::FAR_FUTURE, |running| running.0);
            self.now = arrival.min(tick).min(done);
            if self.now == done {
                self.finish();
            } else if self.now == arrival {
                self.submit();
                arrival = self.now + self.exponential(SERVICE_NS / load);
            } else {
                let delay = self.delay();
                self.shard.on_tick(self.now, delay, &mut Silent);
                tick = self.now + Duration::from_micros(5);
            }
            self.start();
        }
        self.tally
    }

    fn exponential(&mut self, mean_ns: f64) -> Duration {
        Duration::from_nanos(self.rng.exponential(mean_ns) as u64)
    }

    /// The age of the oldest that waits.
    fn delay(&self) -> Duration {
        self.queue.front().map_or(Duration::ZERO, |waiting| self.now.since(waiting.since))
    }

    fn counts(&self) -> u32 {
        u32::from(self.now >= self.counts_from)
    }

    fn submit(&mut self) {
        let index = self.rng.below(u32::try_from(self.clients.len()).unwrap()) as usize;
        self.next_id += 1;
        self.tally.offered += self.counts();
        let call = Call { id: RequestId(self.next_id), deadline: None, priority: 128 };
        self.clients[index].submit(self.now, call);
        match self.clients[index].poll(self.now) {
            Some(Action::Send(dispatch)) => self.arrive(index, dispatch.priority),
            Some(Action::Drop(..)) => self.tally.dropped_by_clients += self.counts(),
            other => panic!("a gate that is open or shut was expected, {other:?} found"),
        }
    }

    fn arrive(&mut self, client: usize, priority: u8) {
        let arrival = Arrival { priority, ..Arrival::default() };
        let (id, delay) = (session(client), self.delay());
        let waiting = Waiting { client, since: self.now };
        match self.shard.on_request(self.now, id, &arrival, delay, &mut Silent) {
            Verdict::Admit => self.queue.push_back(waiting),
            Verdict::Shed(reason) | Verdict::Close(reason) => {
                self.answer(waiting, Outcome::Shed(reason), Duration::ZERO);
            }
        }
    }

    fn start(&mut self) {
        while self.running.is_none()
            && let Some(next) = self.queue.pop_front()
        {
            let waited = self.now.since(next.since);
            match self.shard.on_start(self.now, session(next.client), waited, None, &mut Silent) {
                Verdict::Admit => {
                    let service = self.exponential(SERVICE_NS);
                    let (outcome, reached) = (Outcome::Served, Reached::Start);
                    let done =
                        Completion { outcome, reached, waited, service, class: Class::default() };
                    self.running = Some((self.now + service, next, done));
                }
                Verdict::Shed(reason) | Verdict::Close(reason) => {
                    self.answer(next, Outcome::Shed(reason), waited);
                }
            }
        }
    }

    fn finish(&mut self) {
        if let Some((_, request, done)) = self.running.take() {
            self.answer(request, done.outcome, done.waited);
        }
    }

    fn answer(&mut self, request: Waiting, outcome: Outcome, waited: Duration) {
        let counts = self.counts();
        let tally = &mut self.tally;
        if outcome == Outcome::Served {
            tally.served += counts;
            tally.waited += waited * counts;
            tally.waited_max = tally.waited_max.max(waited * counts);
            tally.in_time += counts * u32::from(waited.nanos() <= 160_000);
        } else {
            tally.shed += counts;
        }
        let reached = Reached::Start;
        let done = Completion {
            outcome,
            reached,
            waited,
            service: Duration::ZERO,
            class: Class::default(),
        };
        let offer = self.shard.on_done(self.now, session(request.client), &done);
        let elapsed = self.now.since(request.since);
        let stamp = self.now.stamp();
        let reply = Reply { outcome, offer, stamp, elapsed, sojourn: elapsed, waited };
        self.clients[request.client].on_reply(self.now, &reply);
    }
}

fn session(client: usize) -> SessionId {
    SessionId(u32::try_from(client).unwrap())
}
