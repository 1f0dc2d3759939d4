//! The window as the catalog knows it: names, profiles, settings, and how both ends are built.

use super::{Config, Cut, Growth, WindowGate};
use crate::family::parse::{boolean, choice, duration, number, set, whole};
use crate::family::{Draft, Family, Profile};
use crate::family::{clients, settings::Key};
use crate::none::LeftToClients;
use std::sync::Arc;

pub(crate) const FAMILY: Family<Config> = Family {
    name: "window",
    summary: "each client bounds its requests on their way, as TCP does (ORCA, as in OSDI '20 §2)",
    profiles: &[
        Profile {
            name: "default",
            server: |site| Config::tuned(site.slo),
            client: clients::without_credits,
        },
        Profile {
            name: "paper",
            server: |site| Config::paper(site.slo),
            client: clients::for_the_slo,
        },
    ],
    settings: &[OWN],
    server: |config, _| {
        config.check()?;
        Ok(Arc::new(LeftToClients("window")))
    },
    gate: |config, _| Box::new(WindowGate::new(*config)),
};

const OWN: &[Key<Draft<Config>>] = &[
    Key {
        name: "target",
        help: "response time that the client steers to; a duration",
        apply: |draft, value| set(&mut draft.server.target, duration(value)),
    },
    Key {
        name: "window_initial",
        help: "requests that a new client may have on their way; 1 or more",
        apply: |draft, value| set(&mut draft.server.window_initial, number(value)),
    },
    Key {
        name: "window_max",
        help: "largest window of a client; a whole number",
        apply: |draft, value| set(&mut draft.server.window_max, whole(value).map(f64::from)),
    },
    Key {
        name: "window_step",
        help: "what a window of fast responses adds to the window; a number",
        apply: |draft, value| set(&mut draft.server.window_step, number(value)),
    },
    Key {
        name: "window_decrease",
        help: "what a decrease multiplies the window by; between 0 and 1",
        apply: |draft, value| set(&mut draft.server.window_decrease, number(value)),
    },
    Key {
        name: "cut",
        help: "how often slow responses shrink the window: each-response, once-per-window",
        apply: |draft, value| {
            let known =
                [("each-response", Cut::EachResponse), ("once-per-window", Cut::OncePerWindow)];
            set(&mut draft.server.cut, choice(value, &known))
        },
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
