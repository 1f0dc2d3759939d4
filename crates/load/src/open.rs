//! Open loop: requests start when the schedule says, whatever became of those before them.

use crate::application::{Application, Order};
use crate::fleet::{self, Fleet};
use crate::meter::{Reading, Window};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::DropReason;
use tailwater_core::{Instant, Nanos};
use tailwater_rt::client::{End, Event, Fault};
use tailwater_rt::counts::Counts;
use tailwater_rt::time::now;
use tailwater_stats::{Tally, TallySpec};
use tailwater_workload::{Entry, Schedule};

/// What to send and what to look at.
#[derive(Clone)]
pub struct OpenPlan {
    /// All intended requests; the first `warm_up` of them is not counted.
    pub schedule: Schedule,
    /// What is asked for.
    pub application: Arc<dyn Application>,
    /// What requests draw is decided by.
    pub seeds: Seeds,
    /// Deadline of each request, from its intended time, and what goodput counts against.
    pub slo: Duration,
    /// Time before the measured window.
    pub warm_up: Duration,
    /// Length of the measured window.
    pub measure: Duration,
    /// How long unanswered requests are waited for after the last was sent.
    pub drain: Duration,
    /// Width of time series bins, if any.
    pub bin: Option<Duration>,
    /// The server's process, for its CPU time.
    pub server_pid: u32,
}

impl fmt::Debug for OpenPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenPlan").field("measure", &self.measure).finish_non_exhaustive()
    }
}

/// Seeds of requests, the same however many threads share the clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seeds {
    /// Of the run.
    pub run: u64,
    /// The generator's threads; each has every so many'th client.
    pub threads: u32,
    /// Which of them this is, from 0.
    pub thread: u32,
}

impl Seeds {
    fn of(&self, entry: &Entry) -> u64 {
        let client = entry.client * self.threads + self.thread;
        tailwater_workload::request_seed(self.run, client, entry.at)
    }
}

/// What an open-loop run found.
pub struct Findings {
    /// Fates and latencies.
    pub tally: Tally,
    /// When the requests of the window were really handed to their clients, in order.
    pub sent_ns: Vec<u64>,
    /// The machine during the window.
    pub window: Window,
    /// The server's counts during the window; `None` when it did not answer.
    pub counts: Option<Counts>,
    /// Intended requests per second of the window, as the schedule has them.
    pub intended: u64,
    /// Answers that were not what was asked for: a broken server.
    pub wrong_answers: u64,
}

/// A request later than this is not sent any more: the generator has lost its footing, and to
/// catch up would be an incast of its own making.
const SKIP_AFTER: Duration = Duration::from_millis(500);
/// Requests sent in a row before answers are looked at: a backlog must not starve the receiver.
const BURST: usize = 16;
/// Answers to the two questions for counts.
const COUNTS_BEFORE: u64 = u64::MAX;
const COUNTS_AFTER: u64 = u64::MAX - 1;

/// Runs the plan on this thread, which spins throughout. Several threads with a fleet each begin
/// at the same `start`, a moment ahead.
#[must_use]
pub fn run(fleet: &mut Fleet, plan: &OpenPlan, start: Instant) -> Findings {
    let mut record = Record::new(plan, start);
    let mut next = 0;
    let mut meters = Meters::new(plan, start);
    let entries = &plan.schedule.entries;
    while next < entries.len() {
        meters.look(fleet);
        let mut burst = 0;
        while next < entries.len() && burst < BURST {
            let time = now();
            let intended = start + Duration::from_nanos(entries[next].at);
            if intended > time {
                break;
            }
            record.send(fleet, next, intended, time);
            next += 1;
            burst += 1;
        }
        fleet.turn(Duration::ZERO);
        record.take_events(fleet);
    }
    while !meters.is_done() {
        meters.look(fleet);
        fleet.turn(Duration::ZERO);
        record.take_events(fleet);
    }
    let limit = now() + plan.drain;
    while (record.open > 0 || record.awaits_counts()) && now() < limit {
        fleet.turn(Duration::ZERO);
        record.take_events(fleet);
    }
    record.finish(meters.window())
}

/// Readings at both ends of the window.
struct Meters {
    from: Instant,
    to: Instant,
    pid: u32,
    before: Option<Reading>,
    after: Option<Reading>,
}

impl Meters {
    fn new(plan: &OpenPlan, start: Instant) -> Self {
        let from = start + plan.warm_up;
        Self { from, to: from + plan.measure, pid: plan.server_pid, before: None, after: None }
    }

    fn look(&mut self, fleet: &mut Fleet) {
        let time = now();
        if self.before.is_none() && time >= self.from {
            fleet.ask_for_counts(time, COUNTS_BEFORE);
            self.before = Some(Reading::take(time, self.pid));
        }
        if self.after.is_none() && time >= self.to {
            fleet.ask_for_counts(time, COUNTS_AFTER);
            self.after = Some(Reading::take(time, self.pid));
        }
    }

    const fn is_done(&self) -> bool {
        self.after.is_some()
    }

    fn window(&self) -> Window {
        let (before, after) =
            self.before.zip(self.after).expect("both ends of the window were passed");
        after.since(&before)
    }
}

