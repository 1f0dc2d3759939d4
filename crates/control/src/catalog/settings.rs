//! Every setting that an override can change: one table for parser and help.

use super::Draft;
use crate::breakwater::{Demand, Explicit, Growth, Increase, Interval, Issued, LastCredit, Signal};
use crate::client::Expiry;
use crate::guard::Mode;
use std::time::Duration;

/// A setting: its name, what it means, and how a value changes the draft.
pub struct Setting {
    /// As written in an override.
    pub name: &'static str,
    /// Meaning and values.
    pub help: &'static str,
    pub(super) apply: fn(&mut Draft, &str) -> Result<(), String>,
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
            let known = [("oldest-age", Signal::OldestAge), ("predicted", Signal::Predicted)];
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
        help: "measured (every network RTT), turnover (sixteen times while all credits are used \
               once, at most every RTT), or a constant such as 10us",
        apply: |draft, value| {
            let (min, max) = (Duration::from_micros(1), Duration::from_millis(100));
            let measured = match value {
                "measured" => Some(Interval::Measured { min, max }),
                "turnover" => Some(Interval::Turnover { min, max }),
                _ => None,
            };
            if let Some(interval) = measured {
                draft.server.interval = interval;
                return Ok(());
            }
            set(&mut draft.server.interval, duration(value).map(Interval::Fixed))
        },
    },
    Setting {
        name: "issued",
        help: "what counts against the pool: unused credits, or outstanding (those in use as well)",
        apply: |draft, value| {
            let known = [("unused", Issued::Unused), ("outstanding", Issued::Outstanding)];
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
            let known = [("random", Explicit::Random), ("oldest-first", Explicit::OldestFirst)];
            set(&mut draft.server.explicit, choice(value, &known))
        },
    },
    Setting {
        name: "demand",
        help: "speculated (learnt from requests) or synchronised (announced by clients)",
        apply: |draft, value| {
            let known =
                [("speculated", Demand::Speculated), ("synchronised", Demand::Synchronised)];
            draft.server.demand = choice(value, &known)?;
            draft.client.announce_demand = draft.server.demand == Demand::Synchronised;
            Ok(())
        },
    },
    Setting {
        name: "starvation_limit",
        help: "longest time without credit before one is given from an empty pool; a duration",
        apply: |draft, value| set(&mut draft.server.starvation_limit, duration(value).map(Some)),
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
            set(&mut draft.client.queue_max, whole(value).map(|most| most as usize))
        },
    },
    Setting {
        name: "expiry",
        help: "how long a call may wait at a client: never, a share of the time to its deadline such as 0.2, or a duration",
        apply: |draft, value| {
            let expiry = match value {
                "never" => Ok(Expiry::Never),
                _ => match value.parse() {
                    Ok(share) if (0.0..=1.0).contains(&share) => {
                        Ok(Expiry::Share { slo: draft.slo, share })
                    }
                    _ => duration(value).map(Expiry::After),
                },
            };
            set(&mut draft.client.expiry, expiry)
        },
    },
    Setting {
        name: "deregister_after",
        help: "give credits back after this long without a call: never, or a duration",
        apply: |draft, value| {
            let after = if value == "never" { Ok(None) } else { duration(value).map(Some) };
            set(&mut draft.client.deregister_after, after)
        },
    },
    Setting {
        name: "mode",
        help: "enforce, dry-run (decide and explain only) or off",
        apply: |draft, value| {
            let known = [("enforce", Mode::Enforce), ("dry-run", Mode::DryRun), ("off", Mode::Off)];
            set(&mut draft.mode, choice(value, &known))
        },
    },
    Setting {
        name: "shed_cap",
        help: "largest share of requests that may be shed; 0 to 1",
        apply: |draft, value| set(&mut draft.shed_cap, number(value)),
    },
];

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
    value.parse().map_err(|_| format!("'{value}' found, a whole number is needed"))
}

fn boolean(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("'{value}' found, true or false is needed"))
}

fn choice<T: Copy>(value: &str, known: &[(&str, T)]) -> Result<T, String> {
    known.iter().find(|(name, _)| *name == value).map(|&(_, choice)| choice).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        format!("'{value}' found, one of {} is needed", names.join(", "))
    })
}

/// A number and a unit: ns, us, µs, ms or s.
fn duration(value: &str) -> Result<Duration, String> {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (amount, unit) = value.split_at(digits);
    let seconds_per_unit = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => {
            return Err(format!("'{value}' found, a duration such as 80us is needed"));
        }
    };
    let seconds = number(amount)? * seconds_per_unit;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("'{value}' is too long"))
}
