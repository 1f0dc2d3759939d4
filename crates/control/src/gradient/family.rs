//! Gradient2 as the catalog knows it: names, profiles, settings, and how both ends are built.

use super::{Config, Gradient, Queue};
use crate::client::OpenGate;
use crate::family::parse::{duration, duration_or_never, number, set, whole};
use crate::family::{Draft, Family, Profile};
use crate::family::{clients, settings::Key};
use std::sync::Arc;

pub(crate) const FAMILY: Family<Config> = Family {
    name: "gradient",
    summary: "a limit on requests in the server, by present against usual times (Gradient2)",
    profiles: &[
        Profile {
            name: "default",
            server: |site| Config::tuned(site.slo, site.serving_cores()),
            client: clients::open,
        },
        Profile { name: "paper", server: |_| Config::paper(), client: clients::open },
        Profile { name: "artifact", server: |_| Config::artifact(), client: clients::open },
    ],
    settings: &[LIMIT, SAMPLES],
    server: |config, site| Ok(Arc::new(Gradient::new(*config, site.loops)?)),
    gate: |_, _| Box::new(OpenGate),
};

const LIMIT: &[Key<Draft<Config>>] = &[
    Key {
        name: "limit_initial",
        help: "requests in the server that are allowed at the start; a whole number",
        apply: |draft, value| set(&mut draft.server.limit_initial, whole(value)),
    },
    Key {
        name: "limit_min",
        help: "smallest limit on requests in the server; a whole number",
        apply: |draft, value| set(&mut draft.server.limit_min, whole(value)),
    },
    Key {
        name: "limit_max",
        help: "largest limit on requests in the server; a whole number",
        apply: |draft, value| set(&mut draft.server.limit_max, whole(value)),
    },
    Key {
        name: "tolerance",
        help: "how many times the usual time may be taken before the limit falls; 1 or more",
        apply: |draft, value| set(&mut draft.server.tolerance, number(value)),
    },
    Key {
        name: "queue",
        help: "what each update adds to the limit: root (of the limit), or a number",
        apply: |draft, value| {
            let fixed = || number(value).map(Queue::Fixed);
            let queue = if value == "root" { Ok(Queue::Root) } else { fixed() };
            set(&mut draft.server.queue, queue)
        },
    },
    Key {
        name: "smoothing",
        help: "share of the way to the limit that an update wants; above 0, up to 1",
        apply: |draft, value| set(&mut draft.server.smoothing, number(value)),
    },
];

const SAMPLES: &[Key<Draft<Config>>] = &[
    Key {
        name: "long_window",
        help: "updates that the usual time remembers; a whole number",
        apply: |draft, value| set(&mut draft.server.long_window, whole(value)),
    },
    Key {
        name: "drift_decay",
        help: "what the usual time is multiplied by while it is twice the present; 0 to 1",
        apply: |draft, value| set(&mut draft.server.drift_decay, number(value)),
    },
    Key {
        name: "baseline_min",
        help: "the usual time counts for no less than this; a duration",
        apply: |draft, value| set(&mut draft.server.baseline_min, duration(value)),
    },
    Key {
        name: "baseline_max",
        help: "the usual time counts for no more than this: never, or a duration",
        apply: |draft, value| set(&mut draft.server.baseline_max, duration_or_never(value)),
    },
    Key {
        name: "sample_floor",
        help: "requests that took less in the server are not counted; a duration",
        apply: |draft, value| set(&mut draft.server.sample_floor, duration(value)),
    },
    Key {
        name: "span_min",
        help: "least time between updates of the limit; a duration",
        apply: |draft, value| set(&mut draft.server.span_min, duration(value)),
    },
    Key {
        name: "span_max",
        help: "most time between updates of the limit; a duration",
        apply: |draft, value| set(&mut draft.server.span_max, duration(value)),
    },
    Key {
        name: "window_samples",
        help: "requests that an update of the limit needs; a whole number",
        apply: |draft, value| set(&mut draft.server.window_samples, whole(value)),
    },
];
