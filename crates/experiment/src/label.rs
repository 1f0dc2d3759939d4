//! How results call a controller's variant, a service and a demand, and whether the catalog knows the controllers.

use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Spec, SpecError};
use tailwater_core::Rate;
use tailwater_core::duration::format_duration;
use tailwater_workload::scenario::{
    Amount, Configuration, ControllerSpec, Cycle, Demand, ScenarioError, Server, TextPlace,
};
use tailwater_workload::{Scenario, Service};

/// A scenario's controller as the catalog takes it.
#[must_use]
pub fn spec(controller: &ControllerSpec) -> Spec {
    let (name, profile) = (controller.name.clone(), controller.profile.clone());
    Spec { name, profile, overrides: controller.settings() }
}

/// The same with the arrivals behind it, where a scenario compares several: each is a line of its own.
pub(crate) fn profile_among(
    controller: &ControllerSpec,
    configuration: &Configuration,
    demand: &Demand,
) -> String {
    match &demand.arrivals[..] {
        [_] => controller.called(),
        _ => format!("{}, {}", controller.called(), configuration.arrivals),
    }
}

/// All arrivals of a scenario, as its file says them.
pub(crate) fn arrivals(demand: &Demand) -> String {
    let words: Vec<String> = demand.arrivals.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// What serves.
pub(crate) fn service(server: &Server) -> String {
    if let Some(application) = &server.application {
        return format!("application {}", application.name);
    }
    if server.paths.is_empty() {
        let Service { distribution, mean } = &server.service;
        return format!("{distribution}, mean {}", format_duration(*mean));
    }
    let names: Vec<&str> = server.paths.iter().map(|path| path.name.as_str()).collect();
    format!("paths {}", names.join(", "))
}

/// How results call a demand: its mean ÷ `capacity`, in millionths, because groups of runs need equal
/// ones. `capacity` is the first that was measured with these clients: quoted against a later one, the same
/// demand in requests per second would have another name in every repetition.
pub(crate) fn demand_ratio(configuration: &Configuration, capacity: Rate) -> f64 {
    (configuration.demand_ratio(capacity).0 * 1e6).round() / 1e6
}

/// The same at one end of a step, in hundredths of a per cent.
pub(crate) fn step_ratio(amount: Amount, capacity: Rate) -> u64 {
    (amount.rate(capacity).0 / capacity.0.max(1.0) * 1e4).round() as u64
}

/// What is asked for at an offset from the first step, in µs; the cycle repeats.
pub(crate) fn demand_at(cycle: &Cycle, offset_us: f64, capacity: Rate) -> Option<Rate> {
    let mut offset = offset_us % (cycle.period().as_secs_f64() * 1e6);
    for step in &cycle.steps {
        let length = step.length.as_secs_f64() * 1e6;
        if offset < length {
            return Some(step.at(capacity).rate_at(Duration::from_secs_f64(offset / 1e6)));
        }
        offset -= length;
    }
    None
}

/// Builds each controller for the server and the tiers, once and for nothing.
///
/// # Errors
/// All that the catalog does not know, or that cannot meet an objective, each with its place and once.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let slos = |controller| scenario.slo.iter().map(move |slo| (controller, *slo));
    let tries = scenario.controllers.iter().flat_map(slos);
    let refused = tries.filter_map(|(controller, slo)| build(scenario, controller, slo).err());
    let problems = refused.flat_map(|error| error.problems);
    ScenarioError::of(&scenario.file, problems).map_or(Ok(()), Err)
}

/// For one objective; the first that cannot be built is the error.
fn build(
    scenario: &Scenario,
    controller: &ControllerSpec,
    slo: Duration,
) -> Result<(), ScenarioError> {
    let site = |slo, cores| Site { cores, ..Site::one_loop(slo, 0) };
    let cores = scenario.sim.cores;
    let target = scenario.target(slo);
    let built = spec(controller).build(&site(target, cores as usize));
    built.map_err(|error| blame(scenario, controller, error))?;
    for tier in &scenario.tiers {
        let own = tier.controller.as_ref();
        let target = tier.slo.unwrap_or(target);
        let site = site(target, tier.cores.unwrap_or(cores) as usize);
        let built = spec(own.unwrap_or(controller)).build(&site);
        built.map_err(|error| match own {
            Some(own) => blame(scenario, own, error),
            None => scenario.error_at(TextPlace::START, error.message),
        })?;
    }
    Ok(())
}

fn blame(scenario: &Scenario, said: &ControllerSpec, error: SpecError) -> ScenarioError {
    scenario.error_at(said.place_of(&error.culprit), error.message)
}
