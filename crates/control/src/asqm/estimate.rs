//! How large a budget is: running 99th percentiles of what a request takes when it does not queue.

use super::Budget;
use super::network::Network;
use super::quantile::Quantile;
use crate::server::Echo;
use crate::stamps::Stamps;
use std::time::Duration;
use tailwater_core::{Instant, SessionId};

/// Measures what remains of the target delay for queueing (Protego §3.2, §4).
#[derive(Clone, Debug)]
pub struct Estimator {
    target: Duration,
    service: Quantile,
    network: Network,
}

impl Estimator {
    /// For a server that shall answer or refuse within `target`. Until there are samples, nothing is
    /// known to take time and the whole target may be spent waiting.
    #[must_use]
    pub fn new(target: Duration) -> Self {
        Self { target, service: Quantile::new(0.99), network: Network::new() }
    }

    /// A request was served: `service` is its time in the server less all waiting that was deducted
    /// from its budget. Refused requests tell nothing; where the long ones are refused most, the
    /// estimate is low and budgets are generous.
    pub fn on_served(&mut self, service: Duration) {
        self.service.record(service);
    }

    /// A request of `session` arrived. What it returns tells of the network, if it is a stamp that was `sent` to this
    /// session and has not come back yet.
    pub fn on_echo(
        &mut self,
        arrived: Instant,
        session: SessionId,
        echo: Option<Echo>,
        sent: &mut Stamps,
    ) {
        if let Some(echo) = echo.filter(|echo| sent.take(echo.stamp).is_some()) {
            self.network.on_echo(arrived, session, echo);
        }
    }

    /// A session is over. Its number may be another's from now on.
    pub fn on_close(&mut self, session: SessionId) {
        self.network.on_close(session);
    }

    /// The budget of a request that arrives now: what service and network leave of the target delay,
    /// and a quarter of it at least. The quarter is ours. A client that is late now and then makes the
    /// network's 99th percentile longer than the target; with no budget at all every contended lock
    /// would refuse, which takes goodput from all requests and helps none of the slow ones.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let rest = Budget::of_target(self.target, self.service_p99(), self.network_p99());
        Budget::new(rest.left().max(self.target / 4))
    }

    /// The 99th percentile of service; zero before there are 128 samples.
    #[must_use]
    pub fn service_p99(&self) -> Duration {
        self.service.value().unwrap_or(Duration::ZERO)
    }

    /// The 99th percentile of a typical session's round trips through the network: the median of those of all sessions
    /// that are open. Zero before there are 128 round trips.
    #[must_use]
    pub fn network_p99(&self) -> Duration {
        self.network.value().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::super::quantile::UPDATE_EVERY;
    use super::*;

    /// Of two voices the lower one would count.
    #[test]
    fn a_session_that_is_over_has_no_say_in_what_the_network_takes() {
        let us = Duration::from_micros;
        let network = |closes: bool| {
            let (mut estimator, mut sent) = (Estimator::new(us(200)), Stamps::default());
            for round in 1..=UPDATE_EVERY {
                let last = round == UPDATE_EVERY;
                if last && closes {
                    estimator.on_close(SessionId(0));
                }
                let now = Instant::ZERO + us(1_000) * round;
                sent.on_sent(now);
                let echo = Some(Echo { stamp: now.stamp(), hold: Duration::ZERO });
                let (session, rtt) = if last { (1, us(100)) } else { (0, us(20)) };
                estimator.on_echo(now + rtt, SessionId(session), echo, &mut sent);
            }
            estimator.network_p99()
        };
        assert!(network(false) >= us(20) && network(false) <= us(22), "{:?}", network(false));
        assert!(network(true) >= us(100) && network(true) <= us(107), "{:?}", network(true));
    }

    #[test]
    fn a_budget_is_the_target_until_samples_say_what_the_rest_takes() {
        let us = Duration::from_micros;
        let mut estimator = Estimator::new(us(200));
        assert_eq!(estimator.budget().left(), us(200));
        let mut sent = Stamps::default();
        for round in 1..=UPDATE_EVERY {
            estimator.on_served(us(46));
            let now = Instant::ZERO + us(1_000) * round;
            sent.on_sent(now);
            let echo = Echo { stamp: now.stamp(), hold: us(5) };
            estimator.on_echo(now + us(25), SessionId(0), Some(echo), &mut sent);
        }
        // Protego §5.1: 134 µs of 200, less a sixteenth of what was measured at most.
        let left = estimator.budget().left();
        assert!(left <= us(134) && left >= us(129), "{left:?}");
        for _ in 0..200 * UPDATE_EVERY {
            estimator.on_served(us(10_000));
        }
        assert_eq!(estimator.budget().left(), us(50), "a quarter at least");
    }
}
