//! How the generator of load kept to its schedule.

use super::skip::is_zero;
use serde::{Deserialize, Serialize};

/// How late requests were sent or queued, and how far the schedule slipped.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GeneratorReading {
    /// Sending or queueing − intended time, 50th percentile.
    pub lateness_p50_us: f64,
    /// The same, 95th percentile; 0 in results of earlier versions.
    #[serde(default)]
    pub lateness_p95_us: f64,
    /// The same, 99th percentile.
    pub lateness_p99_us: f64,
    /// How far the schedule had slipped by the end of the window, where each gap began when the request before was
    /// really sent. The arrivals `metronome` are such; 0 where requests have fixed times.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slipped_us: f64,
}
