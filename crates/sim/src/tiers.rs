//! The nodes of a scenario, front and tiers, and the controllers of the tiers.

use crate::failure::Failure;
use crate::paths::Paths;
use crate::threads::Threads;
use crate::world::{Costs, NodeSpec, TierSpec, World};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::asqm::Policy;
use tailwater_control::catalog::{Controller, Spec, SpecError};
use tailwater_experiment::{hedge, label, retry_of_tiers};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{
    ControllerSpec, LockPolicy, Locks, Model, Path, TextPlace, Tier,
};

/// The front of a scenario's server.
pub(crate) fn front(scenario: &Scenario, slo: Duration) -> NodeSpec {
    let target = scenario.target(slo);
    let (loops, cores) = (scenario.server.loops, scenario.sim.cores);
    let one_loop = node(scenario, cores, &paths(scenario), &scenario.server.locks, target);
    let modes = scenario.server.classes.then(|| scenario.server.service.clone());
    let threads = one_loop.threads.clone().map(|it| Threads { model: scenario.server.model, ..it });
    NodeSpec { loops, stealing: scenario.sim.stealing, modes, threads, ..one_loop }
}

/// The same world, whose front serves by another model.
pub(crate) fn with_model(mut world: World, model: Model) -> World {
    if let Some(threads) = &mut world.node.threads {
        threads.model = model;
    }
    world
}

/// What its requests do. Threads know requests by their paths, so that a service is one of a single step there.
fn paths(scenario: &Scenario) -> Cow<'_, [Path]> {
    let server = &scenario.server;
    if server.paths.is_empty() && scenario.has_models {
        Cow::Owned(vec![Path::of_service(server.service.clone())])
    } else {
        Cow::Borrowed(&server.paths)
    }
}

/// Its tiers.
pub(crate) fn tiers(scenario: &Scenario, slo: Duration) -> Vec<TierSpec> {
    let slo = scenario.target(slo);
    let tier = |tier: &Tier| TierSpec {
        name: tier.name.clone(),
        node: node(
            scenario,
            tier.cores.unwrap_or(scenario.sim.cores),
            &tier.paths,
            &tier.locks,
            tier.slo.unwrap_or(slo),
        ),
        nodes: tier.nodes,
        connections: tier.connections,
        replicas: tier.replicas,
        retry: retry_of_tiers(),
        hedge: hedge(tier),
    };
    scenario.tiers.iter().map(tier).collect()
}

/// The same world, whose tiers enforce deadlines as their controllers, or the front's, want it.
pub(crate) fn with_deadlines(
    mut world: World,
    scenario: &Scenario,
    front: &ControllerSpec,
) -> World {
    for (spec, tier) in world.tiers.iter_mut().zip(&scenario.tiers) {
        let own = tier.controller.as_ref().unwrap_or(front);
        spec.node.enforce_deadlines = scenario.server.enforces_deadlines(own);
    }
    world
}

/// The same world with one rule for all locks.
pub(crate) fn with_locks(mut world: World, policy: LockPolicy) -> World {
    let change = |node: &mut NodeSpec| {
        if let Some(paths) = &mut node.paths {
            Arc::make_mut(paths).policy = Policy::of(policy).unwrap_or_default();
        }
    };
    change(&mut world.node);
    world.tiers.iter_mut().for_each(|tier| change(&mut tier.node));
    world
}

/// Fresh controllers for the tiers' nodes of a run whose front is under `front`, tier by tier.
///
/// # Errors
/// When a tier's own controller is not as the catalog knows it.
pub(crate) fn controllers(
    scenario: &Scenario,
    front: &Spec,
    slo: Duration,
    seed: u64,
) -> Result<Vec<Controller>, Failure> {
    let mut controllers = Vec::new();
    for tier in &scenario.tiers {
        let own = tier.controller.as_ref();
        let spec = own.map_or_else(|| front.clone(), label::spec);
        let slo = tier.slo.unwrap_or_else(|| scenario.target(slo));
        let cores = tier.cores.unwrap_or(scenario.sim.cores) as usize;
        for _ in 0..tier.nodes * tier.replicas {
            let number = controllers.len() as u64;
            let site = Site { cores, ..Site::one_loop(slo, seed.wrapping_add(1 + number)) };
            let built = spec.build(&site);
            controllers.push(built.map_err(|error: SpecError| {
                let place = own.map_or(TextPlace::START, |said| said.place_of(&error.culprit));
                Failure::Scenario(scenario.error_at(place, error.message))
            })?);
        }
    }
    Ok(controllers)
}

fn node(scenario: &Scenario, cores: u32, paths: &[Path], locks: &Locks, slo: Duration) -> NodeSpec {
    let sim = &scenario.sim;
    let paths = (!paths.is_empty())
        .then(|| Arc::new(Paths { wake: sim.wake, ..Paths::new(paths, locks, slo) }));
    NodeSpec {
        cores,
        costs: Costs { receive: sim.receive, send: sim.send, shed: sim.shed },
        connection_cost: sim.connection_cost,
        coalescing: sim.coalescing,
        parse_every: sim.parse_every,
        stalls: sim.stalls.clone(),
        threads: scenario.has_models.then(|| Threads {
            // Tiers have one loop for each node on sockets, which is the default.
            model: Model::default(),
            wake_up: sim.wake_up.clone(),
            hand_over: sim.hand_over,
            switch: sim.switch,
        }),
        paths,
        ..NodeSpec::paper()
    }
}
