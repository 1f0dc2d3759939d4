//! Controllers by name: what was said → a checked controller for both ends.

use crate::breakwater::{
    Breakwater, Config, CreditGate, Demand, Explicit, Growth, Increase, Interval, Issued,
    LastCredit, Signal,
};
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
    (
        "breakwater",
        "credits issued from the server's queueing delay (OSDI '20)",
    ),
    (
        "aqm-only",
        "Breakwater's server AQM without credits: shedding alone",
    ),
];

/// Profiles of controllers that have any.
pub const PROFILES: &[(&str, &str)] = &[
    ("default", "tailwater's own settings"),
    (
        "paper",
        "the settings and equations of the publication's text",
    ),
    (
        "artifact",
        "the authors' published code where it departs from the text",
    ),
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
        Self {
            name: name.into(),
            profile: "default".into(),
            overrides: Vec::new(),
        }
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
        Self {
            culprit: culprit.into(),
            message: message.into(),
        }
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
        let gate: Box<dyn Gate> = if self.credits {
            Box::<CreditGate>::default()
        } else {
            Box::new(OpenGate)
        };
        Client::new(self.client, gate)
    }
}

/// A setting: its name, what it means, and how a value changes the draft.
pub struct Setting {
    /// As written in an override.
    pub name: &'static str,
    /// Meaning and values.
    pub help: &'static str,
    apply: fn(&mut Draft, &str) -> Result<(), String>,
}

