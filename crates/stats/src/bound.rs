//! The goodput of free first-come-first-served admission that knows all of the work it has
//! admitted.
//!
//! Refusing costs nothing, nor does control; the backlog of every core is known to the nanosecond;
//! no core idles while an admitted request waits. What is left to choose is whom to admit, and that
//! depends on what is known of a request before it runs: see [`Knowledge`].
//!
//! Left out is all that costs real servers more: refusals, control messages, stalls of the machine,
//! a network whose delay varies (here it is a constant). Left out as well is what could gain more:
//! serving out of order of arrival, and refusing costly requests although they would fit.

use std::time::Duration;
use tailwater_core::{Nanos, Rate, Rng};

/// What the admission knows of a request that knocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// Its cost: it is admitted exactly when it would finish within the SLO. Beyond capacity this picks the short
    /// ones, since what no longer fits is mostly long. So it serves more requests than the capacity for average ones:
    /// exponential costs at twice the capacity give 1.52 ×.
    Cost,
    /// Nothing but the backlog ahead of it: it is admitted when its wait would be within a limit,
    /// the best of [`LIMITS`] tried, and may then end late. What is admitted costs the average, so
    /// this never exceeds capacity. Breakwater, DAGOR, CoDel and their like know no more than this.
    Backlog,
}

/// How many limits on the wait are tried for [`Knowledge::Backlog`], equally spaced up to the whole
/// time there is. The goodput is flat around its best limit: finer steps change its fourth digit.
pub const LIMITS: u32 = 40;

/// What [`bound`] computes the goodput for.
pub struct BoundSpec<'a> {
    /// Draws a request's whole cost on a core in ns, overhead per request included, so that its
    /// mean is cores ÷ capacity. What goes wrong: with the handler's time alone, the bound is one
    /// that no real server on this transport can come near.
    pub service: &'a mut dyn FnMut() -> f64,
    /// What is known before a request runs.
    pub knows: Knowledge,
    /// Cores that serve one common queue.
    pub cores: u32,
    /// Rate of the Poisson arrivals.
    pub demand: Rate,
    /// The objective on the whole time a client waits.
    pub slo: Duration,
    /// The part of it that every request spends outside the server.
    pub base: Duration,
    /// How many arrivals to play; the first tenth only warms up. The standard error of the result
    /// is near `demand ÷ √requests` or better: a million gives three digits.
    pub requests: u32,
    /// Decides the arrivals.
    pub seed: u64,
}

/// Goodput of free first-come-first-served admission. Zero when there are no cores, no demand, or
/// less than ten requests.
#[must_use]
pub fn bound(spec: BoundSpec<'_>) -> Rate {
    let BoundSpec { service, knows, cores, demand, slo, base, requests, seed } = spec;
    let warm_up = requests / 10;
    if cores == 0 || warm_up == 0 || demand.0.is_nan() || demand.0 <= 0.0 {
        return Rate(0.0);
    }
    let mut arrivals = Rng::from_seed(seed).split("bound");
    let mut servers = servers(knows, cores, slo.saturating_sub(base).nanos() as f64);
    let (mut now, mut measured_from) = (0.0, 0.0);
    for index in 0..requests {
        now += arrivals.exponential(1e9 / demand.0);
        let cost = service();
        for server in &mut servers {
            let in_time = server.offer(now, cost);
            server.in_time += u32::from(in_time && index >= warm_up);
        }
        if index < warm_up {
            measured_from = now;
        }
    }
    let best = servers.iter().map(|server| server.in_time).max().unwrap_or(0);
    Rate(f64::from(best) * 1e9 / (now - measured_from))
}

/// One server for each way of admitting that is tried; all see the same requests.
fn servers(knows: Knowledge, cores: u32, budget_ns: f64) -> Vec<Server> {
    let server = |wait_max_ns| Server {
        free_at_ns: vec![0.0; cores as usize],
        budget_ns,
        wait_max_ns,
        in_time: 0,
    };
    match knows {
        Knowledge::Cost => vec![server(None)],
        Knowledge::Backlog => (0..LIMITS)
            .map(|step| server(Some(budget_ns * f64::from(step) / f64::from(LIMITS))))
            .collect(),
    }
}

struct Server {
    /// When each core has finished all that was admitted to it.
    free_at_ns: Vec<f64>,
    /// The SLO less the time spent elsewhere.
    budget_ns: f64,
    /// The longest wait admitted; `None` when costs are known and the budget itself decides.
    wait_max_ns: Option<f64>,
    in_time: u32,
}

impl Server {
    /// Admits the request or not; whether it ends in time.
    fn offer(&mut self, now: f64, cost: f64) -> bool {
        let soonest = self
            .free_at_ns
            .iter_mut()
            .min_by(|a, b| a.total_cmp(b))
            .expect("a server without cores is turned away before");
        let start = soonest.max(now);
        let in_time = start + cost - now <= self.budget_ns;
        let admitted = self.wait_max_ns.map_or(in_time, |wait_max| start - now <= wait_max);
        if admitted {
            *soonest = start + cost;
        }
        admitted && in_time
    }
}

#[cfg(test)]
mod tests;
