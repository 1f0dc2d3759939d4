//! The end of a run: messages flow, handlers return, and every call must come to its end.

use super::setup::{ARTIFACT_ALPHA, STARVATION_LIMIT};
use super::{Breach, World, breach};
use std::time::Duration;
use tailwater_core::Instant;

impl World {
    /// All honest clients connect and the rogue leaves; then nothing is withheld and every loop
    /// measures `delay`. Loops tick once at the start and from then on only when they say they must.
    ///
    /// With no delay, each time that all is quiet the regulator has as many updates as it takes to grow past what is
    /// issued. Then some client must move. With a delay, [`STARVATION_LIMIT`] bounds the quiet instead.
    pub(crate) fn drain(&mut self, delay: Duration) -> Result<(), Breach> {
        self.misbehave(&super::setup::Mischief::Vanish);
        (0..self.honest.len()).for_each(|who| self.connect(who));
        (0..self.servers.len()).try_for_each(|at| self.tick(at, delay))?;
        self.settle()?;
        let (mut since, mut patience) = ((self.now, self.updates), self.patience());
        while self.unfinished() > 0 {
            self.advance(delay)?;
            if self.settle()? {
                (since, patience) = ((self.now, self.updates), self.patience());
            }
            let (quiet, updates) = (self.now.since(since.0), self.updates - since.1);
            let starved = if delay.is_zero() && !self.is_held_back() {
                updates > patience
            } else {
                quiet > STARVATION_LIMIT + 2 * self.rules.interval.1
            };
            if starved {
                return breach(format!("starved for {quiet:?}, {updates} updates"));
            }
        }
        Ok(())
    }

    /// Everybody leaves; nothing may remain.
    pub(crate) fn leave(&mut self) -> Result<(), Breach> {
        (0..self.honest.len()).for_each(|who| self.disconnect(who));
        self.settle()?;
        let gauges = self.controller.admission.gauges();
        if gauges.issued != 0 || gauges.sessions != 0 {
            return breach(format!("nobody is there, yet {gauges:?}"));
        }
        Ok(())
    }

    /// The efficiency law of the default profile may hold the pool back for one of its iterations,
    /// which last for four sojourns; only the relief of the starving bounds the quiet then.
    fn is_held_back(&self) -> bool {
        (self.setup.controller, self.setup.profile) == ("efficiency", "default")
    }

    /// Updates until the pool has outgrown what is issued, and one for each edge.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    fn patience(&self) -> u32 {
        let gauges = self.controller.admission.gauges();
        let fractional = (self.setup.controller, self.setup.profile) == ("breakwater", "artifact");
        let step =
            if fractional { ARTIFACT_ALPHA * f64::from(gauges.sessions.max(1)) } else { 1.0 };
        // The default profile adds whole credits only after 64 calm updates.
        let calm = if self.setup.profile == "default" { 65 } else { 0 };
        // An iteration that saw the last request may still shrink the pool, and the next be late.
        let edges = if self.setup.controller == "efficiency" { 6 } else { 3 };
        (f64::from(gauges.issued + 1) / step) as u32 + edges + calm
    }

    /// Delivers and serves until nothing is on its way. True if anything was.
    pub(crate) fn settle(&mut self) -> Result<bool, Breach> {
        let mut moved = false;
        while self.unfinished_work() {
            moved = true;
            self.deliver_up(0)?;
            for at in 0..self.servers.len() {
                self.serve(at, super::server::Server::start)?;
                self.serve(at, |server, scene| server.finish(scene, 0))?;
            }
            self.deliver_down(0)?;
            self.poll_clients()?;
            self.check()?;
        }
        Ok(moved)
    }

    fn unfinished_work(&self) -> bool {
        let links = self.links.values();
        links.into_iter().any(|link| !link.up.is_empty() || !link.down.is_empty())
            || self.servers.iter().any(super::server::Server::is_busy)
    }

    /// Time passes until somebody asked to be called.
    fn advance(&mut self, delay: Duration) -> Result<(), Breach> {
        let due: Vec<Option<Instant>> =
            self.servers.iter().map(|server| server.next_deadline(self.now)).collect();
        let clients = self.honest.iter().map(|peer| peer.client.next_deadline());
        let Some(next) = due.iter().copied().chain(clients).flatten().min() else {
            return breach("starved: calls wait and nobody asks to be called".into());
        };
        if next <= self.now {
            return breach(format!("a deadline in the past: {next:?}"));
        }
        self.now = next;
        for (at, due) in due.into_iter().enumerate() {
            if due.is_some_and(|due| due <= next) {
                self.tick(at, delay)?;
            }
        }
        self.poll_clients()?;
        self.check()
    }

    pub(crate) fn answered(&self) -> usize {
        self.honest.iter().map(super::peer::Honest::answered).sum()
    }

    pub(crate) const fn has_rogue(&self) -> bool {
        self.rogue.link.is_some()
    }

    pub(crate) const fn rogue_served(&self) -> u32 {
        self.rogue.served
    }

    pub(crate) const fn rogue_window(&self) -> u32 {
        self.rogue.window
    }

    pub(crate) const fn pool(&self) -> u32 {
        self.pool
    }

    fn unfinished(&self) -> usize {
        self.honest.iter().map(super::peer::Honest::unfinished).sum()
    }
}
