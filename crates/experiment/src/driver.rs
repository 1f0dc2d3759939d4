//! What an experiment asks of whatever plays it, and of whoever watches.

use crate::spoiled::Spoiled;
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::Rate;
use tailwater_stats::result::{Manifest, Run};
use tailwater_workload::DemandPlan;
use tailwater_workload::scenario::{Configuration, ControllerSpec, Model, ModelChange, Tier};

/// Plays single pieces of an experiment: sockets and processes, or virtual time.
pub trait Driver {
    /// Why a piece could not be played.
    type Failure;

    /// What results call it: `loopback` or `sim`.
    fn name(&self) -> &'static str;

    /// Where, when and with what it plays. Asked once, before everything else.
    fn manifest(&self) -> Manifest;

    /// Whether the machine may be faster or slower an hour later. Capacity is then measured around every
    /// block of runs, and the order of runs is drawn; where nothing drifts, once is enough.
    fn drifts(&self) -> bool;

    /// What a request costs the server under this controller, for the bound, at a capacity of at least one request per
    /// second. The controller may have a threading model of its own; capacity is always the server's.
    fn cost(&self, controller: &ControllerSpec, capacity: Rate) -> Cost;

    /// Answers per second for each number of requests in flight, without control and with plain locks.
    ///
    /// # Errors
    /// When it cannot be played. The experiment ends there.
    fn closed_loop(&mut self, ask: &ClosedLoop) -> Result<Vec<(u32, f64)>, Self::Failure>;

    /// One run. The driver fills in what it measured; names, capacity, bound, ratios and validity are
    /// left to the experiment.
    ///
    /// # Errors
    /// When it cannot be played. The experiment ends there.
    fn open_run(&mut self, ask: &OpenRun<'_>) -> Result<Played, Self::Failure>;

    /// How many runs it plays at a time; 1 where they would disturb each other.
    fn at_a_time(&self) -> usize {
        1
    }

    /// Runs that do not depend on each other, in the order of the asks. What comes out is the same however
    /// many it plays at a time. Fewer than were asked for, the first of them, where the driver learnt meanwhile
    /// that it shall stop.
    ///
    /// # Errors
    /// As [`Driver::open_run`]: the first of them.
    fn open_runs(&mut self, asks: &[OpenRun<'_>]) -> Result<Vec<Played>, Self::Failure> {
        asks.iter().map(|ask| self.open_run(ask)).collect()
    }
}

/// A measurement of capacity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClosedLoop {
    /// Logical clients.
    pub clients: u32,
    /// Requests in flight over all of them, one point each.
    pub in_flight: Vec<u32>,
    /// Time before each point is measured.
    pub settle: Duration,
    /// Length of each point.
    pub measure: Duration,
    /// Decides the requests.
    pub seed: u64,
}

/// One run of one controller.
#[derive(Clone, Debug)]
pub struct OpenRun<'a> {
    /// Objective, clients and demand.
    pub configuration: &'a Configuration,
    /// The controller as the scenario has it.
    pub controller: &'a ControllerSpec,
    /// The same as the catalog takes it.
    pub spec: Spec,
    /// Requests per second, step by step and warm-up included.
    pub demand: DemandPlan,
    /// How long after the window answers count, at the most.
    pub drain: Duration,
    /// Whether the server refuses at start what is past its deadline.
    pub enforces_deadlines: bool,
    /// Decides the requests and all other draws.
    pub seed: u64,
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Played {
    /// Filled by the driver as [`Driver::open_run`] says.
    pub run: Run,
    /// Of each request of a stepped run, in order of time: its offset in the measured window and its
    /// latency, in µs; negative where it was not served, or only a part of it in time. Empty for steady demand.
    pub points: Vec<(f32, f32)>,
    /// Why the run cannot count whatever the rules say, as where its server ended or answered wrongly.
    pub trouble: Option<String>,
}

/// What the bound is computed from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// Cores of each server that compute.
    pub cores: u32,
    /// Queues of each server that share no core: each has an equal part of the cores, and its own clients.
    pub queues: u32,
    /// Servers.
    pub replicas: u32,
    /// Requests sleep for their service time, and hold no core meanwhile.
    pub sleeps: bool,
    /// What a request costs a core beside its service, in nanoseconds; all that it costs where it sleeps.
    pub overhead_ns: f64,
    /// The same beside a path through locks, in nanoseconds. Capacity says nothing of it where a lock
    /// limits the server; zero where nothing else tells, and the bound may then be high.
    pub path_overhead_ns: f64,
    /// Cores of the nodes of tiers.
    pub tier_cores: TierCores,
    /// Latency that no queue and no core is part of.
    pub base: Duration,
}

