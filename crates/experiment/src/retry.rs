//! How clients choose among replicas, for every driver.

use tailwater_control::RetryConfig;
use tailwater_control::retry::First;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{FirstReplica, Retry};

/// What a scenario's clients do about replicas.
#[must_use]
pub fn retry(scenario: &Scenario) -> RetryConfig {
    let Retry { tries, credit_wait, budget, burst, first } = scenario.clients.retry;
    let first = match first {
        FirstReplica::Own => First::Own,
        FirstReplica::Primary => First::Primary,
        FirstReplica::LeastLoaded => First::LeastLoaded,
    };
    // At most 32.
    RetryConfig { tries: tries as u8, credit_wait, share: budget, burst, first }
}
