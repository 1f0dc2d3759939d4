//! What scenarios can serve.

use crate::failure::Failure;
use crate::services::SERVICES;
use std::path::Path;
use std::sync::Arc;
use tailwater_load::application::{Kind, Tell, Whose};
use tailwater_load::{Application, paths, work};
use tailwater_stats::result::DataUsed;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{
    Fault, FaultKind, Model, ScenarioError, SocketOptions, TextPlace, Tier, Transport,
};

/// Applications that are no services of the suite. The first two are what `server.service` and `server.path` mean.
const OTHERS: &[Kind] = &[
    work::KIND,
    paths::KIND,
    tailwater_keyvalue::application::KIND,
    tailwater_search::application::KIND,
];

/// The controller that decides nothing.
pub(crate) const UNCONTROLLED: &str = "none";

/// Every application.
fn kinds() -> impl Iterator<Item = &'static Kind> {
    OTHERS.iter().chain(SERVICES.iter().map(|service| service.kind))
}

/// The application of a scenario, whose data lie in this folder.
///
/// # Errors
/// When it names one that is not there, or settings that do not fit; the error says where.
pub(crate) fn of(scenario: &Scenario, data: &Path) -> Result<Arc<dyn Application>, ScenarioError> {
    let server = &scenario.server;
    let Some(said) = &server.application else {
        let kind = if server.paths.is_empty() { &work::KIND } else { &paths::KIND };
        return make(scenario, kind, &[], |_| TextPlace::START, data);
    };
    let Some(kind) = kinds().find(|kind| kind.name == said.name) else {
        let names: Vec<_> = kinds().map(|kind| kind.name).collect();
        let names = names.join(", ");
        let message = format!("server.application is \"{}\"; one of {names} is needed", said.name);
        return Err(scenario.error_at(said.place, message));
    };
    let settings: Vec<_> =
        said.settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    let made = make(scenario, kind, &settings, |key| said.place_of(key), data)?;
    match made.foreign_front().and_then(|_| beyond_foreign_front(scenario)) {
        Some((place, why)) => Err(scenario.error_at(place.unwrap_or(said.place), why)),
        None => Ok(made),
    }
}

/// What a scenario asks for and a front that speaks a protocol of others does not have: where it stands, if that is known, and
/// the mend.
fn beyond_foreign_front(scenario: &Scenario) -> Option<(Option<TextPlace>, String)> {
    let server = &scenario.server;
    if let Some(found) = scenario.controllers.iter().find(|it| it.name != UNCONTROLLED) {
        let why = format!(
            "controller is \"{}\", and clients speak a protocol that has no control here; controller \"{UNCONTROLLED}\" \
             alone is needed",
            found.name
        );
        return Some((Some(found.name_place), why));
    }
    let restarts =
        |fault: &Fault| fault.nodes.tier.is_none() && fault.kind == FaultKind::ServerRestart;
    let has_room =
        server.drain_every.is_some() || server.output_high.is_some() || server.tasks_max.is_some();
    let own_threads = "its front has one thread of its own, which sleeps";
    let refused = [
        (server.loops != 1, "loops", own_threads),
        (server.model != Model::default(), "model", own_threads),
        (scenario.controllers.iter().any(|it| it.model.is_some()), "controller.model", own_threads),
        (!server.changes.is_empty(), "change", own_threads),
        (server.transport != Transport::Tcp, "transport", "it listens on TCP"),
        (server.socket != SocketOptions::default(), "socket", "it has the kernel's own"),
        (has_room, "drain_every, output_high or tasks_max", own_threads),
        (
            scenario.faults.iter().any(restarts),
            "server-restart",
            "its clients do not connect again, but its tier may restart",
        ),
    ];
    let (_, what, why) = refused.into_iter().find(|(is_so, ..)| *is_so)?;
    let why = format!(
        "found {what} of a server whose clients speak a protocol of others: {why}; leave {what} out"
    );
    Some((None, why))
}

/// Prepares what these processes need of the data of a scenario's application, where it has some, and says what a result
/// must tell of them.
pub(crate) fn prepare(
    scenario: &Scenario,
    data: &Path,
    whose: Whose<'_>,
    tell: Tell<'_>,
) -> Result<Vec<DataUsed>, Failure> {
    let application = of(scenario, data).map_err(Failure::usage)?;
    application.prepare(whose, tell).map_err(Failure::work)
}

/// What a tier of a scenario serves whose paths say what requests do.
///
/// # Errors
/// As [`of`].
pub(crate) fn of_tier(
    scenario: &Scenario,
    tier: &Tier,
) -> Result<Arc<dyn Application>, ScenarioError> {
    let server = &scenario.server;
    let paths = (&tier.paths[..], &scenario.tiers[..]);
    let (work, none) = ((server.work, false), Path::new(""));
    let made = paths::KIND.make(&[], server.service.clone(), work, paths, none);
    made.map_err(|error| {
        scenario.error_at(TextPlace::START, format!("tier {}: {error}", tier.name))
    })
}

fn make(
    scenario: &Scenario,
    kind: &Kind,
    settings: &[(String, String)],
    place_of: impl Fn(&str) -> TextPlace,
    data: &Path,
) -> Result<Arc<dyn Application>, ScenarioError> {
    let server = &scenario.server;
    let work = (server.work, server.classes);
    let paths = (&server.paths[..], &scenario.tiers[..]);
    kind.make(settings, server.service.clone(), work, paths, data).map_err(|error| {
        let message = format!("server.settings of {}: {error}", kind.name);
        scenario.error_at(place_of(&error.key), message)
    })
}
