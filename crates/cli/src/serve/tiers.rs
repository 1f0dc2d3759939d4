//! Tiers of a scenario: the nodes of one in this process, and those that its requests call.

use super::nodes::routers;
use super::{Described, config, rules, throttled};
use crate::applications;
use crate::args::{Nodes, ServeOptions};
use crate::failure::Failure;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Controller;
use tailwater_experiment::{hedge, label, retry_of_tiers};
use tailwater_load::application::{ForeignTier, ForeignTiers, Place};
use tailwater_router::caches::Caches;
use tailwater_rt::client::ChannelConfig;
use tailwater_rt::downstream::TierConfig;
use tailwater_rt::{Address, Placement, Router, Server, ServerConfig};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Path, Tier};
use tailwater_workload::ways::Ways;

/// One server for each node of the tier that is called so, each on a free port; or the one node that was asked for, where
/// the options say. Each has one loop.
pub(super) fn farm(
    options: &ServeOptions,
    described: &Described,
    name: &str,
) -> Result<Vec<Server>, Failure> {
    let Described { scenario, data, .. } = described;
    let tier = named(scenario, name)?;
    if tier.command.is_some() {
        return Err(Failure::usage(format!(
            "tier {name} is a command, which tailwater run starts; by hand, start it as the scenario has it"
        )));
    }
    let application = match tier.application {
        true => applications::of(scenario, data),
        false => applications::of_tier(scenario, tier),
    };
    let application = application.map_err(Failure::usage)?;
    let (nodes, listen) = nodes_of(options, tier)?;
    let slo = slo_of(options, scenario, tier);
    let takes_locks = tier.application || !tier.paths.is_empty();
    let locks = rules(options, &tier.locks, takes_locks, slo);
    // Before anything is loaded, which takes a while.
    let controllers = nodes.clone().map(|node| controller_of(options, scenario, tier, node));
    let controllers: Vec<Controller> = controllers.collect::<Result<_, _>>()?;
    // One for all nodes: measured apart they would differ by some per cent.
    let place =
        Place { loops: 1, workers: 0, crew: 0, locks, spinner: throttled(options, described)? };
    let routers: Vec<Router> = match tier.application {
        true => routers(&*application, name, nodes.clone(), &place).map_err(Failure::usage)?,
        false => {
            let before = |_| {
                let foreign = foreign(options, scenario, &tier.paths)?;
                application.router_before(&place, &foreign).map_err(Failure::usage)
            };
            nodes.clone().map(before).collect::<Result<_, _>>()?
        }
    };
    let start = |((node, router), controller): ((u32, Router), Controller)| {
        let config = ServerConfig {
            listen: listen.clone(),
            loops: 1,
            cores: core_of(options, node).into_iter().collect(),
            model: Placement::Inline.into(),
            slo,
            locks,
            tiers: called(options, scenario, &tier.paths)?,
            enforce_deadlines: enforces_deadlines(options, scenario, tier),
            ..config(options)
        };
        Server::start(config, controller.admission, router).map_err(Failure::usage)
    };
    nodes.zip(routers).zip(controllers).map(start).collect()
}

/// Which nodes are served here, and where.
fn nodes_of(options: &ServeOptions, tier: &Tier) -> Result<(Range<u32>, Address), Failure> {
    // Replicas count as nodes, those of the first node first.
    let all = tier.nodes * tier.replicas;
    match options.node {
        None => Ok((0..all, "127.0.0.1:0".parse().map_err(Failure::usage)?)),
        Some(node) if node < all => Ok((node..node + 1, options.listen.clone())),
        Some(node) => Err(Failure::usage(format!(
            "--node is {node}, and the tier {} has {all} nodes; 0 to {} is needed",
            tier.name,
            all - 1
        ))),
    }
}

/// Nodes take the cores in turn; nothing where there are none to take.
fn core_of(options: &ServeOptions, node: u32) -> Option<usize> {
    let count = options.cores.len();
    options.cores.get((node as usize).checked_rem(count)?).copied()
}

/// The tiers that the server calls, where the options say that they are: those of its application, or of its paths.
pub(super) fn called_by_front(
    options: &ServeOptions,
    scenario: &Scenario,
) -> Result<Vec<TierConfig>, Failure> {
    match scenario.server.application {
        Some(_) => {
            reached_of(options, scenario, |_, tier| tier.application && tier.command.is_none())
        }
        None => called(options, scenario, &scenario.server.paths),
    }
}