/// How many cores the nodes of a tier can compute on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierCores {
    /// As many each as the tier says, or as each server has.
    AsSaid,
    /// One each: a node has a single thread.
    OneEach,
    /// One each, of those that the tier is pinned to.
    Pinned,
}

impl TierCores {
    /// Of all nodes together, where each server has so many.
    pub(crate) fn of(self, tier: &Tier, server: u32) -> u32 {
        let nodes = tier.nodes * tier.replicas;
        match self {
            Self::AsSaid => tier.cores.unwrap_or(server) * nodes,
            Self::OneEach => nodes,
            Self::Pinned => pins(tier).map_or(nodes, |pins| pins.min(nodes)),
        }
    }
}

/// Cores that a tier's nodes are pinned to, each counted once; nothing where they are not.
fn pins(tier: &Tier) -> Option<u32> {
    let mut pins = tier.pin.clone();
    pins.sort_unstable();
    pins.dedup();
    u32::try_from(pins.len()).ok().filter(|cores| *cores > 0)
}

/// Cores and queues of the model with the most cores of all that a run has, where it begins with `first`: a bound must
/// hold for each of them. Of equals the one with fewer queues, which share more.
#[must_use]
pub fn widest(
    first: Model,
    changes: &[ModelChange],
    shape: impl Fn(Model) -> (u32, u32),
) -> (u32, u32) {
    let later = changes.iter().map(|change| shape(change.model));
    let order = |&(cores, queues): &(u32, u32)| (cores, std::cmp::Reverse(queues));
    later.fold(shape(first), |most, one| std::cmp::max_by_key(most, one, order))
}

/// What an experiment consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// A measurement of capacity, or the use of one that is given or known.
    Capacity,
    /// A run.
    Run,
}

/// What is told of an experiment's progress, and may stop it.
pub trait Watch {
    /// What is under way now.
    fn begins(&mut self, what: &str);

    /// That is done.
    fn done(&mut self, piece: Piece);

    /// Most runs so far do not count, and others are left to be made: by then nothing is under way. Told once at most.
    fn spoiled(&mut self, _: &Spoiled) {}

    /// Whether to stop here. What was run until then is the result, also where a piece failed because of
    /// what made it stop.
    fn stops(&self) -> bool;
}

/// No watcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Silence;

impl Watch for Silence {
    fn begins(&mut self, _: &str) {}

    fn done(&mut self, _: Piece) {}

    fn stops(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_workload::Scenario;

    #[test]
    fn each_replica_of_a_node_has_cores() {
        let text = r#"
slo = "400us"
duration = "200ms"
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
[[server.path]]
probability = 1.0
steps = [{ call = "leaf" }]
[[tier]]
name = "leaf"
nodes = 3
replicas = 2
service = "5us"
"#;
        let scenario = Scenario::parse("x.toml", text).unwrap_or_else(|error| panic!("{error}"));
        let mut tier = scenario.tiers[0].clone();
        let of = |tier: &Tier| {
            [TierCores::AsSaid, TierCores::OneEach, TierCores::Pinned].map(|it| it.of(tier, 2))
        };
        assert_eq!(of(&tier), [12, 6, 6]);
        tier.pin = vec![0, 1, 1, 2, 3];
        assert_eq!(of(&tier), [12, 6, 4]);
    }

    #[test]
    fn the_widest_model_of_a_run_decides_its_cores() {
        let shape = |model: Model| (1 + model.workers() as u32, 1);
        let [few, many] = ["sdb:1", "sdb:3"].map(|name| name.parse::<Model>().unwrap());
        assert_eq!(widest(few, &[], shape), (2, 1));
        let change = |model| ModelChange { at: Duration::ZERO, model };
        assert_eq!(widest(few, &[change(many)], shape), (4, 1));
        assert_eq!(widest(many, &[change(few)], shape), (4, 1));
    }
}
