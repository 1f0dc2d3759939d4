//! Requests are tried again within their limits.

use super::Finding;
use tailwater_control::RetryConfig;
use tailwater_core::Instant;

/// The replicas that a request was tried at, and those that it was sent to, a bit each; and when it was due as the first had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Visits {
    replicas: u32,
    sent: u32,
    due: Instant,
}

impl Visits {
    pub(crate) const NONE: Self = Self { replicas: 0, sent: 0, due: Instant::FAR_FUTURE };

    /// It is handed to this replica at `now` on its client's clock.
    pub(crate) fn at(
        &mut self,
        replica: u32,
        (now, deadline): (Instant, Instant),
        config: &RetryConfig,
    ) -> Finding {
        let again = self.due != Instant::FAR_FUTURE;
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

    /// It is sent to this replica.
    pub(crate) const fn send(&mut self, replica: u32) {
        self.sent |= 1 << replica;
    }

    /// It leaves this replica, where it is said to have had no try: the connection must be lost, and nothing sent there.
    pub(crate) fn leave(&mut self, replica: u32, is_lost: bool) -> Finding {
        let was_sent = self.sent >> replica & 1 == 1;
        self.replicas &= !(1 << replica);
        let what = "a request counts as not tried at replica";
        if was_sent {
            return Some(format!("{what} {replica}, and was sent there"));
        }
        (!is_lost).then(|| format!("{what} {replica}, whose connection stands"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_replica_that_was_left_without_a_try_may_have_one_until_the_request_is_due() {
        let (config, now) = (RetryConfig::default(), Instant::ZERO);
        let due = now + Duration::from_micros(9);
        let mut visits = Visits::NONE;
        for (replica, leaves) in [(0, true), (1, false), (0, false)] {
            assert_eq!(visits.at(replica, (now, due), &config), None);
            if leaves {
                assert_eq!(visits.leave(replica, true), None);
            }
        }
        let again = visits.at(0, (now, due), &config).expect("a finding");
        assert!(again.contains("tried twice at replica 0"), "{again}");
        let mut visits = Visits::NONE;
        assert_eq!(visits.at(0, (now, due), &config), None);
        assert_eq!(visits.leave(0, true), None);
        let late = visits.at(1, (due, due), &config).expect("a finding");
        assert!(late.contains("tried again at"), "{late}");
    }

    #[test]
    fn only_what_was_not_sent_over_a_lost_connection_had_no_try_there() {
        let (config, now) = (RetryConfig::default(), Instant::ZERO);
        let due = now + Duration::from_micros(9);
        for (sent_to, is_lost, finding) in [
            (None, true, None),
            (None, false, Some("whose connection stands")),
            (Some(1), true, Some("was sent there")),
            (Some(1), false, Some("was sent there")),
            (Some(0), true, None),
        ] {
            let mut visits = Visits::NONE;
            assert_eq!(visits.at(1, (now, due), &config), None);
            sent_to.into_iter().for_each(|replica| visits.send(replica));
            let found = visits.leave(1, is_lost);
            let is_as_expected = match (&found, finding) {
                (Some(found), Some(words)) => found.contains(words),
                (None, None) => true,
                _ => false,
            };
            assert!(is_as_expected, "sent to {sent_to:?}, lost {is_lost}: {found:?}");
        }
    }
}
