//! A closed loop for tests: many clients, one server of 10 µs exponential service, virtual time.

use crate::client::{Action, Call, Client, ClientConfig, Expiry, Gate, Reply};
use crate::server::{Offer, Outcome};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;
use tailwater_core::{Instant, Nanos, RequestId, Rng, Stamp};

/// Mean service time: the server's capacity is 100,000 requests per second.
const SERVICE_NS: f64 = 10_000.0;
/// Each way.
const NETWORK: Duration = Duration::from_micros(5);

/// What clients saw in a stretch of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// From sending to receiving, in microseconds.
    pub(crate) response_us: Vec<f64>,
    /// Calls that were given up at the client.
    pub(crate) dropped: usize,
    /// Calls that were made.
    pub(crate) called: usize,
}

impl Seen {
    pub(crate) fn percentile_us(&mut self, q: f64) -> f64 {
        self.response_us.sort_by(f64::total_cmp);
        let last = self.response_us.len().checked_sub(1).expect("no response at all");
        self.response_us[(last as f64 * q) as usize]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival(usize),
    Wake(usize),
    AtServer(usize, Instant),
    Served,
    AtClient(usize, Instant, Instant),
}

/// The loop. Calls arrive as a Poisson stream over all clients.
pub(crate) struct Loop {
    clients: Vec<Client>,
    rng: Rng,
    now: Instant,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    count: u64,
    /// Whose request, when sent, when arrived.
    server: VecDeque<(usize, Instant, Instant)>,
    gap_ns: f64,
    seen: Seen,
}

impl Loop {
    pub(crate) fn new(clients: usize, gate: impl Fn(u64) -> Box<dyn Gate>) -> Self {
        let config = ClientConfig {
            queue_max: 64,
            expiry: Expiry::After(Duration::from_micros(100)),
            announce_demand: false,
            deregister_after: None,
        };
        let client = |index| {
            let mut client = Client::new(config, gate(index as u64));
            client.on_connected(Instant::ZERO);
            client
        };
        Self {
            clients: (0..clients).map(client).collect(),
            rng: Rng::from_seed(11),
            now: Instant::ZERO,
            events: BinaryHeap::new(),
            count: 0,
            server: VecDeque::new(),
            gap_ns: 0.0,
            seen: Seen::default(),
        }
    }

    /// Runs at a demand, in multiples of capacity, and says what was seen meanwhile.
    pub(crate) fn run(&mut self, demand: f64, length: Duration) -> Seen {
        let end = self.now + length;
        if self.gap_ns == 0.0 {
            self.at(self.now, Event::Arrival(0));
        }
        self.gap_ns = SERVICE_NS / demand;
        self.seen = Seen::default();
        while let Some(&Reverse((at, _, event))) = self.events.peek()
            && at < end
        {
            self.events.pop();
            self.now = at;
            self.on_event(event);
        }
        std::mem::take(&mut self.seen)
    }

    /// Nothing is served for this long, as in a pause of the machine.
    pub(crate) fn stall(&mut self, length: Duration) {
        let resumed = self.now + length;
        for Reverse((at, _, event)) in std::mem::take(&mut self.events).into_vec() {
            let at = if event == Event::Served { at.max(resumed) } else { at };
            self.at(at, event);
        }
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Arrival(client) => {
                let gap = self.rng.exponential(self.gap_ns) as u64 + 1;
                let next = self.rng.below(self.clients.len() as u32) as usize;
                self.at(self.now + Duration::from_nanos(gap), Event::Arrival(next));
                let call = Call { id: RequestId(self.count), deadline: None, priority: 128 };
                self.seen.called += 1;
                self.clients[client].submit(self.now, call);
                self.poll(client);
            }
            Event::Wake(client) => self.poll(client),
            Event::AtServer(client, sent) => {
                self.server.push_back((client, sent, self.now));
                if self.server.len() == 1 {
                    self.serve();
                }
            }
            Event::Served => {
                let (client, sent, arrived) = self.server.pop_front().expect("one was served");
                self.at(self.now + NETWORK, Event::AtClient(client, sent, arrived));
                if !self.server.is_empty() {
                    self.serve();
                }
            }
            Event::AtClient(client, sent, arrived) => {
                let elapsed = self.now.since(sent);
                self.seen.response_us.push(elapsed.nanos() as f64 / 1e3);
                self.clients[client].on_reply(
                    self.now,
                    &Reply {
                        outcome: Outcome::Served,
                        offer: Offer::OPEN,
                        stamp: Stamp(0),
                        elapsed,
                        sojourn: (self.now - NETWORK).since(arrived),
                        waited: Duration::ZERO,
                    },
                );
                self.poll(client);
            }
        }
    }

    fn serve(&mut self) {
        let service = self.rng.exponential(SERVICE_NS) as u64 + 1;
        self.at(self.now + Duration::from_nanos(service), Event::Served);
    }

    fn poll(&mut self, client: usize) {
        while let Some(action) = self.clients[client].poll(self.now) {
            match action {
                Action::Send(_) => self.at(self.now + NETWORK, Event::AtServer(client, self.now)),
                Action::Drop(..) => self.seen.dropped += 1,
                other => panic!("a send or a drop was needed, {other:?} found"),
            }
        }
        if let Some(wake) = self.clients[client].next_deadline() {
            assert!(wake > self.now, "polled at {:?}, yet due at {wake:?}", self.now);
            self.at(wake, Event::Wake(client));
        }
    }
}
