//! Worlds drawn at random, to find the one in which a rule breaks.
//!
//! A seed decides everything: clients, demand, service, network, controller, profile, settings, paths
//! with locks and further tiers, and faults. Start with [`Case::drawn`] and [`Case::run`]; `cargo run
//! --release -p tailwater-sim --example seeds` runs many. Cases are small, a few thousand requests, so
//! that a thousand of them take seconds.

mod dice;
mod servers;
mod threads;
mod walks;

use crate::simulate::{Broken, simulate_with};
use crate::trace::Trace;
use crate::world::{Costs, Intended, Link, NodeSpec, TierSpec, World};
use dice::{Dice, Micros as _};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::RetryConfig;
use tailwater_control::catalog::{CONTROLLERS, Controller, DEFAULT, Spec, profiles_of};
use tailwater_control::retry::First;
use tailwater_core::{Nanos, Rate, Ratio, Rng};
use tailwater_stats::result::Run;
use tailwater_workload::scenario::{
    Chosen, Claim, Direction, Fault, FaultKind, StallKind, Stalls, Struck,
};
use tailwater_workload::{
    Arrivals, Bursts, DemandPlan, Distribution, Pareto, Service, Step, Stream,
};

/// A world, its load and its controller.
#[derive(Clone, Debug)]
pub struct Case {
    /// Node, network, clients and faults.
    pub world: World,
    /// The controller of both ends, for every node.
    pub spec: Spec,
    /// What is asked.
    pub plan: DemandPlan,
    /// What each request costs.
    pub service: Service,
}

impl Case {
    /// The case that `seed` decides.
    #[must_use]
    pub fn drawn(seed: u64) -> Self {
        let mut dice = Dice(Rng::from_seed(seed).split("swarm"));
        let mut service = draw_service(&mut dice);
        if let Some(shape) = draw_shape(seed) {
            service.distribution = shape;
        }
        let (mut node, tiers) = draw_nodes(&mut dice, &service);
        // A generator of its own: what a seed drew before there was this choice it still draws.
        node.enforce_deadlines = Dice(Rng::from_seed(seed).split("swarm of deadlines")).chance(0.5);
        node.stalls = draw_stalls(seed);
        (node.loops, node.stealing) = draw_loops(seed);
        (node.connection_cost, node.coalescing) = draw_packets(seed);
        let link = Link { delay: dice.time(1, 50), jitter: dice.one_of([0, 0, 5, 20]).us() };
        let slo = (10 * (service.mean + 2 * link.delay)).max(100.us());
        let capacity_rps =
            f64::from(node.cores) / (service.mean + node.costs.per_request()).as_secs_f64();
        let (plan, measure) = draw_plan(&mut dice, capacity_rps, seed);
        let (replicas, retry, mut more) = draw_replicas(seed, slo);
        let faults = draw_faults(&mut dice, measure);
        let faults = faults.into_iter().map(|fault| {
            let nodes = draw_struck(&mut more, replicas, tiers.len());
            let of_server = matches!(fault.kind, FaultKind::ServerRestart | FaultKind::ServerPause);
            Fault { nodes: if of_server { nodes } else { fault.nodes }, ..fault }
        });
        let further = draw_further_fault(seed, measure, replicas, tiers.len());
        let faults: Vec<Fault> = faults.chain(further).collect();
        let queue_max = dice.one_of([1, 4, 64, 4_096]);
        let (mut spec, starved_max) = draw_spec(&mut dice, queue_max as u32, &faults);
        if spec.name == DEFAULT && draw_classes(seed) {
            node.modes = Some(service.clone());
            spec.overrides.push(("classes".into(), "0.3".into()));
        }
        let mut world = World {
            node,
            replicas,
            retry,
            tiers,
            link,
            clients: dice.number(1, 64) as u32,
            slo,
            warm_up: Duration::ZERO,
            measure,
            drain: 5_000.us(),
            bin: None,
            sample: None,
            faults,
            switches: Vec::new(),
            starved_max,
            client_queue_max: queue_max as u32,
            seed,
            repeat: format!(
                "cargo run --release -p tailwater-sim --example seeds -- --seed {seed}"
            ),
        };
        servers::replicate(seed, &mut world.tiers);
        threads::staff(seed, &mut world);
        Self { world, spec, plan, service }
    }

