//! Idle sessions: the one credit that each keeps is not in the pool. What they hold beyond it is taken
//! back for sessions that want credit while there is none.

use super::BreakwaterShard;
use crate::server::Wish;
use std::time::Duration;
use tailwater_core::{Instant, SessionId};

impl BreakwaterShard {
    /// A message of the session is here; it is idle no more. `silence` is that of a client which came
    /// back by itself.
    pub(super) fn on_heard(&mut self, now: Instant, id: SessionId) {
        let session = &mut self.sessions[id.index()];
        let silence = now.since(session.silent_since);
        session.silent_since = now;
        if session.registered && session.pending == 0 {
            self.idle.on_heard(silence);
        }
        if std::mem::take(&mut self.sessions[id.index()].idle) {
            self.pool.set_active();
            self.recount(id);
        }
    }

    /// Looks at a few sessions, if it is time to: sets idle those that keep their one credit in
    /// silence, and notes whose credits are to be taken back.
    pub(super) fn look_for_idle(&mut self, now: Instant) {
        let Some(least) = self.config().idle_after.filter(|_| self.config().credits) else {
            return;
        };
        let threshold = self.idle.threshold(least);
        let is_short = self.pool.is_short();
        let mut surplus = Vec::new();
        for id in self.idle.batch(now, self.sessions.len()) {
            let Some((silence, window)) = self.silence_with_credit(now, id) else {
                continue;
            };
            match (silence >= threshold, window) {
                (false, _) => self.idle.see(),
                (true, 1) => self.set_idle(id),
                (true, window) if is_short => surplus.push((window, id)),
                (true, _) => {}
            }
        }
        if !surplus.is_empty() {
            self.idle.cut(surplus);
        }
    }

    /// How long a session that may send and is not idle yet has been silent, and its window.
    fn silence_with_credit(&self, now: Instant, id: SessionId) -> Option<(Duration, u32)> {
        let session = self.sessions.get(id.index())?;
        let has_credit = session.registered && session.pending == 0 && session.window > 0;
        (has_credit && !session.idle && !session.listed)
            .then(|| (now.since(session.silent_since), session.window))
    }

    fn set_idle(&mut self, id: SessionId) {
        let session = &mut self.sessions[id.index()];
        session.idle = true;
        self.pool.set_idle(session.held);
        self.recount(id);
    }

