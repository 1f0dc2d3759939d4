//! What a node's threads are, and when that changes.

use std::time::Duration;
use tailwater_workload::Service;
use tailwater_workload::scenario::{Model, Struck};

/// How a node shares its work among threads (docs/threading.md), and what threads cost each other.
///
/// Each loop is a thread, and so is each worker and each member of a crew. They share the node's cores: a thread that has
/// work keeps its core, for [`Threads::SLICE`] where others wait for one.
#[derive(Clone, PartialEq, Debug)]
pub struct Threads {
    /// The model that the node begins with, also after a restart.
    pub model: Model,
    /// From waking a sleeping thread until it runs on an idle core. A thread that is woken while all cores are busy
    /// waits for one in its place. The seed decides each.
    pub wake_up: Service,
    /// What it costs a thread to wake another one, on an idle core, for a request, a fan or a call that it hands over.
    pub hand_over: Duration,
    /// What it costs a core to turn to another thread, unless that was woken for it.
    pub switch: Duration,
}

impl Threads {
    /// How long a thread keeps a core that others wait for: two busy threads of one core took turns of this length on
    /// Linux 6.1.
    pub const SLICE: Duration = Duration::from_millis(4);
}

/// Nodes change their threading model while they serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// When, from the run's beginning.
    pub at: Duration,
    /// Which nodes; those without [`Threads`] take no notice.
    pub nodes: Struck,
    /// What new requests are served by from then on.
    pub model: Model,
}
