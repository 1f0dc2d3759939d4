//! A loop of the server, as the runtime and the simulator drive it, with its answers checked.

use super::ledger::Account;
use super::{Breach, Rules, breach};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tailwater_control::guard::Mode;
use tailwater_control::{
    Admission, Arrival, Offer, Outcome, Reached, Reason, RequestEnd, Shard, Verdict, Wish,
};
use tailwater_core::{Class, Instant, RequestId, SessionId, Silent};

/// What surrounds a call into the controller.
pub(crate) struct Scene<'a> {
    pub(crate) now: Instant,
    pub(crate) rules: &'a Rules,
    pub(crate) mode: Mode,
    pub(crate) admission: &'a dyn Admission,
}

/// A request in the server's hands.
#[derive(Clone, Copy, Debug)]
struct Work {
    session: SessionId,
    id: RequestId,
    arrived: Instant,
    started: Instant,
    time_left: Option<Duration>,
}

/// What leaves the server when a request ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) session: SessionId,
    pub(crate) id: RequestId,
    pub(crate) outcome: Outcome,
    pub(crate) offer: Offer,
    pub(crate) waited: Duration,
    pub(crate) sojourn: Duration,
    pub(crate) goodbye: bool,
}

pub(crate) struct Server {
    shard: Box<dyn Shard>,
    pub(crate) accounts: BTreeMap<SessionId, Account>,
    /// Ids of closed sessions, used again as soon as possible.
    free: Vec<SessionId>,
    opened: u32,
    waiting: VecDeque<Work>,
    running: Vec<Work>,
    delay: Duration,
    pub(super) requests: f64,
    pub(super) shed: f64,
}

impl Server {
    pub(crate) fn new(shard: Box<dyn Shard>) -> Self {
        Self {
            shard,
            accounts: BTreeMap::new(),
            free: Vec::new(),
            opened: 0,
            waiting: VecDeque::new(),
            running: Vec::new(),
            delay: Duration::ZERO,
            requests: 0.0,
            shed: 0.0,
        }
    }

    pub(crate) fn open(&mut self, scene: &Scene<'_>) -> (SessionId, Offer) {
        let session = self.free.pop().unwrap_or_else(|| {
            self.opened += 1;
            SessionId(self.opened - 1)
        });
        self.accounts.insert(session, Account::opened());
        let offer = self.shard.on_open(scene.now, session, &mut Silent);
        self.shard.on_sent(scene.now, session);
        (session, offer)
    }

    /// Requests of a closed connection are forgotten: there is nobody to answer.
    pub(crate) fn close(&mut self, scene: &Scene<'_>, session: SessionId) {
        self.shard.on_close(scene.now, session, &mut Silent);
        self.accounts.remove(&session);
        self.waiting.retain(|work| work.session != session);
        self.running.retain(|work| work.session != session);
        self.free.push(session);
    }

    pub(crate) fn deregister(&mut self, scene: &Scene<'_>, session: SessionId) {
        self.shard.on_deregister(scene.now, session, &mut Silent);
        self.account(session).unregister();
    }

    pub(crate) fn demand(&mut self, scene: &Scene<'_>, session: SessionId, demand: u32, ack: u32) {
        self.shard.on_demand(scene.now, session, demand, ack);
        self.account(session).acknowledge(ack);
    }

    /// A request arrives; an answer only if it goes no further.
    pub(crate) fn request(
        &mut self,
        scene: &Scene<'_>,
        session: SessionId,
        id: RequestId,
        arrival: &Arrival,
        honest: bool,
    ) -> Result<Option<Answer>, Breach> {
        let Scene { now, rules, .. } = *scene;
        self.requests += 1.0;
        let judgement = self.account(session).arrive(rules, arrival);
        let verdict = self.shard.on_request(now, session, arrival, self.delay, &mut Silent);
        self.check_verdict(scene, verdict, Some(self.delay))?;
        self.check_credit(scene, session, judgement, verdict, honest)?;
        let work = Work { session, id, arrived: now, started: now, time_left: arrival.time_left };
        match verdict {
            Verdict::Admit => {
                self.waiting.push_back(work);
                Ok(None)
            }
            Verdict::Shed(reason) => {
                self.refuse(scene, work, reason, Reached::Arrival, false).map(Some)
            }
            Verdict::Close(reason) => {
                self.refuse(scene, work, reason, Reached::Arrival, true).map(Some)
            }
        }
    }

