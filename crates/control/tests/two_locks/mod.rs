//! Protego's Fig. 1 in small: a server whose requests take one of two locks, one of them contended.
//!
//! The real controller at both ends, Poisson arrivals, a network of constant delay, one core that each message costs;
//! two locks with a queue each. A lock is refused on entry when its oldest waiter has waited for longer than the
//! request may (ASQM, §3.2). Nothing else: what is under test is the law.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{
    Action, Arrival, Call, Client, Completion, Dispatch, Offer, Outcome, Reached, Reason, Reply,
    Shard, Verdict, Wish,
};
use tailwater_core::{Class, Instant, RequestId, Rng, SessionId, Silent, Stamp};

/// Half a round trip.
const WAY: Duration = Duration::from_micros(5);
/// What a request costs the core, whatever becomes of it: a million requests a second.
const MESSAGE: Duration = Duration::from_micros(1);
/// How long a lock is held, on average: each serves 100,000 requests a second.
const HOLD_NS: f64 = 10_000.0;
/// The share of requests that take the uncontended lock.
const RARE: f64 = 0.2;
const SLO: Duration = Duration::from_micros(200);
/// What ASQM leaves for waiting, of the SLO (§5.1).
const BUDGET: Duration = Duration::from_micros(134);
const CLIENTS: usize = 200;
const TICK: Duration = Duration::from_micros(5);

/// The last half of a run, in shares of what came to the server or in requests a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Outcomes {
    pub(crate) served_rps: f64,
    pub(crate) drop_share: f64,
    pub(crate) pool: f64,
}

enum Event {
    /// A client is called.
    Intended,
    Up(usize, Dispatch),
    /// The core has finished with its request.
    Parsed,
    /// The holder of this lock lets go.
    Released(usize),
    Reply(usize, Reply, Instant),
    Credit(usize, Offer, Stamp),
    Tick,
}

/// A request at the server.
#[derive(Clone, Copy)]
struct Work {
    client: usize,
    sent: Instant,
    came: Instant,
    started: Instant,
    queued: Instant,
}

struct Model {
    now: Instant,
    calendar: BTreeMap<(Instant, u64), Event>,
    made: u64,
    rng: Rng,
    gap_ns: f64,
    controller: Controller,
    shard: Box<dyn Shard>,
    clients: Vec<Client>,
    sent: BTreeMap<u64, Instant>,
    run_queue: VecDeque<Work>,
    locks: [VecDeque<Work>; 2],
    incoming: u64,
    served: u64,
    dropped: u64,
}

/// `offered_rps` for so long under this controller.
pub(crate) fn run(spec: &Spec, offered_rps: f64, length: Duration) -> Outcomes {
    let controller = spec.build(&Site::one_loop(SLO, 1)).expect("a sound spec");
    let mut model = Model::new(controller, offered_rps);
    let (half, end) = (Instant::ZERO + length / 2, Instant::ZERO + length);
    model.until(half);
    let before = [model.incoming, model.served, model.dropped];
    let (mut pools, steps) = (0.0, 50);
    for step in 1..=steps {
        model.until(half + end.since(half) * step / steps);
        pools += f64::from(model.controller.admission.gauges().pool);
    }
    let incoming = (model.incoming - before[0]) as f64;
    Outcomes {
        served_rps: (model.served - before[1]) as f64 / (length / 2).as_secs_f64(),
        drop_share: (model.dropped - before[2]) as f64 / incoming,
        pool: pools / f64::from(steps),
    }
}

impl Model {
    fn new(controller: Controller, offered_rps: f64) -> Self {
        let mut shard = controller.admission.clone().shard(0);
        let mut clients: Vec<Client> =
            (0..CLIENTS as u64).map(|index| controller.client(index)).collect();
        for (index, client) in clients.iter_mut().enumerate() {
            let offer = shard.on_open(Instant::ZERO, session(index), &mut Silent);
            shard.on_sent(Instant::ZERO, session(index));
            client.on_connected(Instant::ZERO);
            client.on_credit(Instant::ZERO, offer, Instant::ZERO.stamp());
        }
        let mut model = Self {
            now: Instant::ZERO,
            calendar: BTreeMap::new(),
            made: 0,
            rng: Rng::from_seed(3),
            gap_ns: 1e9 / offered_rps,
            controller,
            shard,
            clients,
            sent: BTreeMap::new(),
            run_queue: VecDeque::new(),
            locks: [VecDeque::new(), VecDeque::new()],
            incoming: 0,
            served: 0,
            dropped: 0,
        };
        model.at(TICK, Event::Tick);
        model.at(TICK, Event::Intended);
        model
    }

    fn at(&mut self, after: Duration, event: Event) {
        self.made += 1;
        self.calendar.insert((self.now + after, self.made), event);
    }

    fn until(&mut self, end: Instant) {
        while let Some(next) = self.calendar.first_entry() {
            if next.key().0 > end {
                return;
            }
            let ((now, _), event) = next.remove_entry();
            self.now = now;
            self.handle(event);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Intended => self.submit(),
            Event::Up(client, dispatch) => self.arrive(client, &dispatch),
            Event::Parsed => self.parsed(),
            Event::Released(lock) => self.released(lock),
            Event::Reply(client, mut reply, sent) => {
                reply.elapsed = self.now.since(sent);
                self.clients[client].on_reply(self.now, &reply);
                self.poll(client);
            }
            Event::Credit(client, offer, stamp) => {
                self.clients[client].on_credit(self.now, offer, stamp);
                self.poll(client);
            }
            Event::Tick => self.tick(),
        }
    }

