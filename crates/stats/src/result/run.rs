//! One run: what was asked, what came of it, and whether it counts.

use super::readings::{
    ChangeReading, ClassReading, FaultReading, LockReading, RetryReport, TierReading,
};
use crate::connections::ConnectionReading;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;

/// One run of one controller at one demand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// Name in the catalog.
    pub controller: String,
    /// Its profile, with overrides in brackets.
    pub profile: String,
    /// How its requests were spread in time, as scenario files say it; empty in results of earlier versions. Where a
    /// scenario has several, the profile ends in it, too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arrivals: String,
    /// The server refused at start what was past its deadline, whatever the controller.
    #[serde(default)]
    pub deadlines_enforced: bool,
    /// Logical clients, each with a connection and control state of its own.
    pub clients: u32,
    /// The objective that goodput counts against.
    pub slo_us: f64,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// Demand ÷ capacity; for stepped scenarios the mean.
    pub demand_ratio: f64,
    /// The capacity this run is quoted against: the mean of the measurements before and after it.
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
    /// Requests per second that the schedule was asked to hold in the measured window; 0 when only
    /// [`Run::offered_rps`], what it did hold, is known.
    pub asked_rps: f64,
    /// Intended requests per second in the measured window.
    pub offered_rps: f64,
    /// Answers (served, in time or late) per second.
    pub throughput_rps: f64,
    /// Answers within the SLO per second.
    pub goodput_rps: f64,
    /// Goodput ÷ capacity.
    pub goodput_of_capacity: f64,
    /// Goodput ÷ bound.
    pub goodput_of_bound: f64,
    /// Where every intended request of the window went.
    pub fates: Fates,
    /// How many of the lost the generator could not even hand to a client.
    pub unsent: u64,
    /// Sheds by reason.
    pub shed_by_reason: BTreeMap<String, u64>,
    /// Latency of served requests from their intended time, median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Shed ÷ received by the server.
    pub drop_ratio: f64,
    /// From sending a request to receiving its reject, median; 0 when nothing was shed.
    pub reject_p50_us: f64,
    /// Lateness of the generator: sending or queueing ÷ intended time, 50th percentile.
    pub lateness_p50_us: f64,
    /// Lateness of the generator, 95th percentile.
    #[serde(default)]
    pub lateness_p95_us: f64,
    /// Lateness of the generator, 99th percentile.
    pub lateness_p99_us: f64,
    /// How far the schedule had slipped by the end of the window, where each gap began when the request before was
    /// really sent. The arrivals `metronome` are such; 0 where requests have fixed times.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slipped_us: f64,
    /// CPU (blocking reception) or busy time (spinning) of the server per request it received. Where it tells no counts and
    /// blocks: CPU per request that was answered.
    pub server_cpu_ns_per_request: f64,
    /// What the server's processes had of the memory at the end of the window; 0 where it was not read.
    #[serde(default, skip_serializing_if = "is_none_counted")]
    pub server_memory_bytes: u64,
    /// Messages the server received per served request.
    pub rx_per_request: f64,
    /// Messages the server sent per served request.
    pub tx_per_request: f64,
    /// Messages that carried nothing but credits, per second.
    pub explicit_credits_rps: f64,
    /// Whether every rule fixed beforehand holds.
    pub valid: bool,
    /// The rules that do not hold.
    pub invalid_because: Vec<String>,
    /// Why [`Run::goodput_of_bound`] is in doubt: goodput exceeds the bound by more than chance explains. It does not make
    /// the run invalid, since results never decide. `None` where it is not, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_doubt: Option<String>,
    /// Answers that were not what was asked for. One voids the run.
    #[serde(default, skip_serializing_if = "is_none_counted")]
    pub wrong_answers: u64,
    /// Answers in the measured window that lacked a part, as the scenario lets them: they count as late, whenever they came.
    #[serde(default, skip_serializing_if = "is_none_counted")]
    pub partial_answers: u64,
    /// How often the service lost a replica of its data since its start, as its answers told.
    #[serde(default, skip_serializing_if = "is_none_counted")]
    pub replicas_lost: u64,
    /// How often one of these came back.
    #[serde(default, skip_serializing_if = "is_none_counted")]
    pub replicas_returned: u64,
    /// Whether replicas held the same after the run, where the application was asked that. A difference counts as a wrong answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas_compared: Option<ReplicasCompared>,
    /// The generator's connections, where one was lost. Such a run does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionReading>,
    /// The generator's audit of itself: whether the gaps that it really sent are exponential. Told, and
    /// not judged by: its turns of a few µs show in it before they matter. `None` for steps.
    #[serde(default)]
    pub audit: Option<crate::audit::Audit>,
    /// What clients of several replicas did when one refused; `None` where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryReport>,
    /// What went wrong, as the scenario asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultReading>,
    /// Threading models that the server changed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeReading>,
    /// Machine noise during the window.
    pub noise: Noise,
    /// Per-bin series, for stepped scenarios.
    pub series: Option<Series>,
    /// What was waited at named locks; empty where there are none. On loopback in the measured window,
    /// in simulation in the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockReading>,
    /// The front and each tier, where there are tiers; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierReading>,
    /// What became of each class, the cheapest first; empty where all requests call one method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassReading>,
    /// The most requests per second that a server could serve which knows their costs and serves the cheapest first.
    /// It refuses for nothing and has all the time in the world; 0 where they have no classes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub known_bound_rps: f64,
    /// What it showed of itself and of the operating system, where it was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traits: Option<crate::traits::Traits>,
    /// How many served requests had which latency, in ns. `tailwater load` alone tells them: by these, loads of several
    /// machines become one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_counts_ns: BTreeMap<u64, u64>,
}

