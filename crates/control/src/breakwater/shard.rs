//! One loop's half of a Breakwater server: sessions, lazy distribution, AQM, explicit credits.

use super::ahead::Ahead;
use super::config::{Config, Demand, Issued, LastCredit, Signal};
use super::drained::{Drained, Entry};
use super::pool::{Pool, Turn};
use super::session::Session;
use super::waste::Tally;
use crate::server::{Arrival, Completion, Offer, Outcome, Reason, Shard, Verdict, Wish};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Event, Instant, Nanos, Observer, Rng, SessionId};

pub(super) struct BreakwaterShard {
    pool: Arc<Pool>,
    index: usize,
    sessions: Vec<Session>,
    drained: Drained,
    service: TypicalService,
    ahead: Ahead,
    /// What became of requests since this loop last updated the pool.
    tally: Tally,
}

impl BreakwaterShard {
    pub(super) fn new(pool: Arc<Pool>, index: usize, rng: Rng) -> Self {
        let drained = Drained::new(pool.config.explicit, rng);
        Self {
            pool,
            index,
            sessions: Vec::new(),
            drained,
            service: TypicalService::default(),
            ahead: Ahead::default(),
            tally: Tally::default(),
        }
    }

    fn config(&self) -> &Config {
        &self.pool.config
    }

    /// Tells the pool what the session holds now. Every path that changes a window, pending count
    /// or registration ends here, so that Σ held = issued.
    fn recount(&mut self, id: SessionId) {
        let (credits, issued) = (self.config().credits, self.config().issued);
        let session = &mut self.sessions[id.index()];
        let held = match (session.registered && credits, issued) {
            (false, _) => 0,
            (true, Issued::Unused) => session.unused(),
            (true, Issued::Outstanding) => session.window.max(session.pending),
        };
        self.pool.shift_issued(session.held, held);
        session.held = held;
    }

    fn register(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        let session = &mut self.sessions[id.index()];
        if session.registered {
            return;
        }
        session.registered = true;
        // The request that registers is its own permission.
        session.offer(1);
        self.pool.join();
        observer.on_event(now, &Event::Registered(id));
    }