/// Every setting that an override can change: one table for parser and help.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "target_delay",
        help: "queueing delay the pool is steered to, d_t; a duration such as 80us",
        apply: |draft, value| set(&mut draft.server.target_delay, duration(value)),
    },
    Setting {
        name: "drop_threshold",
        help: "queueing delay from which requests are shed on arrival; a duration",
        apply: |draft, value| set(&mut draft.server.drop_threshold, duration(value).map(Some)),
    },
    Setting {
        name: "aqm",
        help: "false: the server never sheds",
        apply: |draft, value| {
            if !boolean(value)? {
                draft.server.drop_threshold = None;
                draft.server.deadline_aware = false;
            }
            Ok(())
        },
    },
    Setting {
        name: "deadline_aware",
        help: "refuse requests whose deadline cannot be met; true or false",
        apply: |draft, value| set(&mut draft.server.deadline_aware, boolean(value)),
    },
    Setting {
        name: "alpha",
        help: "additive increase per client, α of eq. 3; 0 to 1",
        apply: |draft, value| set(&mut draft.server.alpha, number(value)),
    },
    Setting {
        name: "beta",
        help: "strength of the decrease, β of eq. 2; 0 to 1",
        apply: |draft, value| set(&mut draft.server.beta, number(value)),
    },
    Setting {
        name: "increase",
        help: "changes below one credit: at-least-one, carried (increases), fractional (both ways)",
        apply: |draft, value| {
            let known = [
                ("at-least-one", Increase::AtLeastOne),
                ("carried", Increase::Carried),
                ("fractional", Increase::Fractional),
            ];
            set(&mut draft.server.increase, choice(value, &known))
        },
    },
    Setting {
        name: "signal",
        help: "what counts as delay: oldest-age, or predicted (how long a new request will wait)",
        apply: |draft, value| {
            let known = [
                ("oldest-age", Signal::OldestAge),
                ("predicted", Signal::Predicted),
            ];
            set(&mut draft.server.signal, choice(value, &known))
        },
    },
    Setting {
        name: "growth",
        help: "always, or the share of the pool that must be issued before it grows, such as 0.9",
        apply: |draft, value| {
            let growth = if value == "always" {
                Ok(Growth::Always)
            } else {
                number(value).map(Growth::WhileUsed)
            };
            set(&mut draft.server.growth, growth)
        },
    },
    Setting {
        name: "interval",
        help: "measured (every network RTT), or a constant such as 10us",
        apply: |draft, value| {
            if value == "measured" {
                let (min, max) = (Duration::from_micros(1), Duration::from_millis(100));
                draft.server.interval = Interval::Measured { min, max };
                return Ok(());
            }
            set(
                &mut draft.server.interval,
                duration(value).map(Interval::Fixed),
            )
        },
    },
    Setting {
        name: "issued",
        help: "what counts against the pool: unused credits, or outstanding (those in use as well)",
        apply: |draft, value| {
            let known = [
                ("unused", Issued::Unused),
                ("outstanding", Issued::Outstanding),
            ];
            set(&mut draft.server.issued, choice(value, &known))
        },
    },
    Setting {
        name: "last_credit",
        help: "revoked, kept-unless-shed, or kept while the pool is exceeded by less than a share",
        apply: |draft, value| {
            let kept = match value {
                "revoked" => Ok(LastCredit::Revoked),
                "kept-unless-shed" => Ok(LastCredit::KeptUnlessShed),
                _ => number(value).map(LastCredit::KeptWithin),
            };
            set(&mut draft.server.last_credit, kept)
        },
    },
    Setting {
        name: "explicit",
        help: "who gets an explicit credit: random or oldest-first",
        apply: |draft, value| {
            let known = [
                ("random", Explicit::Random),
                ("oldest-first", Explicit::OldestFirst),
            ];
            set(&mut draft.server.explicit, choice(value, &known))
        },
    },
    Setting {
        name: "demand",
        help: "speculated (learnt from requests) or synchronised (announced by clients)",
        apply: |draft, value| {
            let known = [
                ("speculated", Demand::Speculated),
                ("synchronised", Demand::Synchronised),
            ];
            draft.server.demand = choice(value, &known)?;
            draft.client.announce_demand = draft.server.demand == Demand::Synchronised;
            Ok(())
        },
    },
    Setting {
        name: "starvation_limit",
        help: "longest time without credit before one is given from an empty pool; a duration",
        apply: |draft, value| {
            set(
                &mut draft.server.starvation_limit,
                duration(value).map(Some),
            )
        },
    },
    Setting {
        name: "window_max",
        help: "largest window of a session; a whole number",
        apply: |draft, value| set(&mut draft.server.window_max, whole(value)),
    },
    Setting {
        name: "pool_min",
        help: "smallest pool; a whole number",
        apply: |draft, value| set(&mut draft.server.pool_min, whole(value)),
    },
    Setting {
        name: "queue_max",
        help: "most calls that wait at a client; a whole number",
        apply: |draft, value| {
            set(
                &mut draft.client.queue_max,
                whole(value).map(|most| most as usize),
            )
        },
    },
    Setting {
        name: "expiry",
        help: "how long a call waits at a client: never, fits, or a duration",
        apply: |draft, value| {
            let expiry = match value {
                "never" => Ok(Expiry::Never),
                "fits" => Ok(Expiry::WhileItFits {
                    slo: draft.slo,
                    quantile: SOJOURN_QUANTILE,
                }),
                _ => duration(value).map(Expiry::After),
            };
            set(&mut draft.client.expiry, expiry)
        },
    },
    Setting {
        name: "expiry_quantile",
        help: "the share of sojourn times that must still fit when a call is sent; 0 to 1",
        apply: |draft, value| {
            let quantile = number(value)?;
            draft.client.expiry = Expiry::WhileItFits {
                slo: draft.slo,
                quantile,
            };
            Ok(())
        },
    },
    Setting {
        name: "deregister_after",
        help: "give credits back after this long without a call: never, or a duration",
        apply: |draft, value| {
            let after = if value == "never" {
                Ok(None)
            } else {
                duration(value).map(Some)
            };
            set(&mut draft.client.deregister_after, after)
        },
    },
    Setting {
        name: "mode",
        help: "enforce, dry-run (decide and explain only) or off",
        apply: |draft, value| {
            let known = [
                ("enforce", Mode::Enforce),
                ("dry-run", Mode::DryRun),
                ("off", Mode::Off),
            ];
            set(&mut draft.mode, choice(value, &known))
        },
    },
    Setting {
        name: "shed_cap",
        help: "largest share of requests that may be shed; 0 to 1",
        apply: |draft, value| set(&mut draft.shed_cap, number(value)),
    },
];

/// Which quantile of its sojourn times a client of the default profile expects for the next.
const SOJOURN_QUANTILE: f64 = 0.95;

/// A controller being put together.
struct Draft {
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
            Err(SpecError::new(
                name,
                format!("{what} '{name}' is unknown; known are {names}"),
            ))
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
            "artifact" => (
                Config::artifact(slo, cores),
                16,
                Expiry::After(Duration::from_micros(10)),
            ),
            _ => {
                let fits = Expiry::WhileItFits {
                    slo,
                    quantile: SOJOURN_QUANTILE,
                };
                (Config::tuned(slo, cores), 4_096, fits)
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
        Self {
            slo,
            server,
            client,
            mode: Mode::Enforce,
            shed_cap: 1.0,
        }
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
        Ok(Controller {
            admission,
            switch,
            client: self.client,
            credits: self.server.credits,
        })
    }
}

