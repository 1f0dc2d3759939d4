//! The thesis' equations: the cycles that a second's work takes with an accelerator, against those without.

use super::design::{Design, Terms};

/// The model's parameters, as single numbers (thesis, Table 6.5). Costs are in cycles of the host and of a single
/// offload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// C: cycles that the host spends on all logic in a unit of time. Positive.
    pub host: f64,
    /// α: the share of C that goes to the offloads counted by `offloads`. At least 0 and below 1.
    pub kernel_share: f64,
    /// n: offloads in the unit of time.
    pub offloads: f64,
    /// o₀: setting up.
    pub setup: f64,
    /// L: moving the data to the accelerator.
    pub transfer: f64,
    /// Q: waiting for the accelerator.
    pub queueing: f64,
    /// o₁: switching threads once.
    pub switch: f64,
    /// A: how much faster the accelerator is; `None` where it is not known.
    pub acceleration: Option<f64>,
    /// Offloads that share one set-up; 1 in the thesis.
    pub batch: f64,
    /// Hosts whose offloads fill a batch together; 1 in the thesis.
    pub hosts: f64,
    /// Cycles of the host's clock in the unit of time, on one core: what batches fill in. C counts busy cycles, of which
    /// many cores have more and an idle host fewer.
    pub elapsed: f64,
}

impl Parameters {
    /// C/C_S: the factor by which throughput grows. Equations 6.1, 6.3 and 6.6.
    ///
    /// `None` where it depends on an unknown A.
    #[must_use]
    pub fn speedup(&self, design: Design) -> Option<f64> {
        Some(1.0 / self.remaining(design.of_throughput())?)
    }

    /// C/C_L: the factor by which a request's latency shrinks. Equations 6.1, 6.5, 6.6 and 6.8.
    ///
    /// Latency counts as cycles: time that a request waits for cores or for other services is not in it. The wait for a
    /// batch to fill is. `None` where it depends on an unknown A.
    #[must_use]
    pub fn latency_reduction(&self, design: Design) -> Option<f64> {
        Some(1.0 / self.remaining(design.of_latency())?)
    }

    /// Kernel cycles from which on an offload brings more than it costs: C_b·g^β of equations 6.2, 6.4 and 6.7 for
    /// throughput, and of the inequalities below 6.5 and 6.8 for latency. Infinite where no size does.
    ///
    /// `None` where it depends on an unknown A.
    #[must_use]
    pub fn break_even_cycles(&self, terms: Terms) -> Option<f64> {
        let saved = if terms.kernel { 1.0 - 1.0 / self.acceleration? } else { 1.0 };
        let cost = self.cost(terms);
        Some(match (cost > 0.0, saved > 0.0) {
            (false, true) => 0.0,
            (true, true) => cost / saved,
            (_, false) => f64::INFINITY,
        })
    }

    /// The share of C that is still spent.
    fn remaining(&self, terms: Terms) -> Option<f64> {
        let kernel = if terms.kernel { self.kernel_share / self.acceleration? } else { 0.0 };
        // Without an offload there is no gap to wait for.
        let cost = if self.offloads > 0.0 { self.cost(terms) } else { 0.0 };
        let offloading = self.offloads / self.host * cost;
        Some(1.0 - self.kernel_share + kernel + offloading)
    }

    /// Cycles around one offload.
    fn cost(&self, terms: Terms) -> f64 {
        let transfer = if terms.transfer { self.transfer + self.queueing } else { 0.0 };
        let filling = if terms.filling { self.filling() } else { 0.0 };
        self.setup / self.batch + transfer + filling + terms.switches * self.switch
    }

    /// Cycles that an offload waits for others of its batch: (b − 1)/2 gaps between the offloads of all hosts.
    fn filling(&self) -> f64 {
        let others = (self.batch - 1.0) / 2.0;
        if others > 0.0 { others * self.elapsed / (self.offloads * self.hosts) } else { 0.0 }
    }
}
