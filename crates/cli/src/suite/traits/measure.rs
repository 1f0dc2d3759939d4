//! A service is measured: its capacity, then each load without the watch and with it, or instead what the watch costs at the
//! highest.

use super::TraitsOptions;
use super::cost::{BLOCK, Cost};
use super::found::{ServiceFound, loads};
use super::loads::Loads;
use super::switching::BySource;
use crate::failure::Failure;
use crate::job::Watching;
use crate::run::{Stage, is_short};
use crate::suite::choice::Choice;
use crate::suite::place;
use std::time::Duration;
use tailwater_core::Rate;
use tailwater_program::interrupt::Interrupt;
use tailwater_stats::Rules;
use tailwater_stats::result::{Experiment, Manifest};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Amount, Course};

/// What was found of a service, and on what machine.
pub(super) fn service(
    name: &str,
    options: &TraitsOptions,
    interrupt: &Interrupt,
    switch_us: &BySource,
) -> Result<(ServiceFound, Manifest), Failure> {
    let choice = Choice { service: name, set: &options.set, leaves: options.leaves };
    let scenario = scenario(&choice, options)?;
    let stage = Stage::prepare(&scenario, &options.data, interrupt)?;
    let capacity = stage.capacity(&scenario)?;
    let chosen = match options.rate {
        Some(rps) => Loads { rps: vec![rps], left_out: Vec::new() },
        None => Loads::of(capacity.plateau_rps),
    };
    let chosen = if is_short(options.short) { chosen.shorten() } else { chosen };
    let rate = Rate(capacity.plateau_rps);
    let (loads, cost, experiment) = if options.cost {
        let (cost, first) = cost(&stage, &scenario, rate, &chosen, options.blocks)?;
        (Vec::new(), Some(cost), first)
    } else {
        // Servers that are watched answer later: latency comes from runs of their own.
        let asked = at(&scenario, &chosen.rps);
        let plain = stage.play(asked.clone(), rate, Watching::Latency)?;
        let watched = stage.play(asked, rate, Watching::InTurn)?;
        (loads(&plain, &watched, switch_us), None, plain)
    };
    let Experiment { manifest, data, .. } = experiment;
    let (service, title) = (name.to_owned(), scenario.title.clone());
    let model = scenario.server.model.to_string();
    let capacity = capacity.into();
    Ok((ServiceFound { service, title, model, capacity, chosen, loads, cost, data }, manifest))
}

/// How long an answer may take. The scenarios' own objectives are deadlines of a few ms: what is given up there has no latency, so
/// tails would end where the deadline is.
const PATIENCE: Duration = Duration::from_secs(1);

/// With [`PATIENCE`], and a generator that is no later than the scenario's own objective lets it be. That rule is a share of the
/// objective, so that half of a second would be allowed otherwise.
fn patient(scenario: &mut Scenario) {
    let share = &mut scenario.validity.lateness_of_slo_max;
    let usual = Rules::default().lateness_of_slo_max;
    let own = scenario.slo[0].as_secs_f64() / PATIENCE.as_secs_f64();
    *share = Some(share.unwrap_or(usual) * own);
    scenario.slo = vec![PATIENCE];
}

fn scenario(choice: &Choice<'_>, options: &TraitsOptions) -> Result<Scenario, Failure> {
    let mut scenario = choice.scenario()?;
    place(&mut scenario)?;
    scenario.duration = options.duration;
    if is_short(options.short) {
        scenario = scenario.shorten();
    }
    scenario.seed = options.seed.unwrap_or(scenario.seed);
    scenario.repetitions = options.repetitions.unwrap_or(scenario.repetitions);
    scenario.clients.scheduling = options.scheduling.unwrap_or(scenario.clients.scheduling);
    scenario.server.model = options.model.unwrap_or(scenario.server.model);
    patient(&mut scenario);
    // The first of each is without control: what is refused would have no system calls.
    scenario.controllers.truncate(1);
    Ok(scenario)
}

/// The same, asked at these loads.
fn at(scenario: &Scenario, rps: &[f64]) -> Scenario {
    let mut scenario = scenario.clone();
    let course = |rps: &f64| Course::Steady(Amount::PerSecond(Rate(*rps)));
    scenario.demand.courses = rps.iter().map(course).collect();
    scenario
}

/// At the highest load, where there is most to watch; with the first of its experiments.
fn cost(
    stage: &Stage<'_>,
    scenario: &Scenario,
    capacity: Rate,
    chosen: &Loads,
    blocks: u32,
) -> Result<(Cost, Experiment), Failure> {
    let rps = chosen.rps.last().copied().unwrap_or_default();
    let mut scenario = at(scenario, &[rps]);
    scenario.repetitions = 1;
    let (mut steps, mut first) = (Vec::new(), None);
    for watching in BLOCK.repeat(blocks as usize) {
        let mut experiment = stage.play(scenario.clone(), capacity, watching)?;
        steps.push((watching, experiment.runs.pop()));
        first.get_or_insert(experiment);
    }
    Ok((Cost::of(rps, &steps), first.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::SERVICES;
    use clap::Parser;
    use tailwater_core::pace::Scheduling;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        options: TraitsOptions,
    }

    #[test]
    fn no_request_is_given_up_at_the_objective_of_its_scenario() {
        for service in SERVICES {
            let choice = Choice { service: service.kind.name, set: &[], leaves: None };
            let own = choice.scenario().expect("a scenario");
            let options = Typed::parse_from(["traits"]).options;
            let played = scenario(&choice, &options).expect("a scenario");
            let name = service.kind.name;
            assert!(own.slo[0] < PATIENCE && played.slo == [PATIENCE], "{name}: {:?}", own.slo);
            // How late its generator may be stays the same.
            let late = |of: &Scenario, usual: f64| {
                of.validity.lateness_of_slo_max.unwrap_or(usual) * of.slo[0].as_secs_f64()
            };
            let (own, played) = (late(&own, 0.5), late(&played, 1.0));
            assert!((own - played).abs() < 1e-9, "{name}: {own} s, and now {played}");
        }
    }

    /// As a scenario of one's own may have it; ours have none.
    #[test]
    fn a_share_of_the_objective_that_the_scenario_has_for_lateness_is_of_its_own_objective() {
        let choice = Choice { service: SERVICES[0].kind.name, set: &[], leaves: None };
        let mut scenario = choice.scenario().expect("a scenario");
        scenario.slo = vec![PATIENCE / 100];
        scenario.validity.lateness_of_slo_max = Some(0.1);
        patient(&mut scenario);
        let share = scenario.validity.lateness_of_slo_max.expect("it has one");
        assert!((share - 0.001).abs() < 1e-12, "{share}");
    }

    /// A generator that spins would starve the leaves then.
    #[test]
    fn generators_of_all_services_sleep_and_are_scheduled_as_is_asked() {
        for service in SERVICES {
            let clients = |typed: &[&str]| {
                let options = Typed::parse_from([&["traits"][..], typed].concat()).options;
                let choice = Choice { service: service.kind.name, set: &[], leaves: None };
                scenario(&choice, &options).expect("a scenario").clients
            };
            assert_eq!(clients(&[]).scheduling, Scheduling::Normal);
            let first = clients(&["--scheduling", "fifo:1"]);
            assert_eq!(first.scheduling, Scheduling::Fifo(1));
            assert_eq!(first.scheduling.conflict(first.pace), None, "{}", service.kind.name);
        }
    }
}
