//! What only the catalog can tell about a scenario: whether its controllers exist and make sense.

use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{ControllerSpec, ScenarioError};

/// A scenario's controller as the catalog takes it.
pub(crate) fn spec(controller: &ControllerSpec) -> Spec {
    let (name, profile) = (controller.name.clone(), controller.profile.clone());
    Spec { name, profile, overrides: controller.settings() }
}

/// How results call its profile: the overrides in brackets, or the label.
pub(crate) fn profile(controller: &ControllerSpec) -> String {
    let departures = controller.departures();
    match (&controller.label, departures.is_empty()) {
        (Some(label), _) => label.clone(),
        (None, true) => controller.profile.clone(),
        (None, false) => format!("{} [{}]", controller.profile, departures.join(", ")),
    }
}

/// Builds each controller for each objective, once and for nothing.
pub(crate) fn controllers(scenario: &Scenario) -> Result<(), ScenarioError> {
    for controller in &scenario.controllers {
        for &slo in &scenario.slo {
            if let Err(error) = spec(controller).build(&Site::one_loop(slo, 0)) {
                let place = controller.place_of(&error.culprit);
                return Err(scenario.error_at(place, error.message));
            }
        }
    }
    Ok(())
}
