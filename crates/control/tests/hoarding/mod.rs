//! One core, honest clients, and others that claim what they do not want and fall silent.
//!
//! The real controller at both ends, Poisson arrivals, a constant service, a network of constant delay
//! and no cost of messages: what is under test is what honest clients are left with.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{
    Action, Arrival, Call, Client, Completion, Dispatch, Offer, Outcome, Reached, Reply, Shard,
    Verdict, Wish,
};
use tailwater_core::{Class, Instant, RequestId, Rng, SessionId, Silent, Stamp};

/// Half a round trip.
const WAY: Duration = Duration::from_micros(25);
const SERVICE: Duration = Duration::from_micros(200);
/// What the core does in a second.
pub(crate) const CAPACITY_RPS: f64 = 5_000.0;
const SLO: Duration = Duration::from_millis(2);
const TICK: Duration = Duration::from_micros(50);
const HONEST: usize = 10;
/// The hoarders begin one after another, and have so long for themselves.
const BEFORE: Duration = Duration::from_millis(200);

/// What each of the others does, once, before the honest clients begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hoarders {
    pub(crate) count: usize,
    /// Requests that each sends as fast as its window lets it, before it falls silent.
    pub(crate) requests: u32,
    /// What all of these claim.
    pub(crate) demand: u32,
}

/// So many honest requests a second for so long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phase {
    pub(crate) rps: f64,
    pub(crate) length: Duration,
}

/// What became of honest calls in each window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Window {
    pub(crate) asked: u32,
    /// Within the objective.
    pub(crate) in_time: u32,
}

enum Event {
    Intended,
    Up(usize, Dispatch),
    Served,
    Reply(usize, Reply),
    Credit(usize, Offer, Stamp),
    Due(usize),
    Begin(usize),
    Tick,
}

#[derive(Clone, Copy)]
struct Work {
    who: usize,
    id: RequestId,
    came: Instant,
    started: Instant,
}

/// A client that follows no will of its own but claims as it is told.
struct Liar {
    window: u32,
    seq: u32,
    outstanding: u32,
    left: u32,
}

pub(crate) struct Model {
    now: Instant,
    calendar: BTreeMap<(Instant, u64), Event>,
    made: u64,
    rng: Rng,
    phase: (f64, Instant),
    controller: Controller,
    shard: Box<dyn Shard>,
    honest: Vec<Client>,
    liars: Vec<Liar>,
    claim: u32,
    intended: BTreeMap<u64, Instant>,
    sent: BTreeMap<(usize, u64), Instant>,
    queue: VecDeque<Work>,
    running: Option<Work>,
    every: Duration,
    windows: Vec<Window>,
    /// Credit messages that the server sent.
    pub(crate) messages: u32,
}

/// First the hoarders; then come the phases, of which the windows are counted.
pub(crate) fn run(spec: &Spec, hoarders: Hoarders, phases: &[Phase], every: Duration) -> Model {
    let mut model = Model::new(spec, hoarders, every);
    model.until(Instant::ZERO + BEFORE);
    for phase in phases {
        model.phase = (phase.rps, model.now);
        let at = model.next_intended();
        model.at(at, Event::Intended);
        model.until(model.now + phase.length);
        model.calendar.retain(|_, event| !matches!(event, Event::Intended));
    }
    model
}

