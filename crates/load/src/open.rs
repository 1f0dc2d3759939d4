//! Open loop: requests start when the schedule says, whatever became of those before them.

use crate::application::{Application, Order};
use crate::census::{Census, Counted};
use crate::early_end::{EarlyEnd, look_by};
use crate::fleet::{self, Fleet, Retried};
use crate::meter::{Metered, Meters, Subject, Window};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::DropReason;
use tailwater_core::pace::Pace;
use tailwater_core::{Instant, Nanos};
use tailwater_rt::client::{End, Event, Fault};
use tailwater_rt::time::now;
use tailwater_stats::result::ConnectionReading;
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
    /// How this thread waits for the next intended time.
    pub pace: Pace,
    /// Each gap begins when the request before was really sent, and so does latency: what came late moves all that
    /// follows, and does not show. For comparison with generators that do so.
    pub slips: bool,
    /// The server's processes, for their CPU time.
    pub server: Metered,
    /// The tiers' processes, for theirs.
    pub tiers: Vec<Metered>,
    /// What may end it early. The window ends then, too.
    pub cut: Arc<EarlyEnd>,
}

impl OpenPlan {
    /// What of it is metered.
    fn subject(&self) -> Subject<'_> {
        let Self { warm_up, measure, server, tiers, .. } = self;
        Subject { warm_up: *warm_up, measure: *measure, server, tiers }
    }
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
    /// What the server counted in the window, and after it every node that the fleet watches.
    pub counted: Vec<Counted>,
    /// Intended requests per second of the window, as the schedule has them.
    pub intended: u64,
    /// Answers that were not what was asked for: a broken server.
    pub wrong_answers: u64,
    /// How far the schedule had moved at the end, where it slips.
    pub slipped: Duration,
    /// What clients of several replicas did; `None` where there is one.
    pub retried: Option<Retried>,
    /// What the fleet's connections and their requests suffered.
    pub connections: ConnectionReading,
}

/// A request later than this is not sent any more: the generator has lost its footing, and to
/// catch up would be an incast of its own making.
const SKIP_AFTER: Duration = Duration::from_millis(500);
/// Requests sent in a row before answers are looked at: a backlog must not starve the receiver.
const BURST: usize = 16;

/// Runs the plan on this thread, which waits as the plan's pace says. Several threads with a fleet each begin
/// at the same `start`, a moment ahead. `None`: it was cut short before its window began.
#[must_use]
pub fn run(fleet: &mut Fleet, plan: &OpenPlan, start: Instant) -> Option<Findings> {
    let mut record = Record::new(plan, start, fleet);
    let mut meters = Meters::new(plan.subject(), start);
    let from = start + plan.warm_up;
    fleet.count_retries_from(from);
    loop {
        if let Some(end) = plan.cut.at() {
            if end <= from {
                return None;
            }
            record.end_at(end);
            meters.end_at(end);
        }
        if let Some((time, look)) = meters.look() {
            fleet.ask_for_counts(time, look.token());
        }
        record.send_due(fleet);
        record.take_events(fleet);
        let Some(next) = [record.next_due(), meters.next_due()].into_iter().flatten().min() else {
            break;
        };
        fleet.wait(plan.pace, look_by(plan.pace, next));
    }
    let limit = now() + plan.drain;
    while (record.open > 0 || record.census.awaits()) && now() < limit {
        fleet.wait(plan.pace, limit);
        record.take_events(fleet);
    }
    Some(record.finish(meters.window(), fleet.retried(), fleet.connections(start)))
}

/// Everything that is noted while running. Tokens are indices of the schedule.
struct Record<'a> {
    plan: &'a OpenPlan,
    start: Instant,
    from_ns: u64,
    to_ns: u64,
    /// What is due from here on is never sent, nor missed by anyone.
    until_ns: u64,
    tally: Tally,
    /// The request that is sent next.
    next: usize,
    /// Requests that have not ended, by index: exactly one fate each.
    ended: Vec<bool>,
    open: usize,
    sent_ns: Vec<u64>,
    intended: u64,
    wrong_answers: u64,
    /// How far the schedule has moved, and by how much each request was moved; empty where it does not slip.
    slipped: Duration,
    moved: Vec<Duration>,
    census: Census,
    /// Requests that were lost with a connection, and that were given up without one.
    cut_off: u64,
    given_up: u64,
}

