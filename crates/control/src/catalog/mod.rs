//! Controllers by name: what was said → a checked controller for both ends.
//!
//! Each controller is a folder that exports a `Family`: its name, profiles, settings and how its
//! halves are built. `FAMILIES` lists them, a line each; the rest follows from that list.

pub use crate::family::Controller;
pub use crate::family::settings::ControllerSetting;

use crate::client::Client;
use crate::family::settings::COMMON;
use crate::family::{AnyFamily, Unfit, clients};
use crate::site::Site;
use crate::{breakwater, codel, dagor, gradient, none, seda, window};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;
use tailwater_core::words::{nearest, suggestion};

/// Every controller there is, in the order of the help.
static FAMILIES: &[&dyn AnyFamily] = &[
    &none::FAMILY,
    &breakwater::FAMILY,
    &breakwater::EFFICIENCY,
    &breakwater::AQM_ONLY,
    &dagor::FAMILY,
    &codel::FAMILY,
    &seda::FAMILY,
    &window::FAMILY,
    &gradient::FAMILY,
];

/// The controller that is meant where none is named.
pub const DEFAULT: &str = breakwater::NAME;

/// The client's half of the default controller, for a server whose objective is not known yet: the server
/// tells it ([`Client::on_objective`]). Until then calls without a deadline count on a second.
#[must_use]
pub fn default_client() -> Client {
    Client::new(
        clients::for_a_share(Duration::from_secs(1)),
        Box::new(breakwater::CreditGate::default()),
    )
}

/// Names that [`Spec::build`] knows, with a line for people.
pub static CONTROLLERS: LazyLock<Vec<(&'static str, &'static str)>> =
    LazyLock::new(|| FAMILIES.iter().map(|family| (family.name(), family.summary())).collect());

/// Profiles, each of which at least one controller has.
pub const PROFILES: &[(&str, &str)] = &[
    ("default", "tailwater's own settings"),
    ("paper", "the settings and equations of the publication's text"),
    ("artifact", "the authors' published code where it departs from the text"),
    ("scaled", "the publication's settings with windows of as many requests as there, at any rate"),
    ("original", "a baseline as first published, before `paper` adapted it to microseconds"),
];

/// The profiles that a controller has; none for an unknown name.
#[must_use]
pub fn profiles_of(controller: &str) -> Vec<&'static str> {
    let family = FAMILIES.iter().find(|family| family.name() == controller);
    family.map(|family| family.profiles()).unwrap_or_default()
}

/// Every setting that an override can change: first each controller's own, then those of all.
pub static SETTINGS: LazyLock<Vec<ControllerSetting>> = LazyLock::new(|| {
    let mut all: Vec<ControllerSetting> = Vec::new();
    let own = FAMILIES.iter().flat_map(|family| family.settings());
    let names: Vec<_> = FAMILIES.iter().map(|family| family.name()).collect();
    let common = COMMON.iter().map(|key| ControllerSetting {
        name: key.name,
        help: key.help,
        controllers: names.clone(),
    });
    for setting in own.chain(common) {
        let like =
            all.iter_mut().find(|known| (known.name, known.help) == (setting.name, setting.help));
        match like {
            Some(known) => known.controllers.extend(setting.controllers),
            None => all.push(setting),
        }
    }
    all
});

/// Which controller, as said in a scenario file or on the command line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// One of [`CONTROLLERS`].
    pub name: String,
    /// One of [`PROFILES`] that the controller has.
    pub profile: String,
    /// Setting and value, applied in order after the profile. See [`SETTINGS`].
    pub overrides: Vec<(String, String)>,
}

impl Spec {
    /// A controller's default profile without overrides.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), profile: "default".into(), overrides: Vec::new() }
    }

    /// Checks everything and builds both ends for a server at `site`.
    ///
    /// # Errors
    /// Names the part of the spec that is wrong, what was found and what is known.
    pub fn build(&self, site: &Site) -> Result<Controller, SpecError> {
        let family = FAMILIES.iter().find(|family| family.name() == self.name);
        let family = family.ok_or_else(|| SpecError::no_controller(&self.name))?;
        let built = family.build(&self.profile, &self.overrides, site);
        built.map_err(|unfit| match unfit {
            Unfit::Profile => SpecError::unknown("profile", &self.profile, &family.profiles()),
            Unfit::Setting(name) => SpecError::inapplicable(&name, family.name()),
            Unfit::Value(culprit, message) => SpecError { culprit, message },
        })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.name, self.profile)?;
        for (key, value) in &self.overrides {
            write!(f, ", {key}={value}")?;
        }
        write!(f, ")")
    }
}

/// A spec that cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// The controller name, profile or setting at fault.
    pub culprit: String,
    /// A sentence: what was found and what is needed.
    pub message: String,
}

impl SpecError {
    fn new(culprit: &str, message: impl Into<String>) -> Self {
        Self { culprit: culprit.into(), message: message.into() }
    }

    fn unknown(what: &str, found: &str, known: &[&str]) -> Self {
        let hint = suggestion(found, known);
        Self::new(found, format!("{what} '{found}' is unknown; {hint} {}", known.join(", ")))
    }

    /// A name of the literature leads to the controller that has it in its summary. A controller's own name in other letters
    /// comes before that, as summaries of others have it, too.
    fn no_controller(found: &str) -> Self {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name()).collect();
        if names.iter().any(|name| name.eq_ignore_ascii_case(found)) {
            return Self::unknown("controller", found, &names);
        }
        let is_meant = |word: &&str| word.eq_ignore_ascii_case(found);
        let by_summary = FAMILIES.iter().find_map(|family| {
            let mut words = family.summary().split(|c: char| !c.is_alphanumeric());
            let word = words.find(is_meant).filter(|word| word.starts_with(char::is_uppercase))?;
            Some((word, family.name()))
        });
        let Some((word, name)) = by_summary else {
            return Self::unknown("controller", found, &names);
        };
        let known = names.join(", ");
        Self::new(
            found,
            format!("controller '{found}' is unknown; {word} is {name}. Known are {known}"),
        )
    }

    /// A setting that `controller` does not have: some other's, or nobody's.
    fn inapplicable(setting: &str, controller: &str) -> Self {
        let holds = |family: &&&dyn AnyFamily| family.settings().iter().any(|s| s.name == setting);
        let owners: Vec<_> = FAMILIES.iter().filter(holds).map(|family| family.name()).collect();
        let own = SETTINGS.iter().filter(|known| known.controllers.contains(&controller));
        let known: Vec<_> = own.map(|known| known.name).collect();
        let near = nearest(setting, &known);
        if owners.is_empty() {
            let unknown = Self::unknown("setting", setting, &known);
            let of_others = near.is_empty().then(|| near_of_others(setting)).flatten();
            return match of_others {
                Some(near) => Self::new(setting, format!("{near}; {}", unknown.message)),
                None => unknown,
            };
        }
        let own = match near.is_empty() {
            true => String::new(),
            false => format!(", whose own is {}", near.join(" or ")),
        };
        let message = format!(
            "setting '{setting}' does not apply to {controller}{own}; it is one of {}",
            owners.join(", ")
        );
        Self::new(setting, message)
    }
}

/// A setting of other controllers that is spelt almost so, and whose it is.
fn near_of_others(setting: &str) -> Option<String> {
    let names: Vec<_> = SETTINGS.iter().map(|known| known.name).collect();
    let near = *nearest(setting, &names).first()?;
    let owner = SETTINGS.iter().find(|known| known.name == near)?;
    Some(format!("{near} is a setting of {}", owner.controllers.join(", ")))
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SpecError {}

#[cfg(test)]
mod tests;
