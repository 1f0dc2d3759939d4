//! Controllers by name: what was said → a checked controller for both ends.

mod settings;

pub use settings::{SETTINGS, Setting};

use crate::breakwater::{Breakwater, Config, CreditGate};
use crate::client::{Client, ClientConfig, Expiry, Gate, OpenGate};
use crate::guard::{Guarded, Mode, Switch};
use crate::none::None as NoControl;
use crate::server::Admission;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Names that [`Spec::build`] knows, with a line for people.
pub const CONTROLLERS: &[(&str, &str)] = &[
    ("none", "no control: every request is sent and served"),
    ("breakwater", "credits issued from the server's queueing delay (OSDI '20)"),
    ("aqm-only", "Breakwater's server AQM without credits: shedding alone"),
];

/// Profiles of controllers that have any.
pub const PROFILES: &[(&str, &str)] = &[
    ("default", "tailwater's own settings"),
    ("paper", "the settings and equations of the publication's text"),
    ("artifact", "the authors' published code where it departs from the text"),
];

/// Which controller, as said in a scenario file or on the command line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// One of [`CONTROLLERS`].
    pub name: String,
    /// One of [`PROFILES`].
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

    /// Checks everything and builds both ends for an objective of `slo` and a server of `shards`
    /// loops. `seed` decides random choices.
    ///
    /// # Errors
    /// Names the part of the spec that is wrong, what was found and what is known.
    pub fn build(&self, slo: Duration, shards: usize, seed: u64) -> Result<Controller, SpecError> {
        let draft = Draft::new(self, slo, shards)?;
        draft.finish(self, shards, seed)
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
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SpecError {}

/// A controller, both ends.
#[derive(Clone)]
pub struct Controller {
    /// For the server; shared by its loops.
    pub admission: Arc<dyn Admission>,
    /// The live off switch of the server's half.
    pub switch: Arc<Switch>,
    client: ClientConfig,
    credits: bool,
}

impl Controller {
    /// A client's half, one per connection.
    #[must_use]
    pub fn client(&self) -> Client {
        let gate: Box<dyn Gate> =
            if self.credits { Box::<CreditGate>::default() } else { Box::new(OpenGate) };
        Client::new(self.client, gate)
    }
}

/// How much of its time a call of the default profile may wait at the client.
const EXPIRY_SHARE: f64 = 0.2;

/// A controller being put together.
pub(crate) struct Draft {
    slo: Duration,
    server: Config,
    client: ClientConfig,
    mode: Mode,
    shed_cap: f64,
}

impl Draft {
    fn new(spec: &Spec, slo: Duration, shards: usize) -> Result<Self, SpecError> {
        let known = |table: &[(&str, &str)], name: &str, what: &str| {
            if table.iter().any(|(known, _)| *known == name) {
                return Ok(());
            }
            let names: Vec<_> = table.iter().map(|(known, _)| *known).collect();
            let names = names.join(", ");
            Err(SpecError::new(name, format!("{what} '{name}' is unknown; known are {names}")))
        };
        known(CONTROLLERS, &spec.name, "controller")?;
        known(PROFILES, &spec.profile, "profile")?;
        let mut draft = Self::of_profile(spec, slo, u32::try_from(shards).unwrap_or(u32::MAX));
        for (key, value) in &spec.overrides {
            let Some(setting) = SETTINGS.iter().find(|setting| setting.name == key) else {
                let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
                let names = names.join(", ");
                return Err(SpecError::new(
                    key,
                    format!("setting '{key}' is unknown; known are {names}"),
                ));
            };
            (setting.apply)(&mut draft, value)
                .map_err(|why| SpecError::new(key, format!("{key}: {why}")))?;
        }
        Ok(draft)
    }

    fn of_profile(spec: &Spec, slo: Duration, cores: u32) -> Self {
        let (mut server, queue_max, expiry) = match spec.profile.as_str() {
            "paper" => (Config::paper(slo, cores), 1_024, Expiry::After(slo)),
            "artifact" => {
                (Config::artifact(slo, cores), 16, Expiry::After(Duration::from_micros(10)))
            }
            _ => {
                let expiry = Expiry::Share { slo, share: EXPIRY_SHARE };
                (Config::tuned(slo, cores), 4_096, expiry)
            }
        };
        server.credits = spec.name == "breakwater";
        let mut client = ClientConfig {
            queue_max,
            expiry,
            announce_demand: false,
            deregister_after: (spec.profile == "default").then_some(Duration::from_secs(10)),
        };
        if !server.credits {
            // Nothing waits at a client that may always send, save while it is not connected.
            client.expiry = Expiry::Never;
            client.deregister_after = None;
        }
        Self { slo, server, client, mode: Mode::Enforce, shed_cap: 1.0 }
    }

    fn finish(self, spec: &Spec, shards: usize, seed: u64) -> Result<Controller, SpecError> {
        if !(0.0..=1.0).contains(&self.shed_cap) {
            let message = format!("shed_cap is {}; 0 to 1 is needed", self.shed_cap);
            return Err(SpecError::new("shed_cap", message));
        }
        let inner: Arc<dyn Admission> = if spec.name == "none" {
            Arc::new(NoControl)
        } else {
            let breakwater = Breakwater::new(self.server, shards, seed)
                .map_err(|message| SpecError::new(culprit(&message, &spec.name), message))?;
            Arc::new(breakwater)
        };
        let switch = Arc::new(Switch::new(self.mode));
        let admission = Arc::new(Guarded::new(inner, Arc::clone(&switch), self.shed_cap));
        Ok(Controller { admission, switch, client: self.client, credits: self.server.credits })
    }
}

/// The setting that a complaint of `Config::check` begins with, or else the controller.
fn culprit<'a>(message: &str, controller: &'a str) -> &'a str {
    let first = message.split(' ').next().unwrap_or_default();
    let setting = SETTINGS.iter().find(|setting| setting.name == first);
    setting.map_or(controller, |setting| setting.name)
}

#[cfg(test)]
mod tests;
