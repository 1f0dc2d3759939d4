//! What a session has used of late: how far its claim of demand is believed.

use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// Requests that a session has sent, each counting half as much after every [`HALF_LIFE`].
///
/// A window that is used up doubles what is believed. So an honest client of great demand has its credits a few round
/// trips after its first request, and keeps them while it uses them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Consumption {
    used: u32,
    /// When it was last halved.
    since: Instant,
}

/// Long beside the pauses between an honest client's bursts, short beside the stay of a silent one.
const HALF_LIFE: Duration = Duration::from_secs(1);

impl Consumption {
    /// A request that kept to its window came. More than `most` are not remembered.
    pub(super) fn on_request(&mut self, now: Instant, most: u32) {
        let halvings = now.nanos_since(self.since) / HALF_LIFE.nanos();
        if halvings > 0 {
            let by = u32::try_from(halvings).unwrap_or(u32::MAX);
            self.used = self.used.checked_shr(by).unwrap_or(0);
            self.since = self.since + HALF_LIFE * by;
        }
        self.used = self.used.saturating_add(1).min(most);
    }

    /// So much of a claim is believed; one in any case, or nothing could begin.
    pub(super) fn believe(&self, claimed: u32) -> u32 {
        claimed.min(self.used.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_claim_is_believed_as_far_as_it_was_used() {
        let mut consumption = Consumption::default();
        assert_eq!(consumption.believe(u32::MAX), 1);
        assert_eq!(consumption.believe(0), 0, "what is not wanted is not given");
        for used in 1..=200 {
            consumption.on_request(at(0), 64);
            assert_eq!(consumption.believe(u32::MAX), used.min(64));
            assert_eq!(consumption.believe(5), used.min(5));
        }
    }

    #[test]
    fn what_was_used_long_ago_is_forgotten() {
        let mut consumption = Consumption::default();
        (0..63).for_each(|_| consumption.on_request(at(5_000), 64));
        consumption.on_request(at(5_900), 64);
        assert_eq!(consumption.believe(64), 64);
        consumption.on_request(at(7_950), 64);
        assert_eq!(consumption.believe(64), 17, "halved twice, and one more");
        consumption.on_request(at(3_600_000), 64);
        assert_eq!(consumption.believe(64), 1);
    }
}
