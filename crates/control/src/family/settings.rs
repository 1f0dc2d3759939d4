//! What an override can change: how a setting is described, and those that every controller has.

use super::parse::{choice, duration, duration_or_never, number, set, whole};
use crate::client::{ClientConfig, Expiry};
use crate::guard::Mode;
use std::time::Duration;

/// A setting as people see it. Controllers whose settings share name and meaning share an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControllerSetting {
    /// As written in an override.
    pub name: &'static str,
    /// Meaning and values.
    pub help: &'static str,
    /// The controllers it applies to.
    pub controllers: Vec<&'static str>,
}

/// A setting as the catalog applies it to a `T`.
pub(crate) struct Key<T: 'static> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) apply: fn(&mut T, &str) -> Result<(), String>,
}

/// What every controller has.
pub(crate) struct Common {
    pub(crate) slo: Duration,
    pub(crate) client: ClientConfig,
    pub(crate) mode: Mode,
    pub(crate) shed_cap: f64,
}

/// The settings of every controller.
pub(crate) const COMMON: &[Key<Common>] = &[
    Key {
        name: "queue_max",
        help: "most calls that wait at a client; a whole number",
        apply: |draft, value| {
            set(&mut draft.client.queue_max, whole(value).map(|most| most as usize))
        },
    },
    Key {
        name: "expiry",
        help: "how long a call may wait at a client: never, a share of the time to its deadline such as 0.2, or a duration",
        apply: |draft, value| {
            let expiry = match value {
                "never" => Ok(Expiry::Never),
                _ => match value.parse::<f64>() {
                    Ok(share) if share > 0.0 && share <= 1.0 => {
                        Ok(Expiry::Share { slo: draft.slo, share })
                    }
                    _ => match duration(value) {
                        // Calls would be given up before they could be sent.
                        Ok(limit) if limit.is_zero() => {
                            Err(format!("'{value}' found, a time above zero is needed"))
                        }
                        limit => limit.map(Expiry::After),
                    },
                },
            };
            set(&mut draft.client.expiry, expiry)
        },
    },
    Key {
        name: "deregister_after",
        help: "give credits back after this long without a call: never, or a duration",
        apply: |draft, value| set(&mut draft.client.deregister_after, duration_or_never(value)),
    },
    Key {
        name: "mode",
        help: "enforce, dry-run (decide and explain only) or off",
        apply: |draft, value| {
            let known = [("enforce", Mode::Enforce), ("dry-run", Mode::DryRun), ("off", Mode::Off)];
            set(&mut draft.mode, choice(value, &known))
        },
    },
    Key {
        name: "shed_cap",
        help: "largest share of requests that may be shed; 0 to 1",
        apply: |draft, value| set(&mut draft.shed_cap, number(value)),
    },
];