impl Model {
    fn new(spec: &Spec, hoarders: Hoarders, every: Duration) -> Self {
        let controller = spec.build(&Site::one_loop(SLO, 1)).expect("a sound spec");
        let shard = controller.admission.clone().shard(0);
        let mut model = Self {
            now: Instant::ZERO,
            calendar: BTreeMap::new(),
            made: 0,
            rng: Rng::from_seed(11),
            phase: (0.0, Instant::ZERO),
            shard,
            honest: (0..HONEST as u64).map(|index| controller.client(index)).collect(),
            liars: Vec::new(),
            claim: hoarders.demand,
            intended: BTreeMap::new(),
            sent: BTreeMap::new(),
            queue: VecDeque::new(),
            running: None,
            every,
            windows: Vec::new(),
            messages: 0,
            controller,
        };
        for who in 0..HONEST + hoarders.count {
            let offer = model.shard.on_open(model.now, session(who), &mut Silent);
            model.shard.on_sent(model.now, session(who));
            match model.honest.get_mut(who) {
                Some(client) => {
                    client.on_connected(model.now);
                    client.on_credit(model.now, offer, model.now.stamp());
                }
                None => {
                    let Offer { window, seq, .. } = offer;
                    let left = hoarders.requests;
                    model.liars.push(Liar { window, seq, outstanding: 0, left });
                    let liar = who - HONEST;
                    let begins = BEFORE.mul_f64(0.9 * liar as f64 / hoarders.count as f64);
                    model.at(Instant::ZERO + begins, Event::Begin(liar));
                }
            }
        }
        model.at(Instant::ZERO, Event::Tick);
        model
    }

    /// Honest calls by window, since the first phase began.
    pub(crate) fn windows(&self) -> &[Window] {
        &self.windows[..self.windows.len() - 1]
    }

    /// Credits out.
    pub(crate) fn issued(&self) -> u32 {
        self.controller.admission.gauges().issued
    }

    /// Credits that there are, those of idle sessions left out.
    pub(crate) fn pool(&self) -> u32 {
        self.controller.admission.gauges().pool
    }

    fn at(&mut self, when: Instant, event: Event) {
        self.made += 1;
        self.calendar.insert((when, self.made), event);
    }

    fn next_intended(&mut self) -> Instant {
        let gap = self.rng.exponential(1e9 / self.phase.0);
        self.now + Duration::from_nanos(gap as u64)
    }