    /// The next session that is to lose all its credits but one, which it may still use.
    pub(super) fn next_cut(&mut self, now: Instant) -> Option<Wish> {
        let threshold = self.idle.threshold(self.config().idle_after?);
        loop {
            let id = self.idle.next_cut()?;
            // Since the look an explicit credit may have made room or have gone to this session. A request may have
            // come on it, or its connection may have ended and another have its number.
            let found = self.silence_with_credit(now, id);
            let is_surplus =
                found.is_some_and(|(silence, window)| silence >= threshold && window > 1);
            if self.pool.is_short() && is_surplus {
                // The window first: what it loses is then room, and the cuts stop once that suffices.
                let wish = self.wish(id, 1, self.pause());
                self.set_idle(id);
                return Some(wish);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breakwater::shard::tests::{own_shard, visit, visit_at};
    use crate::breakwater::{Config, shard::BreakwaterShard};
    use crate::server::{Arrival, Shard, Verdict};
    use tailwater_core::Silent;

    const SLO: Duration = Duration::from_micros(200);
    const STRANDED: SessionId = SessionId(0);
    /// It uses what it holds, so that the pool is short whatever becomes of the holder.
    const BUSY: SessionId = SessionId(1);
    const HOLDER: SessionId = SessionId(2);

    fn hold(shard: &mut BreakwaterShard, id: SessionId, window: u32) {
        shard.sessions[id.index()].offer(window);
        shard.recount(id);
    }

    fn ask(shard: &mut BreakwaterShard, now: Instant, id: SessionId) {
        let (seq, delay) = (shard.sessions[id.index()].seq, Duration::ZERO);
        let arrival = Arrival { acked: seq, ..Arrival::default() };
        assert_eq!(shard.on_request(now, id, &arrival, delay, &mut Silent), Verdict::Admit);
    }

    /// One session holds nine credits in silence, another is stranded, and the loop has noted the cut.
    fn about_to_cut(now: Instant) -> BreakwaterShard {
        let mut shard = own_shard(Config::tuned(SLO, 1));
        for id in [HOLDER, BUSY] {
            visit(&mut shard, id);
            hold(&mut shard, id, 9);
        }
        visit(&mut shard, STRANDED);
        ask(&mut shard, now, BUSY);
        assert!(shard.sessions[STRANDED.index()].listed);
        shard.on_tick(now, Duration::ZERO, &mut Silent);
        shard
    }

    const NOW: Instant = Instant::from_nanos(500_000_000);

    #[test]
    fn silent_credits_are_cut_to_one() {
        let mut shard = about_to_cut(NOW);
        let wish = shard.poll_wish(NOW, &mut Silent);
        assert!(matches!(wish, Some(Wish::Credit(HOLDER, offer)) if offer.window == 1), "{wish:?}");
    }

    /// The pool shrank by all that a cut took back, so that no cut made room and every one was made.
    #[test]
    fn cuts_stop_once_they_have_made_room() {
        let mut shard = about_to_cut(NOW);
        // Large enough that its least does not hide what a cut takes.
        for _ in 0..12 {
            shard.pool.set_idle(0);
            shard.pool.set_active();
        }
        let (total, room) = (shard.pool.total(), shard.pool.room());
        shard.poll_wish(NOW, &mut Silent).expect("a cut");
        assert_eq!((shard.pool.total(), shard.pool.room()), (total - 1, room + 8));
    }

    /// It indexed the sessions by a number noted at the look, and panicked.
    #[test]
    fn a_session_that_closed_since_the_look_is_not_cut() {
        let mut shard = about_to_cut(NOW);
        shard.on_close(NOW, HOLDER, &mut Silent);
        assert_eq!(shard.sessions.len(), 2, "its number is beyond the last");
        while let Some(Wish::Credit(id, _)) = shard.poll_wish(NOW, &mut Silent) {
            assert_ne!(id, HOLDER);
        }
    }

    #[test]
    fn nor_is_a_newcomer_with_its_number() {
        let mut shard = about_to_cut(NOW);
        shard.on_close(NOW, HOLDER, &mut Silent);
        hold(&mut shard, BUSY, 0);
        // Room for one.
        shard.pool.set_idle(0);
        shard.pool.set_active();
        visit_at(&mut shard, NOW, HOLDER);
        assert!(!shard.sessions[HOLDER.index()].listed, "there was room for it");
        [BUSY, HOLDER].into_iter().for_each(|id| hold(&mut shard, id, 9));
        assert_eq!(shard.poll_wish(NOW, &mut Silent), None);
        assert_eq!(shard.sessions[HOLDER.index()].window, 9);
    }

    #[test]
    fn nor_is_one_that_has_sent_a_request_since() {
        let mut shard = about_to_cut(NOW);
        ask(&mut shard, NOW, HOLDER);
        assert_eq!(shard.poll_wish(NOW, &mut Silent), None);
        assert!(!shard.sessions[HOLDER.index()].idle);
    }

    /// A session that holds credit, has nothing in the server and is on no list: its silence is looked at. Each of
    /// these by itself is a reason not to.
    #[test]
    fn silence_counts_of_registered_sessions_that_could_send() {
        let silence = |change: fn(&mut crate::breakwater::session::Session)| {
            let mut shard = own_shard(Config::tuned(SLO, 1));
            visit(&mut shard, HOLDER);
            hold(&mut shard, HOLDER, 3);
            change(&mut shard.sessions[HOLDER.index()]);
            shard.silence_with_credit(NOW, HOLDER)
        };
        assert_eq!(silence(|_| ()), Some((NOW.since(Instant::ZERO), 3)));
        assert_eq!(silence(|session| session.registered = false), None);
        assert_eq!(silence(|session| session.pending = 1), None);
        assert_eq!(silence(|session| session.window = 0), None);
        assert_eq!(silence(|session| session.idle = true), None);
        assert_eq!(silence(|session| session.listed = true), None);
    }

    #[test]
    fn nor_is_one_that_has_been_answered_since() {
        let mut shard = about_to_cut(NOW);
        ask(&mut shard, NOW, HOLDER);
        shard.on_start(NOW, HOLDER, Duration::ZERO, None, &mut Silent);
        shard.sessions[HOLDER.index()].answered(false);
        hold(&mut shard, HOLDER, 9);
        assert_eq!(shard.poll_wish(NOW, &mut Silent), None, "it is silent no more");
        assert_eq!(shard.sessions[HOLDER.index()].window, 9);
    }

    #[test]
    fn nor_is_one_that_has_a_single_credit_by_now() {
        let mut shard = about_to_cut(NOW);
        hold(&mut shard, HOLDER, 1);
        hold(&mut shard, BUSY, 17);
        assert_eq!(shard.poll_wish(NOW, &mut Silent), None);
        assert!(!shard.sessions[HOLDER.index()].idle);
    }

    /// What was looked at while nobody wanted credit is not cut for one who wants it later: the next look is for that.
    #[test]
    fn a_look_while_no_session_wants_credit_notes_no_cut() {
        let mut shard = own_shard(Config { pool_min: 2, ..Config::tuned(SLO, 1) });
        [HOLDER, BUSY].into_iter().for_each(|id| visit(&mut shard, id));
        [HOLDER, BUSY].into_iter().for_each(|id| hold(&mut shard, id, 9));
        assert!(!shard.pool.is_short(), "all have credit");
        shard.on_tick(NOW, Duration::ZERO, &mut Silent);
        visit_at(&mut shard, NOW, STRANDED);
        assert!(shard.pool.is_short());
        assert_eq!(shard.poll_wish(NOW, &mut Silent), None);
    }
}