    /// A case in which all goes well but that nodes change their threading models all the time: a front and two tiers,
    /// which call each other. It lasts until every request has its fate, or nothing moves any more.
    #[must_use]
    pub fn switching(seed: u64) -> Self {
        let mut dice = Dice(Rng::from_seed(seed).split("swarm of switches"));
        let mut case = Self::drawn(seed);
        let tier = |number: usize, dice: &mut Dice| TierSpec {
            name: format!("tier {number}"),
            node: draw_node(dice),
            nodes: walks::NODES,
            connections: dice.number(1, 3) as u32,
            replicas: 1,
            retry: RetryConfig::default(),
            hedge: None,
        };
        let world = &mut case.world;
        world.tiers = (0..2).map(|number| tier(number, &mut dice)).collect();
        (world.faults, world.drain) = (Vec::new(), Duration::from_secs(5));
        // Clients of a front whose requests wait for its tiers are promised no time: see `docs/breakwater.md`.
        world.starved_max = None;
        world.repeat =
            format!("cargo run --release -p tailwater-sim --example seeds -- --switching {seed}");
        let ratio = dice.spread(0.05, 1.5);
        let cost = case.service.mean + world.node.costs.per_request();
        let rate = Rate(ratio * f64::from(world.node.cores) / cost.as_secs_f64());
        world.measure = Duration::from_secs_f64(dice.spread(100.0, 500.0) / rate.0);
        case.plan = DemandPlan {
            steps: vec![Step::steady(rate, world.measure)],
            arrivals: Arrivals::Poisson,
        };
        servers::replicate(seed, &mut world.tiers);
        threads::tree(seed, world, &case.service);
        // Nor is anything to calls between nodes: under some laws they would wait for longer than the run.
        if case.spec.name != DEFAULT {
            case.spec.overrides.retain(|(key, _)| key != "expiry");
            case.spec.overrides.push(("expiry".into(), "300us".into()));
        }
        case
    }

    /// The same, with responders in half of the asynchronous models.
    #[must_use]
    pub fn responding(seed: u64) -> Self {
        let mut case = Self::switching(seed);
        threads::add_responders(seed, &mut case.world);
        case.world.repeat =
            format!("cargo run --release -p tailwater-sim --example seeds -- --responding {seed}");
        case
    }

    /// The same case, with fork and join in half of the synchronous models.
    #[must_use]
    pub fn forking(mut self) -> Self {
        threads::add_forks(self.world.seed, &mut self.world);
        // Clients of a front whose requests wait for its crew are promised no time, as above.
        self.world.starved_max = None;
        self.world.repeat.push_str(" --forking");
        self
    }

    /// A fresh controller for the node of a number; 0 is the front, its further replicas follow.
    ///
    /// # Panics
    /// Never for a case that was drawn: its settings are sound.
    #[must_use]
    pub fn controller(&self, number: usize) -> Controller {
        let World { slo, node, tiers, seed, replicas, .. } = &self.world;
        let fronts = std::iter::repeat_n(node, *replicas as usize);
        let behind =
            tiers.iter().flat_map(|it| std::iter::repeat_n(&it.node, it.servers() as usize));
        let spec = fronts.chain(behind).nth(number).unwrap_or(node);
        let built = self.spec.build(&spec.site(*slo, seed.wrapping_add(number as u64)));
        built.expect("every drawn controller is a sound one")
    }

    /// The requests, one by one.
    ///
    /// # Panics
    /// Never for a case that was drawn: its plan can be played.
    pub fn intended(&self) -> impl Iterator<Item = Intended> + use<> {
        let World { clients, seed, .. } = self.world;
        let stream = Stream::new(&self.plan, clients, &self.service, seed);
        stream.expect("every drawn plan is a sound one").map(Intended::from)
    }

    /// Plays it.
    ///
    /// # Errors
    /// When a rule is found broken.
    pub fn run(&self) -> Result<(Run, Trace), Broken> {
        let mut intended = self.intended();
        simulate_with(&self.world, &mut intended, &mut |node| self.controller(node))
    }
}