    fn unregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        let session = &mut self.sessions[id.index()];
        if !std::mem::take(&mut session.registered) {
            return;
        }
        session.offer(0);
        session.demand = 0;
        self.recount(id);
        self.pool.leave();
        observer.on_event(now, &Event::Deregistered(id));
    }

    /// Eq. 5 and 6: the unused credits that the session should have, now that one of its requests
    /// is answered.
    fn grant(&self, session: &Session) -> u32 {
        let config = self.config();
        let room = self.pool.room();
        // In the paper's accounting the credit was spent when the request came; in the artifact's
        // it is the session's until the answer leaves, and falls back to it now.
        let unused = match config.issued {
            Issued::Unused => session.window.saturating_sub(session.pending + 1),
            Issued::Outstanding => session.unused(),
        };
        let overcommitment = match config.demand {
            Demand::Speculated => self.pool.overcommitment(),
            Demand::Synchronised => 0,
        };
        let most = session.demand.saturating_add(overcommitment);
        let granted = if room >= 0 {
            most.min(unused.saturating_add(u32::try_from(room).unwrap_or(u32::MAX)))
        } else {
            most.min(unused.saturating_sub(1))
        };
        if granted == 0 && session.pending == 0 && self.keeps_last_credit(session, room) {
            return overcommitment.max(1);
        }
        granted.min(config.window_max)
    }

    fn keeps_last_credit(&self, session: &Session, room: i64) -> bool {
        match self.config().last_credit {
            LastCredit::Revoked => false,
            LastCredit::KeptUnlessShed => !session.shed_since_offer,
            LastCredit::KeptWithin(share) => {
                #[expect(clippy::cast_precision_loss, reason = "pools stay far below 2^52")]
                let excess = -room as f64;
                excess <= share * f64::from(self.pool.total())
            }
        }
    }

    /// Sets the window that `grant` leads to and lists the session if that leaves it stranded.
    fn distribute(&mut self, now: Instant, id: SessionId) {
        let granted = self.grant(&self.sessions[id.index()]);
        let window_max = self.config().window_max;
        let session = &mut self.sessions[id.index()];
        let proper = session.pending - session.refused;
        session.offer(proper.saturating_add(granted).min(window_max));
        session.shed_since_offer = false;
        self.recount(id);
        self.list_if_stranded(now, id);
    }

    fn list_if_stranded(&mut self, now: Instant, id: SessionId) {
        let demand_mode = self.config().demand;
        let session = &mut self.sessions[id.index()];
        let wants = match demand_mode {
            Demand::Speculated => session.window == 0,
            Demand::Synchronised => session.demand > session.unused(),
        };
        if session.registered && session.pending == 0 && wants && !session.listed {
            session.listed = true;
            let generation = session.generation;
            let entry = Entry { session: id, generation, since: now };
            self.drained.push(entry);
        }
    }

    /// The listed session, if the entry still means it and it still needs waking.
    fn stranded(&mut self, entry: Entry) -> Option<&mut Session> {
        let demand_mode = self.config().demand;
        let session = &mut self.sessions[entry.session.index()];
        if session.generation != entry.generation || !session.open {
            return None;
        }
        let wants = match demand_mode {
            Demand::Speculated => session.window == 0,
            Demand::Synchronised => session.demand > session.unused(),
        };
        (session.registered && session.pending == 0 && wants).then_some(session)
    }

    fn is_starving(&mut self, now: Instant) -> bool {
        let Some(limit) = self.config().starvation_limit else {
            return false;
        };
        self.drained.oldest().is_some_and(|entry| now.since(entry.since) >= limit)
    }

    /// Whether an explicit credit may be given now, and to whom.
    fn next_recipient(&mut self, now: Instant) -> Option<Entry> {
        if self.is_starving(now) {
            return self.drained.take_oldest();
        }
        // Who is listed has no message coming that could carry the credit (§3.2.2).
        (self.pool.room() > 0).then(|| self.drained.take()).flatten()
    }

    fn judge(&mut self, id: SessionId, arrival: &Arrival, delay: Duration) -> Verdict {
        let config = *self.config();
        let session = &mut self.sessions[id.index()];
        if config.credits {
            let allowed = session.registered && session.allows(arrival.acked, session.pending);
            if !allowed {
                session.refused += 1;
                return if session.suspect() {
                    Verdict::Close(Reason::NoCredit)
                } else {
                    Verdict::Shed(Reason::NoCredit)
                };
            }
            session.trust();
        }
        let delay = match config.signal {
            Signal::OldestAge => delay,
            Signal::Predicted => self.ahead.wait(),
        };
        if config.drop_threshold.is_some_and(|threshold| delay >= threshold) {
            self.tally.on_shed(true);
            return Verdict::Shed(Reason::Delay);
        }
        let spent = arrival.hidden.max(delay);
        match arrival.budget {
            Some(budget) if self.is_hopeless(budget, spent) => {
                self.tally.on_shed(spent >= config.target_delay);
                Verdict::Shed(Reason::Deadline)
            }
            _ => Verdict::Admit,
        }
    }

    /// A request that was admitted waits no longer.
    fn leave_queue(&mut self, id: SessionId) {
        let session = &mut self.sessions[id.index()];
        if session.waiting > 0 {
            session.waiting -= 1;
            self.ahead.leave(1);
        }
    }

    /// What a request typically still needs, service and the way back, counts only up to half of
    /// the target delay: the estimate is renewed only by serving, so it must never refuse everything.
    fn is_hopeless(&self, budget: Duration, spent: Duration) -> bool {
        let config = self.config();
        let rest = self.service.median() + self.pool.rtt() / 2;
        let needed = rest.min(config.target_delay / 2);
        config.deadline_aware && budget < spent + needed
    }
}

/// The median of the service times, followed in small steps: a stall of the machine in the middle
/// of a handler, a hundred times its length, counts as one long sample and no more.
#[derive(Clone, Copy, Debug, Default)]
struct TypicalService {
    median_ns: u64,
}

impl TypicalService {
    fn learn(&mut self, sample: Duration) {
        let step = (self.median_ns / 32).max(50);
        if sample.nanos() > self.median_ns {
            self.median_ns += step;
        } else {
            self.median_ns = self.median_ns.saturating_sub(step);
        }
    }

    const fn median(self) -> Duration {
        Duration::from_nanos(self.median_ns)
    }
}

impl Shard for BreakwaterShard {
    fn on_open(&mut self, _: Instant, id: SessionId, _: &mut dyn Observer) -> Offer {
        if self.sessions.len() <= id.index() {
            self.sessions.resize_with(id.index() + 1, Session::default);
        }
        self.sessions[id.index()].reopen();
        if self.config().credits { Offer { window: 1, seq: 0, level: 0 } } else { Offer::OPEN }
    }

    fn on_close(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.unregister(now, id, observer);
        let session = &mut self.sessions[id.index()];
        self.ahead.leave(std::mem::take(&mut session.waiting));
        (session.pending, session.refused) = (0, 0);
        session.open = false;
    }

