//! What must hold after every step, added up anew from the ledgers.

use super::{Breach, World, breach};

impl World {
    pub(super) fn check(&mut self) -> Result<(), Breach> {
        let gauges = self.controller.admission.gauges();
        let accounts = || self.servers.iter().flat_map(|s| s.accounts.values());
        let (mut low, mut high) = (0_u64, 0_u64);
        for account in accounts() {
            let held = account.held(&self.rules);
            low += u64::from(held.low);
            high += u64::from(held.high);
        }
        // An idle session holds one credit, which is not counted.
        let counted = u64::from(gauges.issued) + u64::from(gauges.idle);
        if !(low..=high).contains(&counted) {
            return breach(format!(
                "issued is {} and the sessions hold {low} to {high}",
                gauges.issued
            ));
        }
        let registered = accounts().filter(|account| account.registered).count();
        if gauges.sessions as usize != registered {
            return breach(format!(
                "{} sessions counted, {registered} registered",
                gauges.sessions
            ));
        }
        self.check_pool(gauges.pool, gauges.sessions)
    }

    /// The pool grows no further than all sessions could hold. It may stay above that for a while
    /// after sessions have left; `the_pool_follows_the_crowd` says for how long.
    fn check_pool(&mut self, pool: u32, sessions: u32) -> Result<(), Breach> {
        let before = std::mem::replace(&mut self.pool, pool);
        // With a pool for each loop, one without sessions has its smallest.
        let others = self.rules.pool_min - u32::from(sessions > 0);
        let most = sessions.saturating_mul(self.rules.window_max).saturating_add(others);
        if pool < self.rules.pool_min || (pool > before && pool > most) {
            return breach(format!(
                "a pool of {pool}, {} to {most} is allowed",
                self.rules.pool_min
            ));
        }
        if sessions == 0 && pool != self.rules.pool_min {
            return breach(format!("a pool of {pool} for nobody"));
        }
        Ok(())
    }
}
