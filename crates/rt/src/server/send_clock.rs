//! When requests were really sent.

use tailwater_core::{Instant, Stamp};

/// Tells how long a request waited in the socket, from the client's own stamps.
///
/// A socket hands over coalesced bytes; when each request came is lost. The client's send stamp,
/// against the smallest difference seen between the two clocks, gives the delay beyond the best
/// case without a common epoch. It is only believed up to what is possible: no request waited
/// longer than since the socket was last looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendClock {
    /// Smallest `now − sent_at` so far, and when it was last looked at.
    base: Option<(u32, Instant)>,
}

impl SendClock {
    /// The estimate in nanoseconds, from 0 to `most_ns`.
    pub(super) fn hidden_ns(&mut self, now: Instant, sent_at: Stamp, most_ns: u64) -> u64 {
        let difference = now.stamp().nanos_since(sent_at);
        let Some((base, looked)) = self.base else {
            self.base = Some((difference, now));
            return 0;
        };
        // Clocks drift apart by some 10⁻⁵: the base follows at 2⁻¹⁵ of the time that passes, so
        // that an old minimum does not turn into phantom delay.
        let drift = (now.nanos_since(looked) >> 15).min(u64::from(u32::MAX >> 2)) as u32;
        let base = base.wrapping_add(drift);
        let excess = difference.wrapping_sub(base).cast_signed();
        let Ok(excess) = u32::try_from(excess) else {
            self.base = Some((difference, now));
            return 0;
        };
        self.base = Some((base, now));
        u64::from(excess).min(most_ns)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// The client's clock is 3 s behind and 2³² ns wrap somewhere on the way.
    fn sent(us: u64) -> Stamp {
        Stamp((us * 1_000) as u32)
    }

    #[test]
    fn delay_beyond_the_best_case_is_found_whatever_the_epochs() {
        let mut clock = SendClock::default();
        let behind = 3_000_000;
        assert_eq!(clock.hidden_ns(at(behind + 30), sent(0), u64::MAX), 0);
        assert_eq!(clock.hidden_ns(at(behind + 1_020), sent(1_000), u64::MAX), 0, "a better base");
        let hidden = clock.hidden_ns(at(behind + 2_120), sent(2_000), u64::MAX);
        assert!((99_900..=100_000).contains(&hidden), "{hidden}");
    }

    #[test]
    fn a_stamp_is_believed_only_up_to_what_is_possible() {
        let mut clock = SendClock::default();
        clock.hidden_ns(at(10), sent(10), u64::MAX);
        assert_eq!(clock.hidden_ns(at(1_000), sent(0), 50_000), 50_000);
        let mut silent = SendClock::default();
        silent.hidden_ns(at(10), Stamp(0), 0);
        assert_eq!(silent.hidden_ns(at(900), Stamp(0), 20_000), 20_000, "a client without a clock");
    }
}
