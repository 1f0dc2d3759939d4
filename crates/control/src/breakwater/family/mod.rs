//! Breakwater as the catalog knows it, and the tables of settings that its kin share.

mod aqm_only;
mod efficiency;

pub(crate) use aqm_only::FAMILY as AQM_ONLY;
pub(crate) use efficiency::FAMILY as EFFICIENCY;

use super::{
    Breakwater, Config, CreditGate, Demand, Explicit, Growth, Increase, Interval, Issued,
    LastCredit, Pools, RoundTrip, Signal, Trust,
};
use crate::family::parse::{boolean, choice, duration, duration_or_never, number, set, whole};
use crate::family::{Built, Draft, Family, Profile};
use crate::family::{clients, settings::Key};
use crate::site::Site;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const FAMILY: Family<Config> = Family {
    name: "breakwater",
    summary: "credits issued from the server's queueing delay (OSDI '20)",
    profiles: &[
        Profile {
            name: "default",
            server: |site| Config::tuned(site.slo, site.serving_cores()),
            client: clients::for_a_share,
        },
        Profile {
            name: "paper",
            server: |site| Config::paper(site.slo, site.serving_cores()),
            client: clients::for_the_slo,
        },
        Profile {
            name: "artifact",
            server: |site| Config::artifact(site.slo, site.serving_cores()),
            client: clients::briefly,
        },
    ],
    settings: &[DELAY_LAW, INTERVAL, POOL, AQM],
    server,
    gate: |_, _| Box::<CreditGate>::default(),
};

/// Any controller that is a Breakwater by its configuration.
pub(super) fn server(config: &Config, site: &Site) -> Built {
    Ok(Arc::new(Breakwater::new(*config, site.loops, site.seed)?))
}

/// The law that sizes the pool by delay.
pub(super) const DELAY_LAW: &[Key<Draft<Config>>] = &[
    Key {
        name: "target_delay",
        help: "queueing delay the pool is steered to, d_t; a duration such as 80us",
        apply: |draft, value| set(&mut draft.server.target_delay, duration(value)),
    },
    Key {
        name: "alpha",
        help: "additive increase per client, α of eq. 3; 0 to 1",
        apply: |draft, value| set(&mut draft.server.alpha, number(value)),
    },
    Key {
        name: "beta",
        help: "strength of the decrease, β of eq. 2; 0 to 1",
        apply: |draft, value| set(&mut draft.server.beta, number(value)),
    },
    Key {
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
    Key {
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
    Key {
        name: "reserve",
        help: "the pool of few clients also grows unused, and they pause for less, by what the AQM lets wait beyond a \
               request of each; true or false",
        apply: |draft, value| set(&mut draft.server.reserve, boolean(value)),
    },
    Key {
        name: "refusals",
        help: "off, or the share of requests that handlers may refuse, as for an overloaded tier, before the pool shrinks; \
               0 to 1, and increase = fractional",
        apply: |draft, value| {
            let tolerated = if value == "off" { Ok(None) } else { number(value).map(Some) };
            set(&mut draft.server.refusals, tolerated)
        },
    },
];

/// How often that law acts.
const INTERVAL: &[Key<Draft<Config>>] = &[Key {
    name: "interval",
    help: "measured (every network RTT), turnover (sixteen times while all credits are used once, at \
           most every RTT), or a constant such as 10us",
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
}];

/// The pool and how its credits are handed out, whatever the law.
pub(super) const POOL: &[Key<Draft<Config>>] = &[
    Key {
        name: "pools",
        help: "shared (one pool for all loops, sized by the slowest), or per-loop (each by its own delay)",
        apply: |draft, value| {
            let known = [("shared", Pools::Shared), ("per-loop", Pools::PerLoop)];
            set(&mut draft.server.pools, choice(value, &known))
        },
    },
    Key {
        name: "issued",
        help: "what counts against the pool: unused credits, or outstanding (those in use as well)",
        apply: |draft, value| {
            let known = [("unused", Issued::Unused), ("outstanding", Issued::Outstanding)];
            set(&mut draft.server.issued, choice(value, &known))
        },
    },
    Key {
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
    Key {
        name: "pause",
        help: "an answer asks for a pause of so many times the wait beyond the target delay; 0 to 100",
        apply: |draft, value| set(&mut draft.server.pause, number(value)),
    },
    Key {
        name: "explicit",
        help: "who gets an explicit credit: random or oldest-first",
        apply: |draft, value| {
            let known = [("random", Explicit::Random), ("oldest-first", Explicit::OldestFirst)];
            set(&mut draft.server.explicit, choice(value, &known))
        },
    },
    Key {
        name: "demand",
        help: "speculated (learnt from requests) or synchronised (announced by clients)",
        apply: |draft, value| {
            let known =
                [("speculated", Demand::Speculated), ("synchronised", Demand::Synchronised)];
            draft.server.demand = choice(value, &known)?;
            draft.common.client.announce_demand = draft.server.demand == Demand::Synchronised;
            Ok(())
        },
    },
    Key {
        name: "trust",
        help: "how far a claim of demand is believed: claimed, or used (what the client used lately)",
        apply: |draft, value| {
            let known = [("claimed", Trust::Claimed), ("used", Trust::Used)];
            set(&mut draft.server.trust, choice(value, &known))
        },
    },
    Key {
        name: "idle_after",
        help: "least silence after which a session counts as idle: never, or a duration",
        apply: |draft, value| set(&mut draft.server.idle_after, duration_or_never(value)),
    },
    Key {
        name: "round_trip",
        help: "what paces the updates: smoothed (all readings), or median (of the sessions' own)",
        apply: |draft, value| {
            let known = [("smoothed", RoundTrip::Smoothed), ("median", RoundTrip::Median)];
            set(&mut draft.server.round_trip, choice(value, &known))
        },
    },
    Key {
        name: "starvation_limit",
        help: "longest time without credit before one is given from an empty pool; a duration",
        apply: |draft, value| set(&mut draft.server.starvation_limit, duration(value).map(Some)),
    },
    Key {
        name: "window_max",
        help: "largest window of a session; a whole number",
        apply: |draft, value| set(&mut draft.server.window_max, whole(value)),
    },
    Key {
        name: "pool_min",
        help: "smallest pool of the whole server; a whole number",
        apply: |draft, value| set(&mut draft.server.pool_min, whole(value)),
    },
];

/// What the server sheds of that which comes nevertheless.
pub(super) const AQM: &[Key<Draft<Config>>] = &[
    Key {
        name: "drop_threshold",
        help: "queueing delay from which requests are shed on arrival; a duration",
        apply: |draft, value| set(&mut draft.server.drop_threshold, duration(value).map(Some)),
    },
    Key {
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
    Key {
        name: "deadline_aware",
        help: "refuse requests whose deadline cannot be met; true or false",
        apply: |draft, value| set(&mut draft.server.deadline_aware, boolean(value)),
    },
    Key {
        name: "classes",
        help: "off, or cheap methods first: the least share of each method's requests that is served; 0 to 1",
        apply: |draft, value| {
            let least = if value == "off" { Ok(None) } else { number(value).map(Some) };
            set(&mut draft.server.classes, least)
        },
    },
    Key {
        name: "signal",
        help: "what counts as delay: oldest-age, or predicted (how long a new request will wait)",
        apply: |draft, value| {
            let known = [("oldest-age", Signal::OldestAge), ("predicted", Signal::Predicted)];
            set(&mut draft.server.signal, choice(value, &known))
        },
    },
];
