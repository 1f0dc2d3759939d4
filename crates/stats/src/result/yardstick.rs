//! What a run's goodput is quoted against.

use super::skip::is_zero;
use serde::{Deserialize, Serialize};

/// The capacity around a run, and the bound that follows from it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Yardstick {
    /// The mean of the measurements of capacity before and after the run.
    pub capacity_rps: f64,
    /// Their difference ÷ their mean; 0 where there was but one.
    #[serde(default)]
    pub capacity_drift: f64,
    /// Goodput of free, omniscient-cost first-come-first-served admission.
    pub bound_rps: f64,
    /// How far chance moves goodput ÷ bound: both draw service times, whose mean has this relative standard error.
    /// 0 where nothing is drawn, or it was not computed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bound_error: f64,
}
