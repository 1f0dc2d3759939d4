//! One loop of the server and what its shard may say.

use super::Breach;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_control::guard::Mode;
use tailwater_control::{
    Arrival, Dispatch, Offer, Outcome, Reached, Reason, Reply, RequestEnd, Shard, Verdict, Wish,
};
use tailwater_core::{Class, Instant, RequestId, SessionId, Silent};

#[derive(Clone, Copy)]
struct Work {
    session: SessionId,
    id: RequestId,
    arrived: Instant,
    started: Instant,
    time_left: Option<Duration>,
}

pub(super) struct Server {
    shard: Box<dyn Shard>,
    waiting: VecDeque<Work>,
    running: Vec<Work>,
    delay: Duration,
    pub(super) reasons: Vec<Reason>,
}

impl Server {
    pub(super) fn new(shard: Box<dyn Shard>) -> Self {
        let (waiting, running) = (VecDeque::new(), Vec::new());
        Self { shard, waiting, running, delay: Duration::ZERO, reasons: Vec::new() }
    }

    pub(super) fn open(&mut self, now: Instant, session: SessionId) -> Offer {
        let offer = self.shard.on_open(now, session, &mut Silent);
        self.shard.on_sent(now, session);
        offer
    }

    pub(super) fn close(&mut self, now: Instant, session: SessionId) {
        self.shard.on_close(now, session, &mut Silent);
        self.waiting.retain(|work| work.session != session);
        self.running.retain(|work| work.session != session);
    }

    pub(super) fn deregister(&mut self, now: Instant, session: SessionId) {
        self.shard.on_deregister(now, session, &mut Silent);
    }

    pub(super) fn demand(&mut self, now: Instant, session: SessionId, demand: u32, acked: u32) {
        self.shard.on_demand(now, session, demand, acked);
    }

    /// An answer only if the request goes no further.
    pub(super) fn request(
        &mut self,
        now: Instant,
        session: SessionId,
        dispatch: &Dispatch,
        mode: Mode,
    ) -> Result<Option<(RequestId, Reply)>, Breach> {
        let arrival = Arrival {
            demand: dispatch.demand,
            acked: dispatch.acked,
            register: dispatch.register,
            priority: dispatch.priority,
            time_left: dispatch.time_left,
            echo: dispatch.echo,
            hidden: Duration::ZERO,
            class: Class::default(),
        };
        let verdict = self.shard.on_request(now, session, &arrival, self.delay, &mut Silent);
        let (id, time_left) = (dispatch.id, dispatch.time_left);
        let work = Work { session, id, arrived: now, started: now, time_left };
        let admit = |server: &mut Self, work| server.waiting.push_back(work);
        self.follow(now, work, verdict, (mode, Reached::Arrival), admit)
    }

    pub(super) fn start(
        &mut self,
        now: Instant,
        mode: Mode,
    ) -> Result<Option<(SessionId, RequestId, Reply)>, Breach> {
        let Some(mut work) = self.waiting.pop_front() else { return Ok(None) };
        work.started = now;
        let waited = now.since(work.arrived);
        let time_left = work.time_left.map(|time_left| time_left.saturating_sub(waited));
        let verdict = self.shard.on_start(now, work.session, waited, time_left, &mut Silent);
        let admit = |server: &mut Self, work| server.running.push(work);
        let answer = self.follow(now, work, verdict, (mode, Reached::Start), admit);
        Ok(answer?.map(|(id, reply)| (work.session, id, reply)))
    }

    pub(super) fn finish(
        &mut self,
        now: Instant,
        pick: usize,
    ) -> Option<(SessionId, RequestId, Reply)> {
        if self.running.is_empty() {
            return None;
        }
        let work = self.running.remove(pick % self.running.len());
        Some((work.session, work.id, self.answer(now, work, Outcome::Served, Reached::Handler)))
    }

    /// A waiting request goes no further, whatever the controller said.
    pub(super) fn end(
        &mut self,
        now: Instant,
        pick: usize,
        why: Reason,
    ) -> Option<(SessionId, RequestId, Reply)> {
        let at = pick.checked_rem(self.waiting.len())?;
        let work = Work { started: now, ..self.waiting.remove(at)? };
        let outcome = Outcome::Shed(why);
        Some((work.session, work.id, self.answer(now, work, outcome, Reached::Queue)))
    }

    /// A running request is given up by its caller.
    pub(super) fn abort(
        &mut self,
        now: Instant,
        pick: usize,
    ) -> Option<(SessionId, RequestId, Reply)> {
        let at = pick.checked_rem(self.running.len())?;
        let work = self.running.remove(at);
        let outcome = Outcome::Shed(Reason::Cancelled);
        Some((work.session, work.id, self.answer(now, work, outcome, Reached::Handler)))
    }

    /// Carries a verdict out, if it is one that may be given.
    fn follow(
        &mut self,
        now: Instant,
        work: Work,
        verdict: Verdict,
        (mode, reached): (Mode, Reached),
        admit: impl FnOnce(&mut Self, Work),
    ) -> Result<Option<(RequestId, Reply)>, Breach> {
        match verdict {
            Verdict::Admit => {
                admit(self, work);
                Ok(None)
            }
            Verdict::Close(reason) => Err(format!("an honest client was turned away: {reason:?}")),
            Verdict::Shed(reason) if mode != Mode::Enforce => {
                Err(format!("shed for {reason:?} while nothing is enforced"))
            }
            Verdict::Shed(reason) => {
                self.reasons.push(reason);
                Ok(Some((work.id, self.answer(now, work, Outcome::Shed(reason), reached))))
            }
        }
    }

    fn answer(&mut self, now: Instant, work: Work, outcome: Outcome, reached: Reached) -> Reply {
        let (waited, service) = (work.started.since(work.arrived), now.since(work.started));
        let done = RequestEnd { outcome, reached, waited, service, class: Class::default() };
        let offer = self.shard.on_done(now, work.session, &done);
        self.shard.on_sent(now, work.session);
        let (elapsed, sojourn) = (Duration::ZERO, now.since(work.arrived));
        Reply { outcome, offer, stamp: now.stamp(), elapsed, sojourn, waited }
    }

    /// Ticks, and hears all wishes; then it may wish nothing more, and asks for a time to come.
    pub(super) fn tick(
        &mut self,
        now: Instant,
        delay: Duration,
        sessions: usize,
    ) -> Result<Vec<(SessionId, Offer)>, Breach> {
        self.delay = delay;
        self.shard.on_tick(now, delay, &mut Silent);
        let mut credits = Vec::new();
        while let Some(Wish::Credit(session, offer)) = self.shard.poll_wish(now, &mut Silent) {
            self.shard.on_sent(now, session);
            credits.push((session, offer));
            if credits.len() > sessions {
                return Err("it wishes for ever".into());
            }
        }
        match self.shard.next_deadline(now) {
            Some(at) if at <= now => {
                Err(format!("server: a deadline that is not in the future: {at:?}"))
            }
            _ => Ok(credits),
        }
    }

    pub(super) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.shard.next_deadline(now)
    }

    /// Requests in the server's hands.
    pub(super) fn held(&self) -> usize {
        self.waiting.len() + self.running.len()
    }
}