impl<'a> Record<'a> {
    fn new(plan: &'a OpenPlan, start: Instant, fleet: &Fleet) -> Self {
        let from = start + plan.warm_up;
        let spec = TallySpec { slo: plan.slo, from, to: from + plan.measure, bin: plan.bin };
        let from_ns = plan.warm_up.nanos();
        let to_ns = from_ns + plan.measure.nanos();
        Self {
            plan,
            start,
            from_ns,
            to_ns,
            // What slips beyond the end.
            until_ns: if plan.slips { to_ns } else { u64::MAX },
            tally: Tally::new(spec),
            next: 0,
            ended: vec![false; plan.schedule.entries.len()],
            open: 0,
            sent_ns: Vec::new(),
            intended: 0,
            wrong_answers: 0,
            slipped: Duration::ZERO,
            moved: Vec::new(),
            census: Census::new(fleet.servers()),
            cut_off: 0,
            given_up: 0,
        }
    }

    /// The window ends here, if it would not have before, and nothing is sent beyond it.
    fn end_at(&mut self, end: Instant) {
        let end_ns = end.nanos_since(self.start);
        self.to_ns = self.to_ns.min(end_ns);
        self.until_ns = self.until_ns.min(end_ns);
    }

    /// The intended time of the next request; nothing after the last.
    fn next_due(&self) -> Option<Instant> {
        let at_ns = self.plan.schedule.entries.get(self.next)?.at + self.slipped.nanos();
        (at_ns < self.until_ns).then(|| self.start + Duration::from_nanos(at_ns))
    }

    /// When a request was to be sent: by the schedule, or where that had moved to.
    fn intended(&self, index: usize) -> Instant {
        let moved = self.moved.get(index).copied().unwrap_or_default();
        self.start + Duration::from_nanos(self.plan.schedule.entries[index].at) + moved
    }

    /// Sends what is due, and no more than a burst of it.
    fn send_due(&mut self, fleet: &mut Fleet) {
        for _ in 0..BURST {
            let time = now();
            let Some(intended) = self.next_due().filter(|intended| *intended <= time) else {
                return;
            };
            let intended = self.slip(intended, time);
            self.send(fleet, self.next, intended, time);
            self.next += 1;
        }
    }

    /// Moves the schedule to where its sender is, where it slips. Lateness is told all the same.
    fn slip(&mut self, intended: Instant, time: Instant) -> Instant {
        self.tally.late_by(intended, time.since(intended));
        if !self.plan.slips {
            return intended;
        }
        self.slipped += time.since(intended);
        self.moved.push(self.slipped);
        time
    }

    fn send(&mut self, fleet: &mut Fleet, index: usize, intended: Instant, time: Instant) {
        let entry = self.plan.schedule.entries[index];
        let lateness = time.since(intended);
        let order = self.order(index);
        self.tally.asked(intended, self.plan.application.class_of(&order));
        let counted = (self.from_ns..self.to_ns).contains(&intended.nanos_since(self.start));
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
        while let Some((channel, event)) = fleet.poll_event() {
            let server = channel.checked_sub(fleet.clients());
            if !self.census.note(server, event.token, &event.end) {
                self.note_connection(&event.end, fleet.stands(channel));
                self.on_event(&event);
            }
        }
    }

    /// Whether it was a lost connection that ended a request.
    fn note_connection(&mut self, end: &End, stands: bool) {
        match end {
            End::Lost | End::NotTaken | End::Unsent(DropReason::Disconnected) => self.cut_off += 1,
            End::Unsent(_) => self.given_up += u64::from(!stands),
            _ => {}
        }
    }

    fn on_event(&mut self, event: &Event) {
        let (index, intended) = self.end(event.token);
        let latency = event.at.since(intended);
        if let End::Rejected { .. } | End::Unsent(_) | End::NotTaken = &event.end {
            self.plan.application.was_refused(&self.order(index));
        }
        match &event.end {
            End::Response { status, payload, .. } => {
                #[expect(clippy::cast_possible_truncation, reason = "as when it was sent")]
                let right = self.plan.application.is_answer(*status, payload, index as u32);
                self.wrong_answers += u64::from(!right);
                if right && self.plan.application.is_partial(payload) {
                    self.tally.served_in_part(intended, latency);
                    return;
                }
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
        (index, self.intended(index))
    }

    /// What was begun and has not ended by now is lost.
    fn finish(
        mut self,
        window: Window,
        retried: Option<Retried>,
        connections: ConnectionReading,
    ) -> Findings {
        for index in 0..self.next {
            if !self.ended[index] {
                self.tally.lost(self.intended(index));
            }
        }
        Findings {
            tally: self.tally,
            sent_ns: self.sent_ns,
            window,
            counted: self.census.finish(),
            intended: self.intended,
            wrong_answers: self.wrong_answers,
            slipped: self.slipped,
            retried,
            connections: ConnectionReading {
                requests_lost: self.cut_off,
                requests_given_up: self.given_up,
                ..connections
            },
        }
    }
}