/// Everything that is noted while running. Tokens are indices of the schedule.
struct Record<'a> {
    plan: &'a OpenPlan,
    start: Instant,
    from_ns: u64,
    to_ns: u64,
    tally: Tally,
    /// Requests that have not ended, by index: exactly one fate each.
    ended: Vec<bool>,
    open: usize,
    sent_ns: Vec<u64>,
    intended: u64,
    wrong_answers: u64,
    before: Option<Counts>,
    after: Option<Counts>,
}

impl<'a> Record<'a> {
    fn new(plan: &'a OpenPlan, start: Instant) -> Self {
        let from = start + plan.warm_up;
        let spec = TallySpec { slo: plan.slo, from, to: from + plan.measure, bin: plan.bin };
        let from_ns = plan.warm_up.nanos();
        Self {
            plan,
            start,
            from_ns,
            to_ns: from_ns + plan.measure.nanos(),
            tally: Tally::new(spec),
            ended: vec![false; plan.schedule.entries.len()],
            open: 0,
            sent_ns: Vec::new(),
            intended: 0,
            wrong_answers: 0,
            before: None,
            after: None,
        }
    }

    fn send(&mut self, fleet: &mut Fleet, index: usize, intended: Instant, time: Instant) {
        let entry = self.plan.schedule.entries[index];
        let lateness = time.since(intended);
        self.tally.late_by(intended, lateness);
        let order = self.order(index);
        self.tally.asked(intended, self.plan.application.class_of(&order));
        let counted = (self.from_ns..self.to_ns).contains(&entry.at);
        self.intended += u64::from(counted);
        if lateness > SKIP_AFTER {
            self.ended[index] = true;
            self.tally.unsent(intended);
            return;
        }
        if counted {
            self.sent_ns.push(time.nanos_since(self.start));
        }
        self.open += 1;
        let ask = self.plan.application.ask(&order);
        let call = fleet::call(ask, Some(intended + self.plan.slo));
        fleet.submit(entry.client as usize, time, index as u64, call);
    }

    fn order(&self, index: usize) -> Order {
        let entry = self.plan.schedule.entries[index];
        #[expect(clippy::cast_possible_truncation, reason = "a tag is any 32 bits")]
        let tag = index as u32;
        let service = Duration::from_nanos(u64::from(entry.service_ns));
        Order { seed: self.plan.seeds.of(&entry), service, tag }
    }

    fn take_events(&mut self, fleet: &mut Fleet) {
        while let Some((_, event)) = fleet.poll_event() {
            match event.token {
                COUNTS_BEFORE => self.before = counts(&event.end),
                COUNTS_AFTER => self.after = counts(&event.end),
                _ => self.on_event(&event),
            }
        }
    }

    fn awaits_counts(&self) -> bool {
        self.before.is_none() || self.after.is_none()
    }

    fn on_event(&mut self, event: &Event) {
        let (index, intended) = self.end(event.token);
        let latency = event.at.since(intended);
        match &event.end {
            End::Response { status, payload, .. } => {
                #[expect(clippy::cast_possible_truncation, reason = "as when it was sent")]
                let right = self.plan.application.is_answer(*status, payload, index as u32);
                self.wrong_answers += u64::from(!right);
                self.tally.served(intended, latency);
                let class = self.plan.application.class_of(&self.order(index));
                self.tally.answered(intended, class, latency);
            }
            End::Rejected { reason, reply } => {
                let name = reason.map_or("unknown", tailwater_control::Reason::name);
                self.tally.shed(intended, reply.elapsed, name);
            }
            End::Unsent(DropReason::Disconnected) => self.tally.lost(intended),
            End::Unsent(_) => self.tally.expired(intended),
            End::Fault { fault, .. } => {
                // The server's own limit is part of what it does under load; the rest is out of order.
                self.wrong_answers += u64::from(*fault != Fault::HandlerTimeout);
                self.tally.lost(intended);
            }
            End::NotTaken | End::Lost | End::TooLong { .. } => self.tally.lost(intended),
        }
    }

    fn end(&mut self, token: u64) -> (usize, Instant) {
        let index = usize::try_from(token).expect("tokens are indices");
        assert!(!std::mem::replace(&mut self.ended[index], true), "request {index} ended twice");
        self.open -= 1;
        let intended = self.start + Duration::from_nanos(self.plan.schedule.entries[index].at);
        (index, intended)
    }

    /// What has not ended by now is lost.
    fn finish(mut self, window: Window) -> Findings {
        for index in 0..self.ended.len() {
            if !self.ended[index] {
                let at_ns = self.plan.schedule.entries[index].at;
                self.tally.lost(self.start + Duration::from_nanos(at_ns));
            }
        }
        let counts = self.after.zip(self.before).map(|(after, before)| after.since(&before));
        Findings {
            tally: self.tally,
            sent_ns: self.sent_ns,
            window,
            counts,
            intended: self.intended,
            wrong_answers: self.wrong_answers,
        }
    }
}

/// What the server counts; `None` when it did not say.
fn counts(end: &End) -> Option<Counts> {
    match end {
        End::Response { payload, .. } => Counts::parse(payload).ok(),
        _ => None,
    }
}
