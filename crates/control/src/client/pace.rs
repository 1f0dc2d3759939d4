//! What a client has learnt about how long a request takes once it is sent.

use super::Reply;
use std::time::Duration;
use tailwater_core::Nanos;

/// Running estimates; zero until the first reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    network_ns: u64,
    sojourn_ns: u64,
    quantile: f64,
}

impl Pace {
    /// `quantile` of the sojourn times is followed, within `(0, 1)`.
    pub(super) const fn new(quantile: f64) -> Self {
        Self { network_ns: 0, sojourn_ns: 0, quantile }
    }

    pub(super) fn on_reply(&mut self, reply: &Reply) {
        let network = reply.elapsed.saturating_sub(reply.sojourn).nanos();
        // Jacobson's gain of 1/8; the first sample stands as it is.
        self.network_ns =
            if self.network_ns == 0 { network } else { (7 * self.network_ns + network) / 8 };
        if reply.outcome == crate::Outcome::Served {
            self.follow_quantile(reply.sojourn.nanos());
        }
    }

    /// What a request that leaves now will need until its answer is here.
    pub(super) const fn needs(&self) -> Duration {
        Duration::from_nanos(self.network_ns + self.sojourn_ns)
    }

    /// Stochastic approximation: up by q·step on a larger sample, down by (1−q)·step on a smaller
    /// one, so that it rests where a share q of the samples lies below. Needs no memory, which
    /// counts with ten thousand clients in a process.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "times stay far below 2^52 ns"
    )]
    fn follow_quantile(&mut self, sample: u64) {
        if self.sojourn_ns == 0 {
            self.sojourn_ns = sample;
            return;
        }
        let step = self.sojourn_ns as f64 / 8.0;
        let change =
            if sample > self.sojourn_ns { self.quantile } else { self.quantile - 1.0 } * step;
        self.sojourn_ns = (self.sojourn_ns as f64 + change).max(1.0) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Offer, Outcome};
    use tailwater_core::{Rng, Stamp};

    #[test]
    fn follows_the_quantile_of_exponential_sojourns() {
        let mut pace = Pace::new(0.9);
        let mut rng = Rng::from_seed(5);
        let (mut sum, mut count) = (0.0, 0.0);
        for round in 0..40_000 {
            let sojourn = Duration::from_nanos(rng.exponential(100_000.0) as u64);
            pace.on_reply(&Reply {
                outcome: Outcome::Served,
                offer: Offer::OPEN,
                stamp: Stamp(0),
                elapsed: sojourn + Duration::from_micros(20),
                sojourn,
                waited: Duration::ZERO,
            });
            if round > 1_000 {
                sum += pace.needs().as_secs_f64() * 1e6;
                count += 1.0;
            }
        }
        let mean_us = sum / count;
        assert!((220.0..300.0).contains(&mean_us), "20 + 230 expected, {mean_us} found");
    }
}
