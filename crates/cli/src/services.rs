//! The services of the suite: the one list.

use tailwater_load::application::Kind;

/// A service, and the scenario that `suite run` plays.
pub(crate) struct Service {
    /// What it is. Scenario files name it as they name other applications.
    pub(crate) kind: &'static Kind,
    /// The text of `scenarios/NAME.toml`, so that it can be run from anywhere.
    pub(crate) scenario: &'static str,
}

/// Every service.
pub(crate) const SERVICES: &[Service] = &[
    Service {
        kind: &tailwater_setalgebra::application::KIND,
        scenario: include_str!("../../../scenarios/setalgebra.toml"),
    },
    Service {
        kind: &tailwater_hdsearch::application::KIND,
        scenario: include_str!("../../../scenarios/hdsearch.toml"),
    },
    Service {
        kind: &tailwater_recommend::application::KIND,
        scenario: include_str!("../../../scenarios/recommend.toml"),
    },
    Service {
        kind: &tailwater_router::tiers::application::KIND,
        scenario: include_str!("../../../scenarios/router.toml"),
    },
];
