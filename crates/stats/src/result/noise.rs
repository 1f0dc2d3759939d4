//! What disturbed the machine.

use serde::{Deserialize, Serialize};

/// What disturbed the machine while a run was measured. What was not read is `None`: it is no zero, and a rule on it
/// voids the run. In virtual time nothing disturbs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Noise {
    /// Time stolen by the hypervisor, share of one core.
    pub steal_ratio: f64,
    /// Involuntary context switches of the server's threads, per second.
    pub server_involuntary_per_s: Option<f64>,
    /// Involuntary context switches of the generator's threads, per second.
    pub load_involuntary_per_s: f64,
    /// Time that the server's threads could run and did not, added up, ÷ time.
    #[serde(default)]
    pub server_run_delay_ratio: Option<f64>,
    /// The same of the generator's threads.
    #[serde(default)]
    pub load_run_delay_ratio: f64,
    /// Time of processes that do not belong to the run, as a share of one core. Processes that a fault killed or started
    /// belong to it. The kernel counts in ticks of 10 ms.
    #[serde(default)]
    pub foreign_cpu_ratio: Option<f64>,
}

impl Default for Noise {
    /// None at all, as in virtual time.
    fn default() -> Self {
        Self {
            steal_ratio: 0.0,
            server_involuntary_per_s: Some(0.0),
            load_involuntary_per_s: 0.0,
            server_run_delay_ratio: Some(0.0),
            load_run_delay_ratio: 0.0,
            foreign_cpu_ratio: Some(0.0),
        }
    }
}
