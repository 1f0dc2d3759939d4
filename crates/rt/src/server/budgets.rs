//! Queueing-delay budgets of a loop's requests, and the measurements that they are made of.

use crate::config::LockRules;
use crate::counts::BudgetCounts;
use crate::timers::LOCK_ALARM;
use std::time::Duration;
use tailwater_control::asqm::{Budget, Estimator};
use tailwater_control::{Echo, Stamps};
use tailwater_core::{Instant, Nanos as _, SessionId};
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
    pub(super) fn on_echo(
        &mut self,
        arrived: Instant,
        session: SessionId,
        echo: Option<Echo>,
        sent: &mut Stamps,
    ) {
        self.estimator.on_echo(arrived, session, echo, sent);
    }

    /// A connection is gone.
    pub(super) fn on_close(&mut self, session: SessionId) {
        self.estimator.on_close(session);
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

    /// A round trip of 30 ms, of which the client says that it held the stamp for so long.
    fn echo(budgets: &mut Budgets, session: u32, hold: Duration) {
        let (mut sent, stamped) = (Stamps::default(), Instant::from_nanos(5_000_000_000));
        sent.on_sent(stamped);
        let echo = Some(Echo { stamp: stamped.stamp(), hold });
        budgets.on_echo(stamped + ms(30), SessionId(session), echo, &mut sent);
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
            echo(&mut budgets, 0, ms(10));
        }
        let left = budgets.assign().budget().left();
        assert!(left <= ms(970) && left >= ms(968), "{left:?}, less 20 ms of network");
    }

    #[test]
    fn echoes_that_cannot_be_true_tell_nothing() {
        let mut budgets = budgets(None);
        for _ in 0..1_000 {
            echo(&mut budgets, 0, ms(31));
            budgets.on_echo(Instant::from_nanos(1), SessionId(0), None, &mut Stamps::default());
        }
        assert_eq!(budgets.assign().budget().left(), ms(1_000));
    }

    /// The last of three connections says fifty times as much as the others, and that it held no stamp.
    #[test]
    fn a_false_hold_takes_nothing_from_the_others() {
        let mut budgets = budgets(None);
        for _ in 0..200 {
            echo(&mut budgets, 0, ms(28));
            echo(&mut budgets, 1, ms(28));
            (0..50).for_each(|_| echo(&mut budgets, 2, ms(0)));
        }
        let left = budgets.assign().budget().left();
        assert!(left <= ms(998) && left >= ms(997), "{left:?}, less 2 ms of network");
        budgets.on_close(SessionId(0));
        budgets.on_close(SessionId(1));
        (0..10_000).for_each(|_| echo(&mut budgets, 2, ms(0)));
        let left = budgets.assign().budget().left();
        assert!(left <= ms(970), "{left:?}: it is alone now");
    }

    #[test]
    fn a_constant_budget_is_given_whatever_is_measured() {
        let mut budgets = budgets(Some(ms(7)));
        for _ in 0..1_000 {
            serve_ten_ms(&mut budgets);
            echo(&mut budgets, 0, ms(0));
        }
        assert_eq!(budgets.assign().budget().left(), ms(7));
    }
}