    /// The oldest admitted request leaves the queue; an answer only if it is refused now.
    pub(crate) fn start(&mut self, scene: &Scene<'_>) -> Result<Option<Answer>, Breach> {
        let Some(mut work) = self.waiting.pop_front() else {
            return Ok(None);
        };
        let waited = scene.now.since(work.arrived);
        let time_left = work.time_left.map(|time_left| time_left.saturating_sub(waited));
        let verdict = self.shard.on_start(scene.now, work.session, waited, time_left, &mut Silent);
        self.check_verdict(scene, verdict, None)?;
        match verdict {
            Verdict::Admit => {
                work.started = scene.now;
                self.running.push(work);
                Ok(None)
            }
            Verdict::Shed(reason) | Verdict::Close(reason) => {
                self.refuse(scene, work, reason, Reached::Start, false).map(Some)
            }
        }
    }

    /// One of the running handlers returns.
    pub(crate) fn finish(
        &mut self,
        scene: &Scene<'_>,
        pick: usize,
    ) -> Result<Option<Answer>, Breach> {
        if self.running.is_empty() {
            return Ok(None);
        }
        let work = self.running.remove(pick % self.running.len());
        self.answer(scene, work, (Outcome::Served, Reached::Handler), false).map(Some)
    }

    fn refuse(
        &mut self,
        scene: &Scene<'_>,
        work: Work,
        reason: Reason,
        reached: Reached,
        goodbye: bool,
    ) -> Result<Answer, Breach> {
        self.answer(scene, work, (Outcome::Shed(reason), reached), goodbye)
    }

    fn answer(
        &mut self,
        scene: &Scene<'_>,
        work: Work,
        (outcome, reached): (Outcome, Reached),
        goodbye: bool,
    ) -> Result<Answer, Breach> {
        let waited = work.started.since(work.arrived);
        let done = RequestEnd {
            outcome,
            reached,
            waited,
            service: scene.now.since(work.started),
            class: Class::default(),
        };
        let before = scene.admission.gauges().issued;
        let offer = self.shard.on_done(scene.now, work.session, &done);
        self.shard.on_sent(scene.now, work.session);
        let after = scene.admission.gauges();
        if after.issued > after.pool.max(before) {
            return breach(format!(
                "an answer raised issued from {before} to {}, past the pool of {}",
                after.issued, after.pool
            ));
        }
        let account = self.account(work.session);
        account.pending -= 1;
        account.offered(scene.rules, offer, scene.mode != Mode::Enforce)?;
        Ok(Answer {
            session: work.session,
            id: work.id,
            outcome,
            offer,
            waited,
            sojourn: scene.now.since(work.arrived),
            goodbye,
        })
    }

    /// Ticks, and carries out what that makes the controller wish; then ticks once more at the same
    /// time, which must change nothing.
    pub(crate) fn tick(
        &mut self,
        scene: &Scene<'_>,
        delay: Duration,
    ) -> Result<Vec<(SessionId, Offer)>, Breach> {
        self.delay = delay;
        self.shard.on_tick(scene.now, delay, &mut Silent);
        let mut credits = Vec::new();
        loop {
            let before = scene.admission.gauges();
            let Some(Wish::Credit(session, offer)) = self.shard.poll_wish(scene.now, &mut Silent)
            else {
                break;
            };
            let issued = scene.admission.gauges().issued;
            let relief = u32::from(scene.rules.relieves_starvation);
            if issued > before.pool.max(before.issued + relief) {
                return breach(format!(
                    "an explicit credit raised issued from {} to {issued}, past the pool of {}",
                    before.issued, before.pool
                ));
            }
            self.account(session).offered(scene.rules, offer, scene.mode != Mode::Enforce)?;
            self.shard.on_sent(scene.now, session);
            credits.push((session, offer));
            if credits.len() > self.accounts.len() {
                return breach("more explicit credits than sessions in one tick".into());
            }
        }
        let settled = scene.admission.gauges();
        self.shard.on_tick(scene.now, delay, &mut Silent);
        let wish = self.shard.poll_wish(scene.now, &mut Silent);
        if wish.is_some() || scene.admission.gauges() != settled {
            return breach(format!(
                "a second tick at the same time changed {settled:?} or wished {wish:?}"
            ));
        }
        Ok(credits)
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || !self.running.is_empty()
    }

    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.shard.next_deadline(now)
    }

    pub(super) fn account(&mut self, session: SessionId) -> &mut Account {
        self.accounts.get_mut(&session).expect("the driver names open sessions only")
    }
}