/// The setting that a complaint of `Config::check` begins with, or else the controller.
fn culprit<'a>(message: &str, controller: &'a str) -> &'a str {
    let first = message.split(' ').next().unwrap_or_default();
    let setting = SETTINGS.iter().find(|setting| setting.name == first);
    setting.map_or(controller, |setting| setting.name)
}

fn set<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

fn number(value: &str) -> Result<f64, String> {
    value
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| format!("'{value}' found, a number of 0 or more is needed"))
}

fn whole(value: &str) -> Result<u32, String> {
    value
        .parse()
        .map_err(|_| format!("'{value}' found, a whole number is needed"))
}

fn boolean(value: &str) -> Result<bool, String> {
    value
        .parse()
        .map_err(|_| format!("'{value}' found, true or false is needed"))
}

fn choice<T: Copy>(value: &str, known: &[(&str, T)]) -> Result<T, String> {
    known
        .iter()
        .find(|(name, _)| *name == value)
        .map(|&(_, choice)| choice)
        .ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            format!("'{value}' found, one of {} is needed", names.join(", "))
        })
}

/// A number and a unit: ns, us, µs, ms or s.
fn duration(value: &str) -> Result<Duration, String> {
    let digits = value
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len());
    let (amount, unit) = value.split_at(digits);
    let seconds_per_unit = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => {
            return Err(format!(
                "'{value}' found, a duration such as 80us is needed"
            ));
        }
    };
    let seconds = number(amount)? * seconds_per_unit;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("'{value}' is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLO: Duration = Duration::from_micros(200);

    fn with(overrides: &[(&str, &str)]) -> Result<Controller, SpecError> {
        let mut spec = Spec::named("breakwater");
        spec.overrides = overrides
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        spec.build(SLO, 1, 1)
    }

    fn complaint(overrides: &[(&str, &str)]) -> String {
        with(overrides)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn every_controller_and_profile_builds() {
        for (name, _) in CONTROLLERS {
            for (profile, _) in PROFILES {
                let spec = Spec {
                    name: (*name).into(),
                    profile: (*profile).into(),
                    overrides: Vec::new(),
                };
                let controller = spec.build(SLO, 2, 1).unwrap();
                assert_eq!(controller.admission.name(), *name);
            }
        }
    }

    #[test]
    fn errors_say_what_was_found_and_what_is_needed() {
        assert_eq!(
            complaint(&[("alhpa", "1")]).split(';').next(),
            Some("setting 'alhpa' is unknown")
        );
        assert_eq!(
            complaint(&[("target_delay", "80")]),
            "target_delay: '80' found, a duration such as 80us is needed"
        );
        assert_eq!(
            complaint(&[("explicit", "fair")]),
            "explicit: 'fair' found, one of random, oldest-first is needed"
        );
        assert_eq!(
            complaint(&[("alpha", "2")]),
            "alpha is 2; a number from 0 to 1 is needed"
        );
        assert_eq!(
            complaint(&[("shed_cap", "1.5")]),
            "shed_cap is 1.5; 0 to 1 is needed"
        );
        assert!(complaint(&[("alpha", "-1")]).contains("0 or more"));
        let unknown = Spec::named("breakwatr").build(SLO, 1, 1).err().unwrap();
        assert_eq!(
            unknown.message,
            "controller 'breakwatr' is unknown; known are none, breakwater, aqm-only"
        );
    }

    #[test]
    fn every_setting_accepts_a_sensible_value() {
        let values = [
            ("target_delay", "80us"),
            ("drop_threshold", "0.16ms"),
            ("aqm", "false"),
            ("deadline_aware", "true"),
            ("alpha", "0.002"),
            ("beta", "0.08"),
            ("increase", "carried"),
            ("signal", "predicted"),
            ("growth", "0.8"),
            ("interval", "10us"),
            ("issued", "unused"),
            ("last_credit", "revoked"),
            ("explicit", "random"),
            ("demand", "synchronised"),
            ("starvation_limit", "1s"),
            ("window_max", "16"),
            ("pool_min", "4"),
            ("queue_max", "16"),
            ("expiry", "10us"),
            ("expiry_quantile", "0.9"),
            ("deregister_after", "never"),
            ("mode", "dry-run"),
            ("shed_cap", "0.5"),
        ];
        assert_eq!(
            values.map(|(name, _)| name).to_vec(),
            SETTINGS.iter().map(|s| s.name).collect::<Vec<_>>()
        );
        for value in values {
            assert_eq!(complaint(&[value]), "", "{value:?}");
        }
    }
}
