//! What a run shows of itself and of the operating system where it was watched: see [`Traits`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The distribution of a run's latency, and what the operating system did for it in the measured window.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Traits {
    /// Mean latency of served requests from their intended time, in µs.
    pub mean_us: f64,
    /// Shares of served requests, and the latency in µs that they do not exceed; rising.
    pub latency: Vec<(f64, f64)>,
    /// What could not be had, and what to type for it; empty where all was.
    pub missing: Vec<String>,
    /// Events of the kernel that were lost: with many, times are too short and waits too few.
    pub events_lost: u64,
    /// Segments that TCP sent again, by all programs, per second; `None` where that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions_per_s: Option<f64>,
    /// Softirqs of the whole machine by kind, per second.
    pub softirqs_per_s: BTreeMap<String, f64>,
    /// The front and each tier, in the order of [`Run::tiers`](crate::result::Run::tiers).
    pub tiers: Vec<TierTraits>,
}

/// What the operating system did for the threads of a tier. `None` and empty where events could not be had, or where it was
/// gone. Parts of the watch take turns: counts are those of the window, quantiles those of their part of it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TierTraits {
    /// System calls by name, per second; under [`ALL_CALLS`] all of them, and under `futex waits` those of `futex` that wait.
    pub syscalls_per_s: BTreeMap<String, f64>,
    /// What its threads did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<ThreadTime>,
    /// Softirqs that ran while its threads had the core, by kind: none of a kind that is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirqs: Option<BTreeMap<String, SoftirqTraits>>,
}

/// The key of all system calls together.
pub const ALL_CALLS: &str = "all";

/// What threads did, all of them together.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Threads that were seen.
    pub threads: u32,
    /// Time with a core ÷ time.
    pub running_ratio: f64,
    /// Time in a run queue ÷ time.
    pub runnable_ratio: f64,
    /// Time asleep ÷ time.
    pub asleep_ratio: f64,
    /// Time of which events tell nothing ÷ time.
    pub unknown_ratio: f64,
    /// Waits for a core, per second.
    pub waits_per_s: f64,
    /// Their median, in µs.
    pub wait_p50_us: f64,
    /// Their 99th percentile.
    pub wait_p99_us: f64,
    /// Their 99.9th percentile.
    pub wait_p999_us: f64,
}

/// Softirqs of one kind.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SoftirqTraits {
    /// How many, per second.
    pub per_s: f64,
    /// How long the median one took, in µs.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
}
