//! What one experiment found: the object that `tailwater run --json` prints.
//!
//! Field names carry their unit. Both drivers fill it; tables, plots and pages only read it.

use crate::rules::Rules;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

// Parts of the model; modules of their own, since recoveries and comparisons, which are parts too, are made with spreads.
pub use crate::connections::ConnectionReading;
pub use crate::spread::Spread;

/// A whole experiment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Experiment {
    /// Name of the scenario file without its ending.
    pub scenario: String,
    /// What its file is about, for people; empty where the file has no title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// `loopback` or `sim`.
    pub driver: String,
    /// How requests were spread in time, as scenario files say it, with commas where there were several; empty in results
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arrivals: String,
    /// The seed that decided schedule and service times.
    pub seed: u64,
    /// Plateau of the closed-loop sweep, median over all blocks of the first configuration.
    pub capacity_rps: f64,
    /// (largest − smallest) ÷ median of the capacity measurements of the first configuration.
    pub capacity_drift: f64,
    /// The objective of the first configuration.
    pub slo_us: f64,
    /// Every run that took place, also the invalid.
    pub runs: Vec<Run>,
    /// Medians and spread over the valid repetitions of each configuration.
    pub summary: Vec<Summary>,
    /// How fast each controller was back after each step that changes demand, for stepped scenarios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<StepRecovery>,
    /// What control costs the server, where `none` ran beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostOfControl>,
    /// Every measurement of capacity, for the drift.
    #[serde(default)]
    pub capacities: Vec<CapacityReading>,
    /// The rules that runs were judged by, where the scenario departs from the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// Why it ended before all its runs took place, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// Which part of an experiment it is, where machines shared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardMark>,
    /// What the server's application worked on, where it works on data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataUsed>,
    /// Runs that a rule on noise set aside, with the rule's reading.
    pub discarded: Vec<Discard>,
    /// Where, when and with what it was run.
    pub manifest: Manifest,
}

/// A part of an experiment, by which the whole is put together again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShardMark {
    /// Which it is, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
    /// Pairs of configuration and controller of all shards together.
    pub pairs: u32,
    /// Runs of each pair.
    pub repetitions: u32,
    /// Of the scenario and the flags that change it: the same in all shards.
    pub digest: String,
    /// Of the program that made it: the same in all shards.
    pub build: String,
}

/// Data that an application works on, prepared before the runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DataUsed {
    /// The name of its file in the folder of prepared data, without the ending.
    pub name: String,
    /// For people: which set, how many, and what was done to it.
    pub about: String,
    /// Where it was taken from: files, a package, or a generator with its seed.
    pub source: String,
    /// Under which terms the source may be used.
    pub licence: String,
    /// Of all its contents, in hexadecimal digits.
    pub sha256: String,
    /// Their length.
    pub bytes: u64,
}

/// Server CPU per request of a controller against `none`, in pairs of the same repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CostOfControl {
    /// As in [`Run`].
    pub controller: String,
    /// As in [`Run`].
    pub profile: String,
    /// As in [`Run`].
    pub clients: u32,
    /// As in [`Run`].
    pub slo_us: f64,
    /// As in [`Run`].
    pub demand_ratio: f64,
    /// Controller ÷ none.
    pub ratio: crate::compare::PairedRatio,
}

/// One measurement of capacity.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CapacityReading {
    /// Logical clients.
    pub clients: u32,
    /// Before which repetition, or between runs of which; the last is after all.
    pub repetition: u32,
    /// Requests in flight and answers per second of each point of the sweep.
    pub points: Vec<(u32, f64)>,
    /// Height of the plateau.
    pub plateau_rps: f64,
}

/// A step of demand, all its repetitions laid over one another.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StepRecovery {
    /// As in [`Run`].
    pub controller: String,
    /// As in [`Run`].
    pub profile: String,
    /// As in [`Run`].
    pub clients: u32,
    /// As in [`Run`].
    pub slo_us: f64,
    /// Which step of the cycle it is, from 0.
    #[serde(default)]
    pub step: usize,
    /// Demand ÷ capacity before the step.
    pub from_ratio: f64,
    /// Demand ÷ capacity after it.
    pub to_ratio: f64,
    /// What was found.
    pub recovery: crate::recovery::Recovery,
}

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
    /// CPU (blocking reception) or busy time (spinning) of the server per request it received.
    pub server_cpu_ns_per_request: f64,
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

const fn is_none_counted(count: &u64) -> bool {
    *count == 0
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
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
    /// Moved on before they were sent.
    pub moved: f64,
    /// Sheds that only the budget kept from being tried again.
    pub over_budget: f64,
    /// From handing a request to its first replica to knowing that it failed there, 99th percentile
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
    /// All intended requests.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.ok + self.late + self.expired + self.shed + self.lost
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
    /// Demand ÷ capacity that the scenario asked for at the bin's start.
    pub demand_ratio: Vec<f64>,
}

/// Median and spread over repetitions of one configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// As in [`Run`].
    pub controller: String,
    /// As in [`Run`].
    pub profile: String,
    /// As in [`Run`].
    pub clients: u32,
    /// As in [`Run`].
    pub slo_us: f64,
    /// As in [`Run`].
    pub demand_ratio: f64,
    /// Valid repetitions behind the numbers.
    pub repetitions: u32,
    /// Each quantity of [`Run`] that varies, by its field name.
    pub of: BTreeMap<String, Spread>,
}

/// A run set aside by a rule on noise, never by its result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Discard {
    /// Which controller, demand, clients and repetition.
    pub what: String,
    /// The rule and its reading.
    pub why: String,
}

/// Where, when and with what.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Version and commit of tailwater.
    pub tailwater: String,
    /// Seconds since 1970 at the start; 0 in simulation, whose output depends on the seed alone.
    pub started_unix: u64,
    /// CPU model; empty in simulation.
    pub cpu: String,
    /// CPUs the process may use; 0 in simulation.
    pub cpus: u32,
    /// How the generator's threads waited and were scheduled, as scenario files say it; empty in simulation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub generator: String,
    /// Kernel release; empty in simulation.
    pub kernel: String,
    /// The stalls of the machine that were simulated, per core; empty for a machine without, and on
    /// loopback, where the machine has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<StallReading>,
}

impl Manifest {
    /// The share of a core's time that the simulated stalls take.
    #[must_use]
    pub fn stalled_share(&self) -> f64 {
        let us_per_second = |kind: &StallReading| {
            let total_us: f64 = kind.lengths_us.iter().sum();
            kind.per_second * total_us / kind.lengths_us.len().max(1) as f64
        };
        self.stalls.iter().map(us_per_second).sum::<f64>() / 1e6
    }
}

/// Stalls of similar length.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StallReading {
    /// How many begin per second of one core.
    pub per_second: f64,
    /// Lengths, each as likely as the others.
    pub lengths_us: Vec<f64>,
}
