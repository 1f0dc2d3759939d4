//! How long an answer of a replica takes at least, by what its answers have shown.

use crate::client::Reply;
use crate::ewma::ROUND_TRIP;
use crate::server::Outcome;
use std::time::Duration;
use tailwater_core::Nanos;

/// Smoothed network round trip and service; nothing before the first answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    network: Option<Duration>,
    service: Option<Duration>,
}

impl Estimate {
    /// Ours: nothing is known before the first reply.
    pub(super) const NONE: Self = Self { network: None, service: None };

    /// A reject tells of the network alone.
    pub(super) fn on_reply(&mut self, reply: &Reply) {
        smooth(&mut self.network, reply.elapsed.saturating_sub(reply.sojourn));
        if reply.outcome == Outcome::Served {
            smooth(&mut self.service, reply.sojourn.saturating_sub(reply.waited));
        }
    }

    /// Without any waiting. Zero of a replica that has not answered: nothing speaks against it.
    pub(super) fn least(&self) -> Duration {
        self.network.unwrap_or_default() + self.service.unwrap_or_default()
    }
}

fn smooth(mean: &mut Option<Duration>, seen: Duration) {
    *mean = Some(match *mean {
        None => seen,
        Some(mean) => Duration::from_nanos(ROUND_TRIP.after(mean.nanos(), seen.nanos())),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Offer, Reason};
    use tailwater_core::Stamp;

    fn reply(outcome: Outcome, times_us: [u64; 3]) -> Reply {
        let [elapsed, sojourn, waited] = times_us.map(Duration::from_micros);
        Reply { outcome, offer: Offer::OPEN, stamp: Stamp(0), elapsed, sojourn, waited }
    }

    #[test]
    fn waiting_is_left_out_and_rejects_tell_of_the_network_alone() {
        let mut estimate = Estimate::NONE;
        assert_eq!(estimate.least(), Duration::ZERO);
        estimate.on_reply(&reply(Outcome::Shed(Reason::Delay), [12, 2, 2]));
        assert_eq!(estimate.least(), Duration::from_micros(10));
        estimate.on_reply(&reply(Outcome::Served, [60, 50, 30]));
        assert_eq!(estimate.least(), Duration::from_micros(30), "10 of network, 20 of service");
        estimate.on_reply(&reply(Outcome::Served, [58, 40, 20]));
        assert_eq!(estimate.least(), Duration::from_micros(31), "an eighth of 8 more");
    }
}
