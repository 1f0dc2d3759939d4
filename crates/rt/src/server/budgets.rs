//! Queueing-delay budgets of a loop's requests, and the measurements that they are made of.

use crate::config::LockRules;
use crate::executor::LOCK_ALARM;
use std::time::Duration;
use tailwater_control::Echo;
use tailwater_control::asqm::{Budget, Estimator};
use tailwater_core::Instant;
use tailwater_sync::budget::TaskBudget;

/// A loop measures for itself: loops share no more than atomics, and 128 requests are soon served.
pub(super) struct Budgets {
    rules: LockRules,
    estimator: Estimator,
}

impl Budgets {
    pub(super) fn new(rules: LockRules) -> Self {
        Self { rules, estimator: Estimator::new(rules.target) }
    }

    /// Of a request that is admitted now (Protego §3.2).
    pub(super) fn assign(&self) -> TaskBudget {
        let budget = self.rules.budget.map_or_else(|| self.estimator.budget(), Budget::new);
        TaskBudget::new(budget).policy(self.rules.policy).alarm(&LOCK_ALARM)
    }

    /// What a request that arrived tells of the network.
    pub(super) fn on_echo(&mut self, arrived: Instant, echo: Option<Echo>) {
        if let Some(rtt) = echo.and_then(|echo| echo.rtt(arrived)) {
            self.estimator.on_network(rtt);
        }
    }

    /// A request was served, `there` after it arrived.
    pub(super) fn on_served(&mut self, there: Duration, budget: &TaskBudget) {
        self.estimator.on_served(there.saturating_sub(budget.budget().waited()));
    }
}
