//! What the server spent on requests.

use super::skip::is_none_counted;
use serde::{Deserialize, Serialize};

/// What requests cost the server in the measured window, in time, memory and messages. What could not be read is 0.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ServerReading {
    /// CPU (blocking reception) or busy time (spinning) of the server per request it received. Where it tells no counts and
    /// blocks: CPU per request that was answered.
    #[serde(rename = "server_cpu_ns_per_request")]
    pub cpu_ns_per_request: f64,
    /// What the server's processes had of the memory at the end of the window; 0 where it was not read.
    #[serde(rename = "server_memory_bytes", default, skip_serializing_if = "is_none_counted")]
    pub memory_bytes: u64,
    /// Messages the server received per served request.
    pub rx_per_request: f64,
    /// Messages the server sent per served request.
    pub tx_per_request: f64,
    /// Messages that carried nothing but credits, per second.
    pub explicit_credits_rps: f64,
}