    fn until(&mut self, end: Instant) {
        while let Some((&(at, number), _)) = self.calendar.first_key_value() {
            if at > end {
                break;
            }
            let event = self.calendar.remove(&(at, number)).expect("it was the first");
            self.now = at;
            self.on_event(event);
        }
        self.now = end;
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Intended => self.intend(),
            Event::Up(who, dispatch) => self.arrive(who, &dispatch),
            Event::Served => self.served(),
            Event::Reply(who, reply) => self.hear(who, &reply),
            Event::Credit(who, offer, stamp) => self.credit(who, offer, stamp),
            Event::Due(who) => self.drive(who),
            Event::Begin(liar) => self.lie(liar),
            Event::Tick => self.tick(),
        }
    }

    /// A call of a random honest client.
    fn intend(&mut self) {
        self.made += 1;
        let id = RequestId(self.made);
        let who = self.rng.below(HONEST as u32) as usize;
        self.intended.insert(id.0, self.now);
        self.window(self.now).asked += 1;
        let deadline = Some(self.now + SLO);
        self.honest[who].submit(self.now, Call { id, deadline, priority: 128 });
        self.drive(who);
        let next = self.next_intended();
        self.at(next, Event::Intended);
    }

    /// The window of calls that were intended then.
    fn window(&mut self, intended: Instant) -> &mut Window {
        let began = Instant::ZERO + BEFORE;
        let index = (intended.nanos_since(began) as u128 / self.every.as_nanos()) as usize;
        if self.windows.len() <= index {
            self.windows.resize(index + 1, Window::default());
        }
        &mut self.windows[index]
    }

    fn drive(&mut self, who: usize) {
        while let Some(action) = self.honest[who].poll(self.now) {
            match action {
                Action::Send(dispatch) => {
                    self.sent.insert((who, dispatch.id.0), self.now);
                    self.at(self.now + WAY, Event::Up(who, dispatch));
                }
                Action::Drop(..) => {}
                other => panic!("no {other:?} was asked for"),
            }
        }
        if let Some(due) = self.honest[who].next_deadline() {
            self.at(due, Event::Due(who));
        }
    }

    /// The liar sends what its window lets it, for as long as it has a mind to.
    fn lie(&mut self, liar: usize) {
        loop {
            let first = self.liars[liar].seq == 0 && self.liars[liar].outstanding == 0;
            let Liar { window, outstanding, left, .. } = self.liars[liar];
            if left == 0 || outstanding >= window {
                return;
            }
            self.liars[liar].left -= 1;
            self.liars[liar].outstanding += 1;
            self.made += 1;
            let dispatch = Dispatch {
                id: RequestId(self.made),
                demand: self.claim,
                acked: self.liars[liar].seq,
                register: first,
                echo: None,
                budget: None,
                priority: 128,
            };
            self.at(self.now + WAY, Event::Up(HONEST + liar, dispatch));
        }
    }

    fn arrive(&mut self, who: usize, dispatch: &Dispatch) {
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
        let verdict = self.shard.on_request(self.now, session(who), &arrival, delay, &mut Silent);
        let work = Work { who, id: dispatch.id, came: self.now, started: self.now };
        match verdict {
            Verdict::Admit => self.queue.push_back(work),
            Verdict::Shed(reason) => self.answer(work, Outcome::Shed(reason), Reached::Arrival),
            Verdict::Close(reason) => panic!("everybody keeps to his window, but {reason:?}"),
        }
        self.start();
    }

    fn delay(&self) -> Duration {
        self.queue.front().map_or(Duration::ZERO, |work| self.now.since(work.came))
    }

    fn start(&mut self) {
        while self.running.is_none() {
            let Some(work) = self.queue.pop_front() else { return };
            let waited = self.now.since(work.came);
            match self.shard.on_start(self.now, session(work.who), waited, None, &mut Silent) {
                Verdict::Admit => {
                    self.running = Some(Work { started: self.now, ..work });
                    self.at(self.now + SERVICE, Event::Served);
                }
                Verdict::Shed(reason) | Verdict::Close(reason) => {
                    self.answer(work, Outcome::Shed(reason), Reached::Start);
                }
            }
        }
    }

    fn served(&mut self) {
        let work = self.running.take().expect("the core was busy");
        self.answer(work, Outcome::Served, Reached::Start);
        self.start();
    }

    fn answer(&mut self, work: Work, outcome: Outcome, reached: Reached) {
        let (waited, service) = (work.started.since(work.came), self.now.since(work.started));
        let done = Completion { outcome, reached, waited, service, class: Class::default() };
        let offer = self.shard.on_done(self.now, session(work.who), &done);
        self.shard.on_sent(self.now, session(work.who));
        let sent = self.sent.remove(&(work.who, work.id.0)).unwrap_or(self.now);
        let heard = self.now + WAY;
        let reply = Reply {
            outcome,
            offer,
            stamp: self.now.stamp(),
            elapsed: heard.since(sent),
            sojourn: self.now.since(work.came),
            waited,
        };
        if let Some(intended) = self.intended.remove(&work.id.0)
            && outcome == Outcome::Served
            && heard.since(intended) <= SLO
        {
            self.window(intended).in_time += 1;
        }
        self.at(heard, Event::Reply(work.who, reply));
    }

    fn hear(&mut self, who: usize, reply: &Reply) {
        if who < HONEST {
            self.honest[who].on_reply(self.now, reply);
            return self.drive(who);
        }
        let liar = &mut self.liars[who - HONEST];
        liar.outstanding -= 1;
        (liar.window, liar.seq) = (reply.offer.window, reply.offer.seq);
        self.lie(who - HONEST);
    }

    fn credit(&mut self, who: usize, offer: Offer, stamp: Stamp) {
        if who < HONEST {
            self.honest[who].on_credit(self.now, offer, stamp);
            return self.drive(who);
        }
        let liar = &mut self.liars[who - HONEST];
        (liar.window, liar.seq) = (offer.window, offer.seq);
        self.lie(who - HONEST);
    }

    fn tick(&mut self) {
        let delay = self.delay();
        self.shard.on_tick(self.now, delay, &mut Silent);
        while let Some(Wish::Credit(id, offer)) = self.shard.poll_wish(self.now, &mut Silent) {
            self.messages += 1;
            self.shard.on_sent(self.now, id);
            self.at(self.now + WAY, Event::Credit(id.index(), offer, self.now.stamp()));
        }
        self.at(self.now + TICK, Event::Tick);
    }
}

fn session(who: usize) -> SessionId {
    SessionId(u32::try_from(who).expect("few clients"))
}
