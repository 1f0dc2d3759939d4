//! How much was refused, and how soon clients knew.

use serde::{Deserialize, Serialize};

/// What was refused of the requests that the server received.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RefusalReading {
    /// Shed ÷ received by the server.
    pub drop_ratio: f64,
    /// From sending a request to receiving its reject, median; 0 when nothing was shed.
    pub reject_p50_us: f64,
}
