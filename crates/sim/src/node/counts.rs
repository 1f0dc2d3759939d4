//! What a node has done.

use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::Nanos;
use tailwater_stats::result::ServerReading;

/// Totals since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// Requests parsed.
    pub(crate) requests: u64,
    /// Messages of any kind.
    pub(crate) rx: u64,
    pub(crate) tx: u64,
    pub(crate) explicit: u64,
    pub(crate) served: u64,
    /// Answers that refuse, in order of [`Reason::ALL`].
    pub(crate) shed: [u64; Reason::ALL.len()],
    /// Time that cores were given work for.
    pub(crate) busy_ns: u64,
}

impl Counts {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            rx: self.rx + other.rx,
            tx: self.tx + other.tx,
            explicit: self.explicit + other.explicit,
            served: self.served + other.served,
            shed: std::array::from_fn(|reason| self.shed[reason] + other.shed[reason]),
            busy_ns: self.busy_ns + other.busy_ns,
        }
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            rx: self.rx - earlier.rx,
            tx: self.tx - earlier.tx,
            explicit: self.explicit - earlier.explicit,
            served: self.served - earlier.served,
            shed: std::array::from_fn(|reason| self.shed[reason] - earlier.shed[reason]),
            busy_ns: self.busy_ns - earlier.busy_ns,
        }
    }

    /// Requests that were refused, for whatever reason.
    pub(crate) fn shed_total(&self) -> u64 {
        self.shed.iter().sum()
    }

    /// What the server's own counters say about a run with this window.
    pub(crate) fn server_reading(&self, window: Duration) -> ServerReading {
        let per = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        ServerReading {
            cpu_ns_per_request: per(self.busy_ns, self.requests),
            // Nothing has memory in virtual time.
            memory_bytes: 0,
            rx_per_request: per(self.rx, self.served),
            tx_per_request: per(self.tx, self.served),
            explicit_credits_rps: self.explicit as f64 * 1e9 / window.nanos().max(1) as f64,
        }
    }
}
