//! Why a scenario could not be simulated.

use crate::simulate::Broken;
use std::fmt;
use tailwater_workload::{ScenarioError, ScheduleError};

/// Why a scenario could not be simulated.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The scenario names a controller or setting that the catalog does not know; its author acts.
    Scenario(ScenarioError),
    /// It asks for requests that cannot be scheduled; its author acts.
    Schedule(ScheduleError),
    /// So many requests were refused while capacity was measured, so that none was; the scenario's author acts.
    Refused(u64),
    /// A check failed; we must act.
    Broken(Broken),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::Schedule(error) => error.fmt(f),
            Self::Refused(count) => write!(
                f,
                "{count} requests were refused where all must be served: no capacity was measured; give it as fixed_rps in \
                 [capacity]"
            ),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}