    fn submit(&mut self) {
        let client = self.rng.below(CLIENTS as u32) as usize;
        let call = Call { id: RequestId(self.made), deadline: Some(self.now + SLO), priority: 128 };
        self.clients[client].submit(self.now, call);
        self.poll(client);
        let gap = self.rng.exponential(self.gap_ns);
        self.at(Duration::from_nanos(gap as u64), Event::Intended);
    }

    fn poll(&mut self, client: usize) {
        while let Some(action) = self.clients[client].poll(self.now) {
            match action {
                Action::Send(dispatch) => {
                    self.sent.insert(dispatch.id.0, self.now);
                    self.at(WAY, Event::Up(client, dispatch));
                }
                Action::Drop(..) | Action::Demand { .. } => {}
                Action::Deregister => unreachable!("nobody is idle for that long"),
            }
        }
    }

    fn arrive(&mut self, client: usize, dispatch: &Dispatch) {
        self.incoming += 1;
        let sent = self.sent.remove(&dispatch.id.0).expect("sent once");
        let arrival = Arrival {
            demand: dispatch.demand,
            acked: dispatch.acked,
            register: dispatch.register,
            priority: dispatch.priority,
            budget: dispatch.budget,
            echo: dispatch.echo,
            hidden: Duration::ZERO,
            class: Class::default(),
        };
        let delay = self.delay();
        let verdict =
            self.shard.on_request(self.now, session(client), &arrival, delay, &mut Silent);
        let now = self.now;
        let work = Work { client, sent, came: now, started: now, queued: now };
        match verdict {
            Verdict::Admit => {
                self.run_queue.push_back(work);
                if self.run_queue.len() == 1 {
                    self.at(MESSAGE, Event::Parsed);
                }
            }
            Verdict::Shed(reason) | Verdict::Close(reason) => {
                self.answer(work, Outcome::Shed(reason), Reached::Arrival);
            }
        }
    }

    fn delay(&self) -> Duration {
        self.run_queue.front().map_or(Duration::ZERO, |oldest| self.now.since(oldest.came))
    }

    fn parsed(&mut self) {
        let mut work = self.run_queue.pop_front().expect("the core was at it");
        if !self.run_queue.is_empty() {
            self.at(MESSAGE, Event::Parsed);
        }
        let waited = self.now.since(work.came);
        let verdict =
            self.shard.on_start(self.now, session(work.client), waited, None, &mut Silent);
        if let Verdict::Shed(reason) | Verdict::Close(reason) = verdict {
            return self.answer(work, Outcome::Shed(reason), Reached::Start);
        }
        (work.started, work.queued) = (self.now, self.now);
        let lock = usize::from(!self.rng.chance(RARE));
        // The holder stands first; the one that waits behind it is asked for its age.
        let oldest = self.locks[lock].get(1).map_or(Duration::ZERO, |w| self.now.since(w.queued));
        if oldest + waited > BUDGET {
            return self.answer(work, Outcome::Shed(Reason::Lock), Reached::Start);
        }
        self.locks[lock].push_back(work);
        if self.locks[lock].len() == 1 {
            self.hold(lock);
        }
    }

    fn hold(&mut self, lock: usize) {
        let hold = self.rng.exponential(HOLD_NS);
        self.at(Duration::from_nanos(hold as u64), Event::Released(lock));
    }

    fn released(&mut self, lock: usize) {
        let work = self.locks[lock].pop_front().expect("somebody held it");
        if !self.locks[lock].is_empty() {
            self.hold(lock);
        }
        self.answer(work, Outcome::Served, Reached::Start);
    }

    fn answer(&mut self, work: Work, outcome: Outcome, reached: Reached) {
        let now = self.now;
        match outcome {
            Outcome::Served => self.served += 1,
            Outcome::Shed(_) => self.dropped += 1,
        }
        let waited = work.started.since(work.came);
        let done = Completion {
            outcome,
            reached,
            waited,
            service: now.since(work.started),
            class: Class::default(),
        };
        let offer = self.shard.on_done(now, session(work.client), &done);
        self.shard.on_sent(now, session(work.client));
        let reply = Reply {
            outcome,
            offer,
            stamp: now.stamp(),
            elapsed: Duration::ZERO,
            sojourn: now.since(work.came),
            waited,
        };
        self.at(WAY, Event::Reply(work.client, reply, work.sent));
    }

    fn tick(&mut self) {
        let delay = self.delay();
        self.shard.on_tick(self.now, delay, &mut Silent);
        while let Some(Wish::Credit(id, offer)) = self.shard.poll_wish(self.now, &mut Silent) {
            self.shard.on_sent(self.now, id);
            self.at(WAY, Event::Credit(id.0 as usize, offer, self.now.stamp()));
        }
        for client in 0..CLIENTS {
            if self.clients[client].next_deadline().is_some_and(|at| at <= self.now) {
                self.poll(client);
            }
        }
        self.at(TICK, Event::Tick);
    }
}

fn session(client: usize) -> SessionId {
    SessionId(u32::try_from(client).expect("few clients"))
}
