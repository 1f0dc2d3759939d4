//! SEDA as the catalog knows it: names, profiles, settings, and how both ends are built.

use super::{Config, Growth, SedaGate};
use crate::client::{ClientConfig, Expiry};
use crate::family::parse::{boolean, duration, number, set, whole};
use crate::family::{Draft, Family, Profile};
use crate::family::{clients, settings::Key};
use crate::none::LeftToClients;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const FAMILY: Family<Config> = Family {
    name: "seda",
    summary: "each client limits its rate by the tail it sees (USITS '03, as in OSDI '20)",
    profiles: &[
        Profile {
            name: "default",
            server: |site| Config::tuned(site.slo),
            client: clients::without_credits,
        },
        Profile { name: "paper", server: |site| Config::paper(site.slo), client: published },
        Profile { name: "artifact", server: |site| Config::artifact(site.slo), client: published },
    ],
    settings: &[LAW, BUCKET],
    server: |config, _| {
        config.check()?;
        Ok(Arc::new(LeftToClients("seda")))
    },
    gate: |config, seed| Box::new(SedaGate::new(*config, seed)),
};

/// The published code's queue: sixteen calls (`CRPC_QLEN`) for 100 µs (`CSD_MAX_CLIENT_DELAY_US`).
/// It refuses the newest at the bound where ours drops the oldest.
const fn published(slo: Duration) -> ClientConfig {
    ClientConfig { expiry: Expiry::After(Duration::from_micros(100)), ..clients::briefly(slo) }
}

const LAW: &[Key<Draft<Config>>] = &[
    Key {
        name: "target",
        help: "response time that the client steers to; a duration",
        apply: |draft, value| set(&mut draft.server.target, duration(value)),
    },
    Key {
        name: "responses",
        help: "responses until the rate is adapted; a whole number",
        apply: |draft, value| set(&mut draft.server.responses, whole(value)),
    },
    Key {
        name: "timeout",
        help: "time until the rate is adapted with fewer responses; a duration",
        apply: |draft, value| set(&mut draft.server.timeout, duration(value)),
    },
    Key {
        name: "smoothing",
        help: "weight of the old average against a new tail; 0 to below 1",
        apply: |draft, value| set(&mut draft.server.smoothing, number(value)),
    },
    Key {
        name: "adj_i",
        help: "step of an increase; requests per second of one client",
        apply: |draft, value| set(&mut draft.server.adj_i, number(value)),
    },
    Key {
        name: "adj_i_share",
        help: "smallest step of an increase as a share of the rate; 0 for the papers' law",
        apply: |draft, value| set(&mut draft.server.adj_i_share, number(value)),
    },
    Key {
        name: "adj_d",
        help: "what a decrease divides the rate by; 1 or more",
        apply: |draft, value| set(&mut draft.server.adj_d, number(value)),
    },
    Key {
        name: "fresh_only",
        help: "ignore responses to requests sent before the last decrease; true or false",
        apply: |draft, value| set(&mut draft.server.fresh_only, boolean(value)),
    },
    Key {
        name: "grow_unused",
        help: "grow even if what is allowed is not used; true or false",
        apply: |draft, value| {
            let growth = if boolean(value)? { Growth::Always } else { Growth::WhileUsed };
            draft.server.growth = growth;
            Ok(())
        },
    },
];

const BUCKET: &[Key<Draft<Config>>] = &[
    Key {
        name: "rate_min",
        help: "smallest rate of a client; requests per second",
        apply: |draft, value| set(&mut draft.server.rate_min, number(value)),
    },
    Key {
        name: "rate_max",
        help: "largest rate of a client; requests per second",
        apply: |draft, value| set(&mut draft.server.rate_max, number(value)),
    },
    Key {
        name: "rate_initial_min",
        help: "smallest rate that a client may start with; requests per second",
        apply: |draft, value| set(&mut draft.server.rate_initial_min, number(value)),
    },
    Key {
        name: "rate_initial_max",
        help: "largest rate that a client may start with; requests per second",
        apply: |draft, value| set(&mut draft.server.rate_initial_max, number(value)),
    },
    Key {
        name: "burst",
        help: "most tokens that a client may save up; 1 or more",
        apply: |draft, value| set(&mut draft.server.burst, number(value)),
    },
];
