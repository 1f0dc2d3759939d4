//! What scenarios can serve.

use crate::failure::Failure;
use crate::services::SERVICES;
use std::path::Path;
use std::sync::Arc;
use tailwater_load::application::{Kind, Tell, Whose};
use tailwater_load::{Application, paths, work};
use tailwater_stats::result::DataUsed;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{ScenarioError, TextPlace, Tier};

/// Applications that are no services of the suite. The first two are what `server.service` and `server.path` mean.
const OTHERS: &[Kind] = &[
    work::KIND,
    paths::KIND,
    tailwater_keyvalue::application::KIND,
    tailwater_search::application::KIND,
];

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
    make(scenario, kind, &settings, |key| said.place_of(key), data)
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
