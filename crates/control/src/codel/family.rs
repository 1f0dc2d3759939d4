//! CoDel as the catalog knows it: names, profiles, settings, and how both ends are built.

use super::{Codel, Config};
use crate::client::OpenGate;
use crate::family::parse::{duration, duration_or_never, set};
use crate::family::{Draft, Family, Profile};
use crate::family::{clients, settings::Key};
use std::sync::Arc;

pub(crate) const FAMILY: Family<Config> = Family {
    name: "codel",
    summary: "sheds at the head of the queue while even its shortest wait is too long (RFC 8289)",
    profiles: &[
        Profile { name: "default", server: |site| Config::tuned(site.slo), client: clients::open },
        Profile { name: "paper", server: |site| Config::paper(site.slo), client: clients::open },
        Profile { name: "original", server: |_| Config::rfc(), client: clients::open },
    ],
    settings: &[LAW],
    server: |config, site| Ok(Arc::new(Codel::new(*config, site.loops)?)),
    gate: |_, _| Box::new(OpenGate),
};

const LAW: &[Key<Draft<Config>>] = &[
    Key {
        name: "target",
        help: "the wait that may stand in the queue, CoDel's TARGET; a duration such as 80us",
        apply: |draft, value| set(&mut draft.server.target, duration(value)),
    },
    Key {
        name: "interval",
        help: "how long waits stay above the target before CoDel sheds, its INTERVAL; a duration",
        apply: |draft, value| set(&mut draft.server.interval, duration(value)),
    },
    Key {
        name: "ceiling",
        help: "never, or the wait from which all is shed under overload; a duration",
        apply: |draft, value| set(&mut draft.server.ceiling, duration_or_never(value)),
    },
];