fn draw_service(dice: &mut Dice) -> Service {
    let distribution = match dice.below(3) {
        0 => Distribution::Constant,
        1 => Distribution::Exponential,
        _ => Distribution::Bimodal,
    };
    Service { distribution, mean: dice.time(1, 100) }
}

/// A shape with a long tail in its place, one time in eight; a generator of its own.
fn draw_shape(seed: u64) -> Option<Distribution> {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of shapes"));
    dice.chance(0.125).then(|| match dice.below(3) {
        0 => Distribution::LogNormal { sigma: dice.spread(0.1, 2.0) },
        1 => Distribution::Gamma { shape: dice.spread(0.1, 10.0) },
        _ => Distribution::Pareto(Pareto::new(dice.spread(1.1, 3.0), dice.spread(10.0, 1_000.0))),
    })
}

/// The front, and the tiers that its paths call, where it has paths that call any.
fn draw_nodes(dice: &mut Dice, service: &Service) -> (NodeSpec, Vec<TierSpec>) {
    let front = draw_node(dice);
    if !dice.chance(0.35) {
        return (front, Vec::new());
    }
    let tiers = dice.one_of([0, 0, 1, 2]);
    let locks = walks::draw_locks(dice);
    let paths = walks::draw_paths(dice, service, &locks, tiers);
    let tier = |number: usize| {
        let paths = walks::draw_paths(dice, service, &locks, 0);
        TierSpec {
            name: format!("tier {number}"),
            node: NodeSpec { paths: Some(Arc::new(paths)), ..draw_node(dice) },
            nodes: walks::NODES,
            connections: dice.number(1, 3) as u32,
            replicas: 1,
            retry: RetryConfig::default(),
            hedge: None,
        }
    };
    let tiers = (0..tiers).map(tier).collect();
    (NodeSpec { paths: Some(Arc::new(paths)), ..front }, tiers)
}

fn draw_node(dice: &mut Dice) -> NodeSpec {
    let cost = |dice: &mut Dice| Duration::from_nanos(dice.one_of([0, 100, 900, 3_000]));
    NodeSpec {
        cores: dice.number(1, 8) as u32,
        loops: 1,
        stealing: false,
        shards: dice.number(1, 3) as u32,
        costs: Costs { receive: cost(dice), send: cost(dice), shed: cost(dice) },
        connection_cost: Duration::ZERO,
        coalescing: false,
        tick: dice.one_of([1, 5, 50]).us(),
        parse_every: dice.one_of([0, 0, 50]).us(),
        queue_max: dice.one_of([4, 64, 1 << 20]),
        enforce_deadlines: false,
        threads: None,
        paths: None,
        stalls: Stalls::default(),
        modes: None,
    }
}

/// Up to four steps of up to three times the capacity, and how long they last in all.
fn draw_plan(dice: &mut Dice, capacity_rps: f64, seed: u64) -> (DemandPlan, Duration) {
    let requests = dice.spread(300.0, 6_000.0);
    let length = Duration::from_secs_f64((requests / capacity_rps).clamp(0.005, 0.2));
    let count = dice.number(1, 4) as u32;
    let arrivals = dice.one_of([Arrivals::Poisson, Arrivals::Poisson, Arrivals::Periodic]);
    // A quiet time shows who was left stranded by the busy one before it.
    let mut ratio =
        || if dice.chance(0.2) { dice.spread(0.001, 0.1) } else { dice.spread(0.1, 3.0) };
    let step = |_| Step::steady(Rate(capacity_rps * ratio()), length / count);
    let mut steps: Vec<Step> = (0..count).map(step).collect();
    draw_ramps(seed, &mut steps);
    let arrivals = draw_arrivals(seed).unwrap_or(arrivals);
    (DemandPlan { steps, arrivals }, length)
}

/// Clusters, bursts and near-equal gaps, one time in six; a generator of its own.
fn draw_arrivals(seed: u64) -> Option<Arrivals> {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of arrivals"));
    let ms = Duration::from_millis;
    let bursts = Bursts::new(4.0, ms(5), ms(20)).map(Arrivals::Bursts);
    let others = [Some(Arrivals::Gamma { shape: 0.25 }), bursts, Some(Arrivals::Metronome)];
    dice.chance(1.0 / 6.0).then(|| dice.one_of(others)).flatten()
}

