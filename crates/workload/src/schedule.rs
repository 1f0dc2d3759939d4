//! When each request is intended to start: computed before the run, from a seed.

use crate::demand::{Arrivals, DemandPlan, Step};
use crate::service::Service;
use std::fmt;
use tailwater_core::{Nanos, Rng};

/// One intended request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// When, in nanoseconds from the start of the run.
    pub at: u64,
    /// Which client, from 0.
    pub client: u32,
    /// How long the server needs for it.
    pub service_ns: u32,
}

/// All intended requests in order of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Sorted by `at`.
    pub entries: Vec<Entry>,
}

/// Most entries: 16 bytes each, so under a gigabyte.
pub const ENTRIES_MAX: usize = 50_000_000;

/// A plan with more requests than can be held.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TooMany {
    /// Expected requests.
    pub expected: f64,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the plan asks for some {:.0} requests in one run, {ENTRIES_MAX} are possible; lower \
             the demand or the duration",
            self.expected
        )
    }
}

impl std::error::Error for TooMany {}

impl Schedule {
    /// Draws a schedule from a seed.
    ///
    /// One process of the total rate, each arrival given to a client at random: thinning a Poisson
    /// process at random yields independent Poisson processes, one per client. Times, clients and
    /// service times come from generators of their own, so that the n-th request costs the same
    /// at every demand.
    ///
    /// # Errors
    /// When the plan holds more requests than [`ENTRIES_MAX`].
    pub fn build(
        plan: &DemandPlan,
        clients: u32,
        service: &Service,
        seed: u64,
    ) -> Result<Self, TooMany> {
        let expected = plan.requests();
        #[expect(clippy::cast_precision_loss, reason = "a round constant")]
        if expected > 0.98 * ENTRIES_MAX as f64 {
            return Err(TooMany { expected });
        }
        let root = Rng::from_seed(seed);
        let mut times = root.split("arrivals");
        let mut choices = root.split("clients");
        let mut services = root.split("service");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded above"
        )]
        let mut entries = Vec::with_capacity((expected * 1.02) as usize + 1_000);
        let mut start_ns = 0;
        for step in &plan.steps {
            let end_ns = start_ns + step.length.nanos();
            each_arrival(step, plan.arrivals, start_ns, end_ns, &mut times, |at_ns| {
                entries.push(Entry {
                    at: at_ns,
                    client: choices.below(clients.max(1)),
                    service_ns: service.draw_ns(&mut services),
                });
            });
            start_ns = end_ns;
        }
        Ok(Self { entries })
    }
}

/// Calls `arrive` for each arrival of one step. Exponential gaps have no memory, so a step begins
/// afresh without a seam.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "times stay below 2^52 ns"
)]
fn each_arrival(
    step: &Step,
    arrivals: Arrivals,
    start_ns: u64,
    end_ns: u64,
    rng: &mut Rng,
    mut arrive: impl FnMut(u64),
) {
    if step.rate.0 <= 0.0 {
        return;
    }
    let mean_gap = 1e9 / step.rate.0;
    let mut at = start_ns as f64;
    loop {
        at += match arrivals {
            Arrivals::Poisson => rng.exponential(mean_gap),
            Arrivals::Periodic => mean_gap,
        };
        if at >= end_ns as f64 {
            return;
        }
        arrive(at as u64);
    }
}

#[cfg(test)]
mod tests;
