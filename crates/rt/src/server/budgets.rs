//! Queueing-delay budgets of a loop's requests, and the measurements that they are made of.

use crate::config::LockRules;
use crate::counts::BudgetCounts;
use crate::timers::LOCK_ALARM;
use std::time::Duration;
use tailwater_control::asqm::{Budget, Estimator};
use tailwater_control::{Echo, Stamps};
use tailwater_core::{Instant, Nanos as _};
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

    /// For people: what requests get now, and what it is made of.
    pub(super) fn counts(&self) -> BudgetCounts {
        BudgetCounts {
            budget_ns: self.assign().budget().left().nanos(),
            target_ns: self.rules.target.nanos(),
            service_p99_ns: self.estimator.service_p99().nanos(),
            network_p99_ns: self.estimator.network_p99().nanos(),
        }
    }

    /// What a request that arrived tells of the network, if its connection was `sent` the stamp that it returns.
    pub(super) fn on_echo(&mut self, arrived: Instant, echo: Option<Echo>, sent: &mut Stamps) {
        let confirmed = echo.filter(|echo| sent.take(echo.stamp).is_some());
        if let Some(rtt) = confirmed.and_then(|echo| echo.rtt(arrived)) {
            self.estimator.on_network(rtt);
        }
    }

    /// A request was served, `there` after it arrived. Waits that it could not refuse count as service, because they
    /// come on top of those that the budget bounds. The objective holds only if the budget leaves room for them. A
    /// request that queues twice at one lock, to take and to release, therefore gets half of the target for each.
    pub(super) fn on_served(&mut self, there: Duration, budget: &TaskBudget) {
        let bounded = budget.budget().waited().saturating_sub(budget.bound_to_wait());
        self.estimator.on_served(there.saturating_sub(bounded));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use tailwater_control::asqm::Policy;
    use tailwater_sync::budget::{deduct, enter};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn budgets(budget: Option<Duration>) -> Budgets {
        Budgets::new(LockRules { policy: Policy::Plain, target: ms(1_000), budget })
    }

    /// Served 410 ms after it arrived, of which it waited 400.
    fn serve_ten_ms(budgets: &mut Budgets) {
        let mut task = budgets.assign();
        let entered = enter(&mut task);
        deduct(ms(400));
        drop(entered);
        budgets.on_served(ms(410), &task);
    }

    /// A round trip of 30 ms, of which the client held the stamp for so long.
    fn echo(budgets: &mut Budgets, hold: Duration) {
        let (mut sent, stamped) = (Stamps::default(), Instant::from_nanos(5_000_000_000));
        sent.on_sent(stamped);
        let echo = Some(Echo { stamp: stamped.stamp(), hold });
        budgets.on_echo(stamped + ms(30), echo, &mut sent);
    }

    #[test]
    fn what_a_request_waited_is_no_service_and_does_not_shrink_the_next_budgets() {
        let mut budgets = budgets(None);
        assert_eq!(budgets.assign().budget().left(), ms(1_000), "nothing is known yet");
        for _ in 0..128 {
            serve_ten_ms(&mut budgets);
        }
        // Measured to a sixteenth.
        let left = budgets.assign().budget().left();
        assert!(left <= ms(990) && left >= ms(989), "{left:?} of a second, less 10 ms of service");
        for _ in 0..128 {
            echo(&mut budgets, ms(10));
        }
        let left = budgets.assign().budget().left();
        assert!(left <= ms(970) && left >= ms(968), "{left:?}, less 20 ms of network");
    }

    #[test]
    fn echoes_that_cannot_be_true_tell_nothing() {
        let mut budgets = budgets(None);
        for _ in 0..1_000 {
            echo(&mut budgets, ms(31));
            budgets.on_echo(Instant::from_nanos(1), None, &mut Stamps::default());
        }
        assert_eq!(budgets.assign().budget().left(), ms(1_000));
    }

    #[test]
    fn a_constant_budget_is_given_whatever_is_measured() {
        let mut budgets = budgets(Some(ms(7)));
        for _ in 0..1_000 {
            serve_ten_ms(&mut budgets);
            echo(&mut budgets, ms(0));
        }
        assert_eq!(budgets.assign().budget().left(), ms(7));
    }
}
