//! DAGOR as the catalog knows it: names, profiles, settings, and how both ends are built.

use super::{Belief, Config, Dagor, DagorGate, Draw, Unseen, Variant};
use crate::family::parse::{choice, duration, duration_or_never, number, set, whole};
use crate::family::{Draft, Family, Profile};
use crate::family::{clients, settings::Key};
use std::sync::Arc;
use tailwater_core::Rng;

pub(crate) const FAMILY: Family<Config> = Family {
    name: "dagor",
    summary: "sheds by priority from the server's queueing delay, at both ends (SoCC '18)",
    profiles: &[
        Profile { name: "default", server: |site| Config::tuned(site.slo), client: clients::open },
        Profile { name: "paper", server: |site| Config::paper(site.slo), client: clients::open },
        Profile { name: "scaled", server: |site| Config::scaled(site.slo), client: clients::open },
        Profile {
            name: "artifact",
            server: |site| Config::artifact(site.slo),
            client: clients::open,
        },
        Profile { name: "original", server: |_| Config::original(), client: clients::open },
    ],
    settings: &[LAW, LEVELS, CLIENT],
    server: |config, site| Ok(Arc::new(Dagor::new(*config, site.loops)?)),
    gate: |config, seed| Box::new(DagorGate::new(*config, Rng::from_seed(seed))),
};

/// How the level moves.
const LAW: &[Key<Draft<Config>>] = &[
    Key {
        name: "variant",
        help: "histogram (moves the number to admit, SoCC '18) or threshold (the level, OSDI '20)",
        apply: |draft, value| {
            let known = [("histogram", Variant::Histogram), ("threshold", Variant::Threshold)];
            set(&mut draft.server.variant, choice(value, &known))
        },
    },
    Key {
        name: "delay_limit",
        help: "queueing delay that counts as overload, DAGOR_q; a duration such as 70us",
        apply: |draft, value| set(&mut draft.server.delay_limit, duration(value)),
    },
    Key {
        name: "alpha",
        help: "share that an update takes under overload, DAGOR's α; above 0, up to 1",
        apply: |draft, value| set(&mut draft.server.alpha, number(value)),
    },
    Key {
        name: "beta",
        help: "share that an update gives otherwise, DAGOR's β; above 0, up to 1",
        apply: |draft, value| set(&mut draft.server.beta, number(value)),
    },
    Key {
        name: "update_every",
        help: "longest time between updates of the level; a duration",
        apply: |draft, value| set(&mut draft.server.update_every, duration(value)),
    },
    Key {
        name: "update_requests",
        help: "requests after which the level is updated sooner; a whole number",
        apply: |draft, value| set(&mut draft.server.update_requests, whole(value)),
    },
    Key {
        name: "sample_every",
        help: "how often the queueing delay is looked at; a duration",
        apply: |draft, value| set(&mut draft.server.sample_every, duration(value)),
    },
    Key {
        name: "gain",
        help: "share of the newest sample in the smoothed delay (variant threshold); up to 1",
        apply: |draft, value| set(&mut draft.server.gain, number(value)),
    },
    Key {
        name: "unseen",
        help: "levels that clients hide count as-arrived (not at all) or as-below (variant histogram)",
        apply: |draft, value| {
            let known = [("as-arrived", Unseen::AsArrived), ("as-below", Unseen::AsBelow)];
            set(&mut draft.server.unseen, choice(value, &known))
        },
    },
];

/// Which levels there are.
const LEVELS: &[Key<Draft<Config>>] = &[
    Key {
        name: "class_bits",
        help: "bits of a level that are the call's own priority; 0 to 8",
        apply: |draft, value| set(&mut draft.server.levels.class_bits, whole(value)),
    },
    Key {
        name: "user_bits",
        help: "bits of a level that are drawn; 0 to 8, at most 8 with class_bits",
        apply: |draft, value| set(&mut draft.server.levels.user_bits, whole(value)),
    },
    Key {
        name: "start_level",
        help: "last level that is admitted at first; a whole number, 0 is the most important",
        apply: |draft, value| {
            let level = whole(value).map(|level| u16::try_from(level).unwrap_or(u16::MAX));
            set(&mut draft.server.start_level, level)
        },
    },
];

/// What a client does.
const CLIENT: &[Key<Draft<Config>>] = &[
    Key {
        name: "draw",
        help: "per-request, or how long a client keeps the level it drew; a duration such as 1s",
        apply: |draft, value| {
            let draw = match value {
                "per-request" => Ok(Draw::PerRequest),
                _ => duration(value).map(Draw::PerClient),
            };
            set(&mut draft.server.draw, draw)
        },
    },
    Key {
        name: "belief",
        help: "what a client takes for the threshold until it hears one: open or random",
        apply: |draft, value| {
            let known = [("open", Belief::Open), ("random", Belief::Random)];
            set(&mut draft.server.belief, choice(value, &known))
        },
    },
    Key {
        name: "probe_after",
        help: "never, or the silence after which a client sends a request of any level; a duration",
        apply: |draft, value| set(&mut draft.server.probe_after, duration_or_never(value)),
    },
];
