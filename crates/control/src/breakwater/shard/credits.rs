//! Which session holds what: registration, lazy distribution, explicit credits.

use super::BreakwaterShard;
use crate::breakwater::config::{Demand, Issued, LastCredit, Trust};
use crate::breakwater::session::{FIRST_WINDOW, Session};
use crate::breakwater::stranded::Entry;
use crate::server::Wish;
use tailwater_core::{Event, Instant, Observer, Pause, SessionId};

impl BreakwaterShard {
    /// Tells the pool what the session holds now. Every path that changes a window, pending count,
    /// registration or idleness ends here, so that Σ held = issued.
    pub(super) fn recount(&mut self, id: SessionId) {
        let (credits, issued) = (self.config().credits, self.config().issued);
        let session = &mut self.sessions[id.index()];
        let held = match (session.registered && !session.idle && credits, issued) {
            (false, _) => 0,
            (true, Issued::Unused) => session.unused(),
            (true, Issued::Outstanding) => session.window.max(session.pending),
        };
        self.pool.shift_issued(session.held, held);
        session.held = held;
    }

    pub(super) fn register(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        let session = &mut self.sessions[id.index()];
        if session.registered {
            return;
        }
        session.registered = true;
        // The request that registers is its own permission.
        session.offer(FIRST_WINDOW);
        self.pool.join();
        observer.on_event(now, &Event::Registered(id));
    }

    pub(super) fn unregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        let session = &mut self.sessions[id.index()];
        if !std::mem::take(&mut session.registered) {
            return;
        }
        if std::mem::take(&mut session.idle) {
            self.pool.forget_idle();
        }
        // As before it registered: it may send the request that registers it again.
        session.offer(FIRST_WINDOW);
        session.demand = 0;
        self.recount(id);
        self.pool.leave();
        observer.on_event(now, &Event::Deregistered(id));
    }

    /// What the session wants beyond the credits in use, as far as it is believed.
    fn demand_of(&self, session: &Session) -> u32 {
        match self.config().trust {
            Trust::Claimed => session.demand,
            Trust::Used => session.consumption.believe(session.demand),
        }
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
        let most = self.demand_of(session).saturating_add(overcommitment);
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
    pub(super) fn distribute(&mut self, now: Instant, id: SessionId) {
        let granted = self.grant(&self.sessions[id.index()]);
        let window_max = self.config().window_max;
        let session = &mut self.sessions[id.index()];
        let proper = session.pending - session.refused;
        session.offer(proper.saturating_add(granted).min(window_max));
        session.shed_since_offer = false;
        self.recount(id);
        self.list_if_stranded(now, id);
    }

    /// Only an explicit credit can wake the session: no message to it is to come that could carry one
    /// (§3.2.2).
    fn is_stranded(&self, session: &Session) -> bool {
        let wants = match self.config().demand {
            Demand::Speculated => session.window == 0,
            Demand::Synchronised => self.demand_of(session) > session.unused(),
        };
        session.registered && session.pending == 0 && wants
    }

    pub(super) fn list_if_stranded(&mut self, now: Instant, id: SessionId) {
        let session = &self.sessions[id.index()];
        if session.listed || !self.is_stranded(session) {
            return;
        }
        let entry = Entry { session: id, generation: session.generation, since: now };
        self.sessions[id.index()].listed = true;
        let before = self.stranded.len();
        self.stranded.push(entry);
        self.pool.shift_stranded(before, self.stranded.len());
    }

    fn is_starving(&self, now: Instant) -> bool {
        let Some(limit) = self.config().starvation_limit else {
            return false;
        };
        self.stranded.oldest().is_some_and(|entry| now.since(entry.since) >= limit)
    }

    /// Takes entries off the front of the list whose sessions wait no more, as those of closed connections, while others starve.
    /// From an empty pool each would cost the credit of one that does.
    fn pass_over_unawaited(&mut self, now: Instant) {
        while self.pool.room() <= 0
            && self.is_starving(now)
            && let Some(entry) = self.stranded.oldest()
            && !self.is_awaited(entry)
        {
            self.stranded.take_oldest();
            self.unlist(entry);
        }
    }

    /// Whether the session of an entry is still stranded.
    fn is_awaited(&self, entry: Entry) -> bool {
        let session = self.sessions.get(entry.session.index()).filter(|it| it.is(entry));
        session.is_some_and(|session| self.is_stranded(session))
    }

    /// Whether an explicit credit may be given now, and to whom.
    fn next_recipient(&mut self, now: Instant) -> Option<Entry> {
        let before = self.stranded.len();
        self.pass_over_unawaited(now);
        let entry = match (self.pool.room() > 0, self.is_starving(now)) {
            (true, true) => self.stranded.take_oldest(),
            (true, false) => self.stranded.take(),
            (false, true) if self.relief.take(now, self.predicted.gap()) => {
                self.stranded.take_oldest()
            }
            (false, _) => None,
        };
        self.pool.shift_stranded(before, self.stranded.len());
        entry
    }

    /// The session of an entry is listed no more; whether it still needs waking.
    fn unlist(&mut self, entry: Entry) -> bool {
        let Some(session) = self.sessions.get_mut(entry.session.index()).filter(|it| it.is(entry))
        else {
            self.stranded.on_stale();
            return false;
        };
        session.listed = false;
        // From an empty pool only a session without credits gets one: another with credits on their
        // way would get one more each time that it announces demand.
        let empty = self.pool.room() <= 0;
        let session = &self.sessions[entry.session.index()];
        self.is_stranded(session) && (!empty || session.unused() == 0)
    }

    /// The next explicit credit, if one may be given.
    pub(super) fn next_credit(
        &mut self,
        now: Instant,
        observer: &mut dyn Observer,
    ) -> Option<Wish> {
        loop {
            let entry = self.next_recipient(now)?;
            if !self.unlist(entry) {
                continue;
            }
            let id = entry.session;
            let room = u32::try_from(self.pool.room().max(1)).unwrap_or(u32::MAX);
            // One credit wakes a client of unknown demand; a known demand is met as far as it goes.
            let session = &self.sessions[id.index()];
            let wanted = self.demand_of(session).saturating_sub(session.unused()).max(1);
            let window = session.window.saturating_add(wanted.min(room));
            self.sessions[id.index()].silent_since = now;
            observer.on_event(now, &Event::ExplicitCredit(id));
            // It is given because there is room now, or its session has waited for long enough.
            return Some(self.wish(id, window.min(self.config().window_max), Pause::NONE));
        }
    }

    /// A message with this window, and this pause in place of the one before.
    pub(super) fn wish(&mut self, id: SessionId, window: u32, pause: Pause) -> Wish {
        let session = &mut self.sessions[id.index()];
        session.offer(window);
        let offer = session.offered(pause);
        self.recount(id);
        Wish::Credit(id, offer)
    }
}
