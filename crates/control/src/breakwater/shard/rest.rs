//! Idle sessions: their credits leave the pool, and what they hold beyond one goes to the others.

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
            self.pool.rouse();
            self.recount(id);
        }
    }

    /// Looks at a few sessions, if it is time to: puts to rest those that keep their one credit in
    /// silence, and notes whose credits are to be taken back.
    pub(super) fn look_for_idle(&mut self, now: Instant) {
        let Some(least) = self.config().idle_after.filter(|_| self.config().credits) else {
            return;
        };
        let threshold = self.idle.threshold(least);
        let is_short = self.pool.is_short();
        let mut surplus = Vec::new();
        for id in self.idle.batch(now, self.sessions.len()) {
            let Some(silence) = self.silence_with_credit(now, id) else {
                continue;
            };
            match (silence >= threshold, self.sessions[id.index()].window) {
                (false, _) => self.idle.see(),
                (true, 1) => self.rest(id),
                (true, window) if is_short => surplus.push((window, id)),
                (true, _) => {}
            }
        }
        if !surplus.is_empty() {
            self.idle.cut(surplus);
        }
    }

    /// How long a session that may send and is not idle yet has been silent.
    fn silence_with_credit(&self, now: Instant, id: SessionId) -> Option<Duration> {
        let session = &self.sessions[id.index()];
        let has_credit = session.registered && session.pending == 0 && session.window > 0;
        (has_credit && !session.idle && !session.listed).then(|| now.since(session.silent_since))
    }

    fn rest(&mut self, id: SessionId) {
        let session = &mut self.sessions[id.index()];
        session.idle = true;
        self.pool.rest(session.held);
        self.recount(id);
    }

    /// The next session that is to lose all its credits but one, which it may still use.
    pub(super) fn next_cut(&mut self) -> Option<Wish> {
        loop {
            let id = self.idle.next_cut()?;
            // An explicit credit may have made room meanwhile, or have gone to this one.
            if self.pool.is_short() && !self.sessions[id.index()].listed {
                self.rest(id);
                return Some(self.wish(id, 1));
            }
        }
    }
}
