//! How clients queue under the profiles: what most controllers share.

use crate::client::{ClientConfig, Expiry};
use std::time::Duration;

/// How much of its time a call of a default profile may wait at the client.
const EXPIRY_SHARE: f64 = 0.2;

/// Nothing waits at a client that may always send, save while it is not connected.
pub(crate) const fn open(_slo: Duration) -> ClientConfig {
    ClientConfig {
        queue_max: 4_096,
        expiry: Expiry::Never,
        announce_demand: false,
        deregister_after: None,
    }
}

/// Calls wait for a share of their time, and an idle client gives its credits back. Ours.
pub(crate) const fn for_a_share(slo: Duration) -> ClientConfig {
    ClientConfig {
        queue_max: 4_096,
        expiry: Expiry::Share { slo, share: EXPIRY_SHARE },
        announce_demand: false,
        deregister_after: Some(Duration::from_secs(10)),
    }
}

/// The same where there are no credits that an idle client could give back.
pub(crate) const fn without_credits(slo: Duration) -> ClientConfig {
    ClientConfig { deregister_after: None, ..for_a_share(slo) }
}

/// Calls wait for as long as the objective (Breakwater §3.3).
pub(crate) const fn for_the_slo(slo: Duration) -> ClientConfig {
    ClientConfig {
        queue_max: 1_024,
        expiry: Expiry::After(slo),
        announce_demand: false,
        deregister_after: None,
    }
}

/// As in the authors' published code: sixteen calls (`CRPC_QLEN`) for 10 µs
/// (`CBW_MAX_CLIENT_DELAY_US`).
pub(crate) const fn briefly(_slo: Duration) -> ClientConfig {
    ClientConfig {
        queue_max: 16,
        expiry: Expiry::After(Duration::from_micros(10)),
        announce_demand: false,
        deregister_after: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_that_may_always_send_wait_for_ever() {
        let slo = Duration::from_micros(200);
        assert_eq!(open(slo).expiry, Expiry::Never);
        for client in [for_a_share(slo), for_the_slo(slo), briefly(slo)] {
            assert_ne!(client.expiry, Expiry::Never);
        }
    }
}