/// Steps that go straight to the demand of the next, one time in ten; a generator of its own. Sharp steps find
/// more: a quiet time right after a busy one shows what was forgotten.
fn draw_ramps(seed: u64, steps: &mut [Step]) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of ramps"));
    if dice.chance(0.1) {
        for index in 1..steps.len() {
            steps[index - 1].end = steps[index].rate;
        }
    }
}

/// Loops with queues of their own in every second world, stealing or not.
fn draw_loops(seed: u64) -> (u32, bool) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of loops"));
    (dice.one_of([1, 1, 1, 2, 3, 4]), dice.chance(0.5))
}

/// Messages that share packets, and connections that cost something.
fn draw_packets(seed: u64) -> (Duration, bool) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of packets"));
    (Duration::from_nanos(dice.one_of([0, 0, 0, 100, 1_000])), dice.chance(0.3))
}

/// A machine that stalls, one time in four; a generator of its own here too. Much more often than real
/// ones, so that a run of some milliseconds sees some.
fn draw_stalls(seed: u64) -> Stalls {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of stalls"));
    if !dice.chance(0.25) {
        return Stalls::default();
    }
    let lengths = vec![dice.time(1, 50), dice.time(50, 500)];
    Stalls::from(StallKind { per_second: dice.spread(100.0, 1_000.0), lengths })
}

/// Methods by service time, of which the dear give way, one time in four; a generator of its own.
fn draw_classes(seed: u64) -> bool {
    Dice(Rng::from_seed(seed).split("swarm of classes")).chance(0.25)
}

/// The front's replicas and what clients do about them, and a generator that has nothing to do with that
/// of the rest: what a seed drew before there were replicas it still draws.
fn draw_replicas(seed: u64, slo: Duration) -> (u32, RetryConfig, Dice) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of replicas"));
    let replicas = dice.one_of([1, 1, 1, 2, 3]);
    let retry = RetryConfig {
        tries: dice.one_of([1, 2, 2, 3]),
        credit_wait: dice.one_of([None, Some(10.us()), Some(slo / 3)]),
        share: Ratio(dice.one_of([0.0, 0.1, 0.5, 1.0])),
        burst: dice.one_of([0, 1, 10]),
        first: dice.one_of([First::Own, First::Primary, First::LeastLoaded]),
    };
    (replicas, retry, dice)
}

/// The front, a tier, or one node of either.
fn draw_struck(dice: &mut Dice, replicas: u32, tiers: usize) -> Struck {
    let tier = (dice.below(tiers as u32 + 1) as usize).checked_sub(1);
    let nodes = if tier.is_some() { walks::NODES } else { replicas };
    let node = dice.below(nodes);
    Struck { tier, node: dice.chance(0.5).then_some(node) }
}

fn draw_faults(dice: &mut Dice, measure: Duration) -> Vec<Fault> {
    let count = dice.one_of([0, 0, 1, 2, 3]);
    (0..count).map(|_| draw_fault(dice, measure)).collect()
}

fn draw_fault(dice: &mut Dice, measure: Duration) -> Fault {
    let longest_us = (measure.nanos() / 3_000).max(101);
    let kind = match dice.below(8) {
        0 => FaultKind::ClientCrash,
        1 => FaultKind::ServerRestart,
        2 => FaultKind::ServerPause,
        3 => FaultKind::SlowLink { factor: dice.spread(1.0, 50.0), extra: dice.time(1, 500) },
        4 => FaultKind::LossyLink { loss: dice.spread(0.001, 0.5), timeout: dice.time(50, 2_000) },
        5 => FaultKind::Clock {
            offset: dice.time(1, 10_000_000),
            drift_ppm: dice.spread(1.0, 10_000.0),
        },
        6 => FaultKind::Lie(dice.one_of([Claim::Nothing, Claim::Everything])),
        _ => FaultKind::Flood,
    };
    Fault {
        at: measure.mul_f64(0.8 * dice.unit()),
        length: dice.time(100, longest_us),
        clients: Chosen::Share(Ratio(dice.spread(0.05, 1.0))),
        nodes: Struck::default(),
        way: None,
        kind,
    }
}

