//! Requests are tried again within their limits.

use super::Finding;
use tailwater_control::RetryConfig;
use tailwater_core::Instant;

/// The replicas that a request was handed to, a bit each, and when it was due as the first had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Visits {
    replicas: u32,
    due: Instant,
}

impl Visits {
    pub(crate) const NONE: Self = Self { replicas: 0, due: Instant::FAR_FUTURE };

    /// It is handed to this replica at `now` on its client's clock.
    pub(crate) fn at(
        &mut self,
        replica: u32,
        (now, deadline): (Instant, Instant),
        config: &RetryConfig,
    ) -> Finding {
        let again = self.replicas != 0;
        if !again {
            self.due = deadline;
        }
        if self.replicas >> replica & 1 == 1 {
            return Some(format!("a request was tried twice at replica {replica}"));
        }
        self.replicas |= 1 << replica;
        let (tries, most) = (self.replicas.count_ones(), u32::from(config.tries));
        if again && tries > most {
            return Some(format!("a request was tried at {tries} replicas, {most} at most"));
        }
        let due = self.due;
        (again && now >= due).then(|| format!("a request was tried again at {now:?}, due {due:?}"))
    }
}

/// What a client has asked for, and how often again after a shed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Books {
    calls: u64,
    retried: u64,
}

impl Books {
    pub(crate) const fn on_call(&mut self) {
        self.calls += 1;
    }

    pub(crate) fn on_retry(&mut self, config: &RetryConfig) -> Finding {
        self.retried += 1;
        let most = f64::from(config.burst) + config.share.0 * self.calls as f64;
        // Shares are kept in thousandths.
        (self.retried as f64 > most + 1e-3 * self.calls as f64)
            .then(|| format!("a client made {} retries after sheds, {most} at most", self.retried))
    }
}