    fn on_deregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.unregister(now, id, observer);
    }

    fn on_demand(&mut self, now: Instant, id: SessionId, demand: u32, acked: u32) {
        let window_max = self.config().window_max;
        let session = &mut self.sessions[id.index()];
        session.demand = demand.min(window_max);
        let pending = session.pending;
        session.allows(acked, pending);
        if self.config().demand == Demand::Synchronised {
            self.list_if_stranded(now, id);
        }
    }

    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        delay: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        if let Some(rtt) = arrival.echo.and_then(|echo| echo.rtt(now)) {
            self.pool.on_rtt(rtt);
        }
        if arrival.register {
            self.register(now, id, observer);
        }
        let window_max = self.config().window_max;
        let revoke = self.config().revoke_on_demand;
        let session = &mut self.sessions[id.index()];
        session.demand = arrival.demand.min(window_max);
        session.pending += 1;
        let verdict = self.judge(id, arrival, delay);
        // Violations are not load that the server let in.
        let lawful = !matches!(verdict, Verdict::Shed(Reason::NoCredit) | Verdict::Close(_));
        if let Some(meter) = self.pool.meter().filter(|_| lawful) {
            meter.on_incoming();
        }
        let session = &mut self.sessions[id.index()];
        if verdict == Verdict::Admit {
            session.waiting += 1;
            self.ahead.join();
        }
        if revoke {
            let needed = session.pending.saturating_add(session.demand);
            if session.window > needed {
                session.offer(needed);
            }
        }
        if let Verdict::Shed(reason) | Verdict::Close(reason) = verdict {
            session.shed_since_offer = true;
            let event = match reason {
                Reason::NoCredit => Event::Violation(id),
                _ => Event::Shed(id, reason.name()),
            };
            observer.on_event(now, &event);
        }
        self.recount(id);
        verdict
    }

    fn on_start(
        &mut self,
        now: Instant,
        id: SessionId,
        waited: Duration,
        budget: Option<Duration>,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.leave_queue(id);
        match budget {
            Some(budget) if self.is_hopeless(budget, Duration::ZERO) => {
                self.tally.on_shed(waited >= self.config().target_delay);
                self.sessions[id.index()].shed_since_offer = true;
                observer.on_event(now, &Event::Shed(id, Reason::Deadline.name()));
                Verdict::Shed(Reason::Deadline)
            }
            _ => Verdict::Admit,
        }
    }

    fn on_done(&mut self, now: Instant, id: SessionId, done: &Completion) -> Offer {
        if done.outcome == Outcome::Served {
            self.service.learn(done.service);
            self.ahead.complete(now);
            self.tally.on_served();
        }
        if let Some(meter) = self.pool.meter() {
            match done.outcome {
                Outcome::Served => meter.on_served(done.waited + done.service),
                Outcome::Shed(Reason::NoCredit) => {}
                Outcome::Shed(_) => meter.on_dropped(),
            }
        }
        if done.outcome == Outcome::Shed(Reason::QueueFull) {
            // The driver had no room for what was admitted: it will never start.
            self.leave_queue(id);
        }
        let violation = done.outcome == Outcome::Shed(Reason::NoCredit);
        self.sessions[id.index()].answered(violation);
        if !self.config().credits {
            return Offer::OPEN;
        }
        if violation {
            // A violation earns nothing; its client keeps what it had, and waits like others if that
            // is nothing.
            self.recount(id);
            self.list_if_stranded(now, id);
        } else if self.sessions[id.index()].registered {
            self.distribute(now, id);
        }
        let session = &self.sessions[id.index()];
        Offer { window: session.window, seq: session.seq, level: 0 }
    }

    fn on_tick(&mut self, now: Instant, delay: Duration, observer: &mut dyn Observer) {
        let delay = match self.config().signal {
            Signal::OldestAge => delay,
            Signal::Predicted => self.ahead.wait(),
        };
        let turn = Turn { delay, pace: self.ahead.gap(), tally: self.tally };
        let Some(resized) = self.pool.tick(now, self.index, turn) else {
            return;
        };
        self.tally = Tally::default();
        if resized.from != resized.to {
            let event =
                Event::PoolResized { from: resized.from, to: resized.to, delay: resized.delay };
            observer.on_event(now, &event);
        }
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        // Someone is stranded: the pool must go on being updated until there is room for him.
        (self.config().credits && !self.drained.is_empty())
            .then(|| now + self.pool.pause(self.ahead.gap()))
    }

    fn poll_wish(&mut self, now: Instant, observer: &mut dyn Observer) -> Option<Wish> {
        if !self.config().credits {
            return None;
        }
        let window_max = self.config().window_max;
        loop {
            let entry = self.next_recipient(now)?;
            let room = u32::try_from(self.pool.room().max(1)).unwrap_or(u32::MAX);
            // From an empty pool only who has nothing gets something: a session with credits on their
            // way would get one more each time that it announces demand.
            let empty = self.pool.room() <= 0;
            let stranded = self.stranded(entry).filter(|it| !empty || it.unused() == 0);
            let Some(session) = stranded else {
                let session = &mut self.sessions[entry.session.index()];
                if session.generation == entry.generation {
                    session.listed = false;
                }
                continue;
            };
            session.listed = false;
            // One credit wakes a client of unknown demand; a known demand is met as far as it goes.
            let wanted = session.demand.saturating_sub(session.unused()).max(1);
            session.offer(session.window.saturating_add(wanted.min(room)).min(window_max));
            let offer = Offer { window: session.window, seq: session.seq, level: 0 };
            self.recount(entry.session);
            observer.on_event(now, &Event::ExplicitCredit(entry.session));
            return Some(Wish::Credit(entry.session, offer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breakwater::Breakwater;
    use crate::server::Admission;
    use tailwater_core::Silent;

    const SLO: Duration = Duration::from_micros(200);
    const ID: SessionId = SessionId(0);

    fn shard() -> Box<dyn Shard> {
        let server = Breakwater::new(Config::tuned(SLO, 1), 1, 1).expect("the settings are sound");
        let mut shard = Arc::new(server).shard(0);
        shard.on_open(Instant::ZERO, ID, &mut Silent);
        shard
    }

    fn ask(shard: &mut dyn Shard, us: u64) -> Verdict {
        let arrival = Arrival { register: true, demand: 9, ..Arrival::default() };
        let now = Instant::from_nanos(1_000 * us);
        shard.on_request(now, ID, &arrival, Duration::ZERO, &mut Silent)
    }

    fn answer(shard: &mut dyn Shard, us: u64, outcome: Outcome) -> Offer {
        let done = Completion { outcome, waited: Duration::ZERO, service: Duration::ZERO };
        shard.on_done(Instant::from_nanos(1_000 * us), ID, &done)
    }

    /// Found by the simulator's random worlds: each overflow of the driver's queue left one more
    /// request waiting in the books, until everything was shed for a delay that was not there.
    #[test]
    fn what_found_no_room_in_the_queue_is_not_waited_for() {
        let mut shard = shard();
        for us in 0..1_000 {
            assert_eq!(ask(&mut *shard, us), Verdict::Admit, "after {us} overflows");
            if us % 10 == 0 {
                shard.on_start(
                    Instant::from_nanos(1_000 * us),
                    ID,
                    Duration::ZERO,
                    None,
                    &mut Silent,
                );
                answer(&mut *shard, us, Outcome::Served);
            } else {
                answer(&mut *shard, us, Outcome::Shed(Reason::QueueFull));
            }
        }
    }

    /// Found by the simulator's random worlds: over a slow link a client that announces its demand
    /// again and again got a credit from an empty pool each time.
    #[test]
    fn from_an_empty_pool_only_who_has_nothing_gets_a_credit() {
        let config = Config { demand: Demand::Synchronised, ..Config::tuned(SLO, 1) };
        let server = Breakwater::new(config, 1, 1).expect("the settings are sound");
        let mut shard = Arc::new(server).shard(0);
        shard.on_open(Instant::ZERO, ID, &mut Silent);
        ask(&mut *shard, 0);
        answer(&mut *shard, 1, Outcome::Served);
        let mut window = 0;
        for round in 1..20 {
            let now = Instant::ZERO + round * Duration::from_millis(200);
            shard.on_demand(now - Duration::from_millis(150), ID, 50, 0);
            while let Some(Wish::Credit(_, offer)) = shard.poll_wish(now, &mut Silent) {
                window = offer.window;
            }
        }
        assert!(window <= 1, "a window of {window} from a pool of one");
    }

    /// Found by the simulator's random worlds: the answer to the one proper request of a flood
    /// offered a window that covered all the violations behind it.
    #[test]
    fn violations_under_way_are_not_covered_by_the_next_window() {
        let mut shard = shard();
        assert_eq!(ask(&mut *shard, 0), Verdict::Admit);
        for _ in 0..20 {
            assert_eq!(ask(&mut *shard, 1), Verdict::Shed(Reason::NoCredit));
        }
        let window = answer(&mut *shard, 2, Outcome::Served).window;
        assert!(window <= 2, "a window of {window} after a flood");
    }

    #[test]
    fn one_stall_does_not_change_what_is_typical() {
        let mut service = TypicalService::default();
        (0..2_000).for_each(|_| service.learn(Duration::from_micros(10)));
        let before = service.median();
        assert!((9_000..=11_000).contains(&before.nanos()), "{before:?}");
        service.learn(Duration::from_millis(8));
        assert!(service.median() < before.mul_f64(1.1), "{:?}", service.median());
    }
}
