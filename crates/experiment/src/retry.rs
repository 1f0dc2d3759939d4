//! How clients, and callers of tiers, choose among replicas, for every driver.

use tailwater_control::RetryConfig;
use tailwater_control::retry::{First, HedgeAfter, HedgeConfig};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{self, FirstReplica, Hedge, Retry, Tier};

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

/// What the callers of a tier do: a call goes where the caller has the fewest, among equals to a replica of its own.
#[must_use]
pub fn retry_of_tiers() -> RetryConfig {
    RetryConfig { first: First::LeastLoaded, ..RetryConfig::default() }
}

/// Second tries of calls to a tier.
#[must_use]
pub fn hedge(tier: &Tier) -> Option<HedgeConfig> {
    tier.hedge.map(|Hedge { after, share, burst }| {
        let after = match after {
            scenario::HedgeAfter::Delay(delay) => HedgeAfter::Delay(delay),
            scenario::HedgeAfter::Quantile(share) => HedgeAfter::Quantile(share),
        };
        HedgeConfig { after, share, burst }
    })
}
