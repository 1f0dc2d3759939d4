//! What was found, part by part, and what of it was promised beforehand.

use crate::counts::Counts;
use machine::Origin;
use serde::{Deserialize, Serialize};

/// All parts. Those that were not run are as an earlier run had them.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) answers: Option<Answers>,
    pub(crate) unloaded: Option<Unloaded>,
    pub(crate) switches: Option<Switches>,
    pub(crate) memory: Option<Memory>,
    pub(crate) pace: Option<Pace>,
    goals: Vec<Goal>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Answers {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) requests: usize,
    pub(crate) models: Vec<Answered>,
}

/// What a model did with the requests. All answers were right, or there would be no report.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answered {
    pub(crate) model: String,
    pub(crate) right: usize,
    pub(crate) not_carried_out: usize,
    pub(crate) carried_out_twice: usize,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Unloaded {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) rounds: usize,
    pub(crate) requests: usize,
    /// Of one thread by another on the same core: half of a ping-pong.
    pub(crate) wake_us: f64,
    /// Of an item between two threads on the same core, by a queue, a bell and a poller.
    #[serde(default)]
    pub(crate) hand_over_us: f64,
    /// A system call of a hand-over that nobody sleeps for.
    #[serde(default)]
    pub(crate) call_us: f64,
    /// What the kernel does for a request, in models that stand in a pair.
    #[serde(default)]
    pub(crate) counts: Vec<Counted>,
    pub(crate) models: Vec<Latency>,
    pub(crate) pairs: Vec<Pair>,
}

/// Of a model, and of threads that make its system calls alone.
#[derive(Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) model: String,
    pub(crate) ours: Counts,
    pub(crate) alone: Counts,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) model: String,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// A model with a pool, and the one without.
#[derive(Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) with: String,
    pub(crate) without: String,
    pub(crate) difference_us: f64,
    pub(crate) expected_us: f64,
    /// That of threads which make their system calls alone, and of how many calls and switches it is.
    #[serde(default)]
    pub(crate) alone: Difference,
}

/// How much more a request takes.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Difference {
    pub(crate) us: f64,
    /// `None` where counting them is not allowed.
    pub(crate) calls: Option<f64>,
    pub(crate) switches: f64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Switches {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) switches: usize,
    pub(crate) models: usize,
    pub(crate) rate_rps: f64,
    pub(crate) requests: usize,
    pub(crate) not_carried_out: usize,
    pub(crate) carried_out_twice: usize,
    pub(crate) held: Latency,
    pub(crate) changing: Latency,
    pub(crate) followed_p50_us: f64,
    pub(crate) followed_p95_us: f64,
    pub(crate) followed_max_us: f64,
    /// The same less what the front's loop or the changing thread waited for a core.
    #[serde(default)]
    pub(crate) with_core_p50_us: f64,
    #[serde(default)]
    pub(crate) with_core_p95_us: f64,
    #[serde(default)]
    pub(crate) with_core_max_us: f64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Memory {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) loops: usize,
    pub(crate) connections: usize,
    pub(crate) bytes_each: f64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Pace {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) rates: Vec<Paced>,
}

/// How late the generator came at this rate, and a loop beside it that does nothing but sleep.
#[derive(Serialize, Deserialize)]
pub(crate) struct Paced {
    pub(crate) rate_rps: f64,
    pub(crate) repetitions: usize,
    pub(crate) generator_p95_us: f64,
    pub(crate) generator_p99_us: f64,
    pub(crate) bare_p95_us: f64,
    pub(crate) bare_p99_us: f64,
    /// Runs whose gaps were exponential, and of which enough was sent; none in files of before it was read.
    #[serde(default)]
    pub(crate) audits_passed: Option<usize>,
    /// The generator's before all normal threads of its core; none where the kernel refused that, or it was not tried yet.
    #[serde(default)]
    pub(crate) first_p95_us: Option<f64>,
    #[serde(default)]
    pub(crate) first_p99_us: Option<f64>,
    /// Audits of these; none in files of before they were counted.
    #[serde(default)]
    pub(crate) first_audits_passed: Option<usize>,
}

/// What was promised, and whether it was kept.
#[derive(Serialize, Deserialize)]
struct Goal {
    part: String,
    goal: String,
    found: String,
    met: bool,
}

impl Report {
    /// What an earlier run of this part promised is forgotten.
    pub(crate) fn begin(&mut self, part: &str) {
        self.goals.retain(|goal| goal.part != part);
    }

    /// Says whether a goal of a part was met.
    pub(crate) fn judge(&mut self, part: &str, goal: &str, found: String, met: bool) {
        println!("{} {goal}: {found}", if met { "met   " } else { "MISSED" });
        self.goals.push(Goal { part: part.into(), goal: goal.into(), found, met });
    }

    pub(crate) fn has_met_all(&self) -> bool {
        self.goals.iter().all(|goal| goal.met)
    }
}
