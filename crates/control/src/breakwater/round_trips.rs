//! The round trip of a loop's clients, of which no single one can move it.

use std::time::Duration;
use tailwater_core::{Instant, Nanos, SessionId};

/// The latest round trips of up to [`SLOTS`] sessions, one of each.
///
/// With more sessions several share a slot, and the last one heard has it. That is a sample of them all, in which those
/// that talk more weigh more. Their median is what the loop goes by: to move it, liars need half of the slots.
#[derive(Debug)]
pub(super) struct RoundTrips {
    slots: [Slot; SLOTS],
    heard: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Zero while nothing is known.
    rtt_ns: u64,
    at: Instant,
}

/// The median of 64 lies between the 38th and the 62nd percentile of all sessions, 19 times in 20. 1 KiB a loop.
const SLOTS: usize = 64;
/// A session that has been silent for so long has no voice.
const FRESH: Duration = Duration::from_secs(1);
/// The median is looked for again after so many readings, or at each while there are fewer.
const READINGS: u32 = 8;

impl RoundTrips {
    pub(super) const fn new() -> Self {
        Self { slots: [Slot { rtt_ns: 0, at: Instant::ZERO }; SLOTS], heard: 0 }
    }

    /// A session's smoothed round trip has changed. Returns the median if it was looked for.
    pub(super) fn learn(&mut self, now: Instant, id: SessionId, rtt: Duration) -> Option<Duration> {
        self.slots[id.index() % SLOTS] = Slot { rtt_ns: rtt.nanos().max(1), at: now };
        self.heard = self.heard.saturating_add(1);
        (self.heard < READINGS || self.heard.is_multiple_of(READINGS)).then(|| self.median(now))
    }

    /// The lower median, so that of two the liar that says more does not count.
    fn median(&self, now: Instant) -> Duration {
        let fresh = |slot: &&Slot| slot.rtt_ns > 0 && now.since(slot.at) < FRESH;
        let (mut known, mut count) = ([0; SLOTS], 0);
        for slot in self.slots.iter().filter(fresh) {
            known[count] = slot.rtt_ns;
            count += 1;
        }
        let middle = count.saturating_sub(1) / 2;
        let (_, median, _) = known[..count.max(1)].select_nth_unstable(middle);
        Duration::from_nanos(*median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn us(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn a_liar_among_honest_sessions_moves_nothing() {
        let mut trips = RoundTrips::new();
        let mut median = Duration::ZERO;
        for round in 0..100 {
            let now = Instant::ZERO + us(100) * round;
            for id in 0..3 {
                median = trips.learn(now, SessionId(id), us(20 + u64::from(id))).unwrap_or(median);
            }
            for _ in 0..50 {
                let lie = trips.learn(now, SessionId(9), us(900_000));
                median = lie.unwrap_or(median);
            }
        }
        assert!((us(20)..=us(22)).contains(&median), "{median:?}");
    }

    #[test]
    fn sessions_that_fell_silent_have_no_voice() {
        let mut trips = RoundTrips::new();
        for id in 0..40 {
            trips.learn(Instant::ZERO, SessionId(id), us(900_000));
        }
        let later = Instant::ZERO + 2 * FRESH;
        let medians = (0..8).filter_map(|_| trips.learn(later, SessionId(50), us(20)));
        assert_eq!(medians.last(), Some(us(20)));
    }

    proptest! {
        #[test]
        fn it_is_the_lower_median_of_each_sessions_last(
            readings in proptest::collection::vec((0..64_u32, 1..1_000_u64), 1..80),
        ) {
            let (mut trips, mut last) = (RoundTrips::new(), std::collections::BTreeMap::new());
            for (id, rtt_us) in readings {
                last.insert(id, us(rtt_us));
                if let Some(median) = trips.learn(Instant::ZERO, SessionId(id), us(rtt_us)) {
                    let mut all: Vec<Duration> = last.values().copied().collect();
                    all.sort_unstable();
                    prop_assert_eq!(median, all[(all.len() - 1) / 2]);
                }
            }
        }
    }

    #[test]
    fn the_median_is_looked_for_at_each_of_the_first_readings_and_then_at_every_eighth() {
        let mut trips = RoundTrips::new();
        let looked: Vec<u32> = (1..=25)
            .filter(|_| trips.learn(Instant::ZERO, SessionId(0), us(20)).is_some())
            .collect();
        assert_eq!(looked, [1, 2, 3, 4, 5, 6, 7, 8, 16, 24]);
    }

    #[test]
    fn a_session_that_was_silent_for_a_second_has_no_voice() {
        for (silence, median) in [(FRESH - Duration::from_nanos(1), us(900)), (FRESH, us(30))] {
            let mut trips = RoundTrips::new();
            let start = Instant::ZERO + FRESH;
            trips.learn(start, SessionId(0), us(900));
            trips.learn(start, SessionId(2), us(900));
            assert_eq!(trips.learn(start + silence, SessionId(1), us(30)), Some(median));
        }
    }
}
