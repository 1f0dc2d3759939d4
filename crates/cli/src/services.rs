//! The services of the suite: the one list.

use tailwater_load::application::Kind;

/// A service, and the scenario that `suite run` plays.
pub(crate) struct Service {
    /// What it is. Scenario files name it as they name other applications.
    pub(crate) kind: &'static Kind,
    /// The text of `scenarios/NAME.toml`, so that it can be run from anywhere.
    pub(crate) scenario: &'static str,
    /// What is played instead, by the setting that stands for it: the first one whose setting is said.
    pub(crate) variants: &'static [Variant],
}

/// A scenario of a service whose tiers are others.
pub(crate) struct Variant {
    /// The setting and its value. The scenario has them, too.
    pub(crate) setting: (&'static str, &'static str),
    /// Its file's name, without the ending.
    pub(crate) name: &'static str,
    /// The text of that.
    pub(crate) scenario: &'static str,
}

/// Every service.
pub(crate) const SERVICES: &[Service] = &[
    Service {
        kind: &tailwater_setalgebra::application::KIND,
        scenario: include_str!("../../../scenarios/setalgebra.toml"),
        variants: &[],
    },
    Service {
        kind: &tailwater_hdsearch::application::KIND,
        scenario: include_str!("../../../scenarios/hdsearch.toml"),
        variants: &[],
    },
    Service {
        kind: &tailwater_recommend::application::KIND,
        scenario: include_str!("../../../scenarios/recommend.toml"),
        variants: &[],
    },
    Service {
        kind: &tailwater_router::tiers::application::KIND,
        scenario: include_str!("../../../scenarios/router.toml"),
        variants: &[
            Variant {
                setting: ("front", "memcached"),
                name: "router-front-memcached",
                scenario: include_str!("../../../scenarios/router-front-memcached.toml"),
            },
            Variant {
                setting: ("leaf", "memcached"),
                name: "router-memcached",
                scenario: include_str!("../../../scenarios/router-memcached.toml"),
            },
        ],
    },
];