/// Slow nodes, partitions, links between nodes and one way only, one time in five; a generator of its own.
fn draw_further_fault(seed: u64, measure: Duration, replicas: u32, tiers: usize) -> Option<Fault> {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of further faults"));
    if !dice.chance(0.2) {
        return None;
    }
    let kind = match dice.below(4) {
        0 => FaultKind::ServerSlow { speed: dice.spread(0.05, 1.0) },
        1 => FaultKind::Partition { timeout: dice.time(50, 5_000) },
        2 => FaultKind::SlowLink { factor: dice.spread(1.0, 50.0), extra: Duration::ZERO },
        _ => FaultKind::LossyLink { loss: dice.spread(0.001, 0.5), timeout: dice.time(50, 2_000) },
    };
    let first = dice.below(8);
    Some(Fault {
        way: dice.one_of([None, Some(Direction::Requests), Some(Direction::Answers)]),
        nodes: draw_struck(&mut dice, replicas, tiers),
        clients: match dice.below(2) {
            0 => Chosen::Share(Ratio(dice.spread(0.05, 1.0))),
            _ => Chosen::Numbers { first, last: first + dice.below(8) },
        },
        kind,
        ..draw_fault(&mut dice, measure)
    })
}

/// The controller, and how soon it promises credit where it promises anything. Every second one is
/// the default, which has the most to get wrong.
fn draw_spec(dice: &mut Dice, queue_max: u32, faults: &[Fault]) -> (Spec, Option<Duration>) {
    let (any, _) = CONTROLLERS[dice.below(CONTROLLERS.len() as u32) as usize];
    let name = if dice.chance(0.5) { DEFAULT } else { any };
    let profiles = profiles_of(name);
    let any = profiles[dice.below(profiles.len() as u32) as usize];
    let profile = if dice.chance(0.3) { "default" } else { any };
    let mut spec = Spec { name: name.into(), profile: profile.into(), overrides: Vec::new() };
    let mut set = |key: &str, value: String| spec.overrides.push((key.into(), value));
    set("queue_max", queue_max.to_string());
    if dice.chance(0.5) {
        set("expiry", dice.one_of(["never", "never", "10us", "300us"]).into());
    }
    if dice.chance(0.3) {
        set("deregister_after", dice.one_of(["50us", "1ms"]).into());
    }
    if dice.chance(0.15) {
        set("mode", dice.one_of(["dry-run", "off"]).into());
    }
    if dice.chance(0.15) {
        set("shed_cap", dice.one_of(["0", "0.1"]).into());
    }
    if name != DEFAULT {
        return (spec, None);
    }
    if dice.chance(0.3) {
        set("demand", "synchronised".into());
    }
    if dice.chance(0.3) {
        set("window_max", dice.number(1, 16).to_string());
    }
    match profile {
        // The artifact's α of 0.001 would need seconds for one credit to a few clients.
        "artifact" => set("alpha", "0.05".into()),
        "default" => set("starvation_limit", "500us".into()),
        _ => {}
    }
    (spec, promise(profile, faults))
}

/// `default` gives a credit after its starvation limit, here half a millisecond, and an update more;
/// over a bad link updates may be 10 ms apart and messages late by as much. The others promise
/// nothing while a client takes more than its share, and else that the pool grows in time. Nothing is
/// promised to what cannot be reached.
fn promise(profile: &str, faults: &[Fault]) -> Option<Duration> {
    let any = |wanted: fn(&FaultKind) -> bool| faults.iter().any(|fault| wanted(&fault.kind));
    let bad_link = any(|kind| {
        use FaultKind::{LossyLink, ServerSlow, SlowLink};
        matches!(kind, SlowLink { .. } | LossyLink { .. } | ServerSlow { .. })
    });
    if any(|kind| matches!(kind, FaultKind::Partition { .. })) {
        return None;
    }
    let greed = any(|kind| matches!(kind, FaultKind::Lie(_) | FaultKind::Flood));
    match profile {
        "default" if !bad_link => Some(3_000.us()),
        "default" => Some(30_000.us()),
        _ => (!greed).then_some(30_000.us()),
    }
}
