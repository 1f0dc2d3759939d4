//! The course of a run.

use serde::{Deserialize, Serialize};

/// Equal bins over the measured window, by intended time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Width of a bin.
    pub bin_us: f64,
    /// Intended requests per second.
    pub offered_rps: Vec<f64>,
    /// Answers within the SLO per second.
    pub goodput_rps: Vec<f64>,
    /// 99th percentile of latency in the bin; 0 where nothing was served.
    pub p99_us: Vec<f64>,
    /// Median reject delay in the bin; 0 where nothing was shed.
    pub reject_p50_us: Vec<f64>,
    /// Demand ÷ capacity that the scenario asked for in the bin's middle.
    pub demand_ratio: Vec<f64>,
}
