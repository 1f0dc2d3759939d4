//! Gradient2 in the catalog.

use super::clients;
use super::family::{Draft, Family, Profile};
use super::parse::{duration, number, set, whole};
use super::settings::Key;
use crate::client::OpenGate;
use crate::gradient::{Config, Gradient, Queue};
use std::sync::Arc;

pub(super) static GRADIENT: Family<Config> = Family {
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
    server: |config, _| Ok(Arc::new(Gradient::new(*config)?)),
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
        help: "seda: weight of the old average, gradient: of the new limit; 0 to 1",
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
        apply: |draft, value| {
            let most = if value == "never" { Ok(None) } else { duration(value).map(Some) };
            set(&mut draft.server.baseline_max, most)
        },
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