/// The tiers that these paths call and that are programs of others, with connections to them.
pub(super) fn foreign(
    options: &ServeOptions,
    scenario: &Scenario,
    paths: &[Path],
) -> Result<ForeignTiers, Failure> {
    let ways = Ways::new(paths);
    let called = scenario.tiers.iter().enumerate().filter(|(index, _)| ways.calls(*index));
    let reach = |(_, tier): (usize, &Tier)| {
        let keys = tier.command.as_ref()?.keys;
        Some(addresses(options, tier).and_then(|nodes| {
            let caches = Caches::start(nodes, keys).map_err(Failure::work)?;
            Ok((tier.name.clone(), Arc::new(caches) as Arc<dyn ForeignTier>))
        }))
    };
    called.filter_map(reach).collect()
}

/// Where the nodes of the application's tier are, if they are programs of others.
pub(super) fn commanded<'a>(
    options: &'a ServeOptions,
    scenario: &Scenario,
) -> Result<Option<&'a [Address]>, Failure> {
    let is_it = |tier: &&Tier| tier.application && tier.command.is_some();
    scenario.tiers.iter().find(is_it).map(|tier| addresses(options, tier)).transpose()
}

/// The tiers that these paths call, where the options say that they are.
fn called(
    options: &ServeOptions,
    scenario: &Scenario,
    paths: &[Path],
) -> Result<Vec<TierConfig>, Failure> {
    let ways = Ways::new(paths);
    reached_of(options, scenario, |index, tier| tier.command.is_none() && ways.calls(index))
}

fn reached_of(
    options: &ServeOptions,
    scenario: &Scenario,
    is_called: impl Fn(usize, &Tier) -> bool,
) -> Result<Vec<TierConfig>, Failure> {
    for Nodes { tier, .. } in &options.downstream {
        named(scenario, tier)?;
    }
    let called = scenario.tiers.iter().enumerate().filter(|(index, tier)| is_called(*index, tier));
    called.map(|(_, tier)| reached(options, scenario, tier)).collect()
}

fn reached(
    options: &ServeOptions,
    scenario: &Scenario,
    tier: &Tier,
) -> Result<TierConfig, Failure> {
    let addresses = addresses(options, tier)?;
    let controller = controller_of(options, scenario, tier, 0)?;
    let connections = tier.connections as usize;
    let shards = addresses.chunks(tier.replicas as usize).flat_map(|replicas| {
        let servers: Vec<_> = replicas.iter().cloned().map(ChannelConfig::new).collect();
        std::iter::repeat_n(servers, connections)
    });
    let config = TierConfig::replicated(&tier.name, shards.collect()).retry(retry_of_tiers());
    let config = config.controller(&controller);
    Ok(hedge(tier).into_iter().fold(config, TierConfig::hedge))
}

/// Where the nodes of a tier are that is called.
fn addresses<'a>(options: &'a ServeOptions, tier: &Tier) -> Result<&'a [Address], Failure> {
    let (name, nodes) = (&tier.name, (tier.nodes * tier.replicas) as usize);
    let Some(said) = options.downstream.iter().find(|said| said.tier == *name) else {
        return Err(Failure::usage(format!(
            "requests call tier {name}; say where it is: --downstream {name}=ADDRESS for each of its \
             {nodes} nodes, with commas"
        )));
    };
    let found = said.addresses.len();
    if found != nodes {
        return Err(Failure::usage(format!(
            "--downstream {name} has {found} addresses, and the tier {nodes} nodes; one each is needed"
        )));
    }
    Ok(&said.addresses)
}

fn named<'a>(scenario: &'a Scenario, name: &str) -> Result<&'a Tier, Failure> {
    scenario.tiers.iter().find(|tier| tier.name == name).ok_or_else(|| {
        let names: Vec<_> = scenario.tiers.iter().map(|tier| &*tier.name).collect();
        let names = if names.is_empty() { "none".into() } else { names.join(", ") };
        Failure::usage(format!("the scenario has no tier {name}; its tiers: {names}"))
    })
}

/// Its own, or the front's, for what the tier aims at.
fn controller_of(
    options: &ServeOptions,
    scenario: &Scenario,
    tier: &Tier,
    node: u32,
) -> Result<Controller, Failure> {
    let own = tier.controller.as_ref().filter(|_| !options.uncontrolled);
    let spec = own.map_or_else(|| options.controller.spec(), label::spec);
    // The front has the first seed.
    let site = Site::one_loop(slo_of(options, scenario, tier), 2 + u64::from(node));
    spec.build(&site).map_err(Failure::usage)
}

/// As its own controller wants it, or as the front's does.
fn enforces_deadlines(options: &ServeOptions, scenario: &Scenario, tier: &Tier) -> bool {
    let own = tier.controller.as_ref();
    own.map_or(!options.serve_late, |own| scenario.server.enforces_deadlines(own))
}

fn slo_of(options: &ServeOptions, scenario: &Scenario, tier: &Tier) -> Duration {
    tier.slo.unwrap_or_else(|| scenario.target(options.controller.slo))
}
