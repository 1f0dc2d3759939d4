//! What was read of the parts of a run: tiers, classes, locks, tries, faults and changes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a tier did in the measured window, its nodes together. What was not read is `None`: it is no zero. Counts are not
/// known where a node did not say, and use of the machine where a process could not be read.
///
/// In simulation, refused requests that a tier's callers gave up count as received alone.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TierReading {
    /// Its name; empty for the front.
    pub tier: String,
    /// Its nodes, replicas of these included. On sockets they may share a process.
    pub nodes: u32,
    /// Requests that it received, per second.
    pub received_rps: Option<f64>,
    /// Requests that its handlers answered, per second.
    pub served_rps: Option<f64>,
    /// Requests that it refused ÷ received; those that waited when the window began count as received.
    pub drop_ratio: Option<f64>,
    /// These by reason.
    pub shed_by_reason: BTreeMap<String, u64>,
    /// Cores that it kept busy: CPU time ÷ time, or busy time where it spins.
    pub cores_used: Option<f64>,
    /// The same per request that it received; 0 where it received none.
    pub cpu_ns_per_request: Option<f64>,
    /// The queueing delay that its controllers act on, of the node where it is longest: in the mean over eleven looks on
    /// sockets, at the end in simulation. 0 where none is known, as under some controllers.
    pub delay_us: f64,
    /// How long a request had waited for the start of its handler, in the mean over those that it answered, whatever its
    /// controllers; not known in simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_us: Option<f64>,
    /// Resident memory of its processes at the end; 0 in simulation, and where none is there.
    pub memory_bytes: u64,
    /// Time that its threads could run and did not, added up, ÷ time; 0 in simulation.
    pub run_delay_ratio: Option<f64>,
    /// Involuntary context switches of its threads, per second; 0 in simulation.
    pub involuntary_per_s: Option<f64>,
    /// Voluntary ones; not known in simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_per_s: Option<f64>,
    /// Page faults of its processes, per second; not known in simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults_per_s: Option<f64>,
    /// The kernel's share of its CPU time, as ticks of 10 ms found it; not known in simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_share: Option<f64>,
    /// Second tries of calls to it; `None` where its callers told of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedges: Option<HedgeReading>,
}

/// Second tries of calls that were late, as their callers counted them. Those of callers that did not say, as such that were
/// killed, are not among them.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct HedgeReading {
    /// Second tries per second.
    pub sent_per_s: f64,
    /// Of these, answered while the first was still out.
    pub won_per_s: f64,
    /// Calls per second that were late while the budget was spent.
    pub over_budget_per_s: f64,
}

/// Requests that call the same method.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ClassReading {
    /// Its name.
    pub class: String,
    /// Intended requests per second.
    pub offered_rps: f64,
    /// Answers within the SLO per second.
    pub goodput_rps: f64,
    /// Answers within the SLO ÷ intended requests.
    pub share: f64,
    /// The same in the second of the window in which it was least.
    pub least_share: f64,
}

/// What was seen of the locks of one name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LockReading {
    /// Whose they are: a tier's name; empty for the front.
    pub tier: String,
    /// Their name.
    pub lock: String,
    /// How often one had to be waited for.
    pub contended: u64,
    /// How often a request was refused on entry.
    pub refused: u64,
    /// How often a waiter gave up.
    pub gave_up: u64,
    /// For how long they were waited for, added up.
    pub waited_us: f64,
    /// The longest wait, on loopback since the server started.
    pub longest_wait_us: f64,
}

/// How often clients went on to another replica, as shares of all requests of the run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RetryReport {
    /// Tried again after a shed.
    pub retried: f64,
    /// Moved on before they were sent, or begun.
    pub moved: f64,
    /// Sheds that only the budget kept from being tried again.
    pub over_budget: f64,
    /// From handing a request to its first replica to knowing that it failed there, lost ones included, 99th percentile
    /// since the measured window began; 0 when none did.
    pub failure_p99_us: f64,
}

/// Something that went wrong in a run, as it was asked for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FaultReading {
    /// Its kind, as in scenario files.
    pub fault: String,
    /// The tier that it struck; empty for the server that clients ask, and for what befalls clients.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tier: String,
    /// Which node of it, or which replica, from 1; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// When it began, from the beginning of the measured window. On sockets when it really did.
    pub at_ms: f64,
    /// How long it lasted; `None` where it outlasted the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<f64>,
}

/// The server's threading model changed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeReading {
    /// To which, as scenario files spell it.
    pub model: String,
    /// When, from the beginning of the measured window. On sockets when it was told so.
    pub at_ms: f64,
}