const fn is_none_counted(count: &u64) -> bool {
    *count == 0
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// The fate of every intended request; the five add up to all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Fates {
    /// Served within the SLO.
    pub ok: u64,
    /// Served after it, or with a part missing.
    pub late: u64,
    /// Given up at the client before sending.
    pub expired: u64,
    /// Rejected by the server.
    pub shed: u64,
    /// Sent, never answered; or never sent because the generator could not.
    pub lost: u64,
}

impl Fates {
    /// All intended requests; of a file that claims more than can be counted, the most that can.
    #[must_use]
    pub const fn total(&self) -> u64 {
        let served = self.ok.saturating_add(self.late);
        let refused = self.expired.saturating_add(self.shed);
        served.saturating_add(refused).saturating_add(self.lost)
    }
}

impl AddAssign for Fates {
    fn add_assign(&mut self, other: Self) {
        self.ok += other.ok;
        self.late += other.late;
        self.expired += other.expired;
        self.shed += other.shed;
        self.lost += other.lost;
    }
}

impl Sum for Fates {
    fn sum<I: Iterator<Item = Self>>(fates: I) -> Self {
        let mut sum = Self::default();
        fates.for_each(|one| sum += one);
        sum
    }
}

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

/// Keys whose replicas were compared after a run.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct ReplicasCompared {
    /// A sample of the keys that were written.
    pub keys: u64,
    /// Of these, those of which fewer than two replicas could be asked.
    pub untold: u64,
    /// Those whose replicas did not hold the same.
    pub differ: u64,
    /// How many reads the replicas have answered, in the order in which a key has them. None in results of before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gets: Vec<u64>,
}

impl ReplicasCompared {
    /// Of two generators.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let at = |gets: &[u64], place: usize| gets.get(place).copied().unwrap_or(0);
        let places = self.gets.len().max(other.gets.len());
        Self {
            keys: self.keys + other.keys,
            untold: self.untold + other.untold,
            differ: self.differ + other.differ,
            gets: (0..places).map(|it| at(&self.gets, it) + at(&other.gets, it)).collect(),
        }
    }
}
