//! The stamps that a connection was sent: each is believed once when it comes back.

use std::collections::VecDeque;
use tailwater_core::{Instant, Stamp};

/// Stamps that may still come back, oldest first.
///
/// A client returns the newest stamp that it has, and each at most once; with one that it returns, all
/// older ones are spent. At most 128, 1 KiB, are remembered: then the oldest is forgotten. An echo of it is
/// not believed, which costs a client that pipelines deeply some of its readings.
#[derive(Debug, Default)]
pub struct Stamps(VecDeque<Instant>);

impl Stamps {
    /// Twice the largest window by default: so many answers may be on their way when a request returns one.
    const MAX: usize = 128;

    /// A message stamped `now.stamp()` leaves.
    pub fn on_sent(&mut self, now: Instant) {
        // All that leaves in one turn of a loop bears the same stamp.
        if self.0.back() == Some(&now) {
            return;
        }
        if self.0.len() == Self::MAX {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }

    /// When this stamp was sent, if it was and has not come back yet, nor a newer one.
    pub fn take(&mut self, stamp: Stamp) -> Option<Instant> {
        let at = self.0.iter().rposition(|sent| sent.stamp() == stamp)?;
        self.0.drain(..=at).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Beside a list of everything that was ever sent and taken.
        #[test]
        fn a_stamp_is_taken_once_and_only_if_it_was_sent(
            ops in proptest::collection::vec((any::<bool>(), 0..12_u32), 1..200),
        ) {
            let (mut stamps, mut sent, mut spent) = (Stamps::default(), Vec::new(), 0);
            for (is_sent, back) in ops {
                if is_sent {
                    let now = Instant::from_nanos(7 * sent.len() as u64);
                    sent.push(now);
                    stamps.on_sent(now);
                    stamps.on_sent(now);
                    continue;
                }
                let index = sent.len().checked_sub(1 + back as usize);
                let stamp = index.map_or(Stamp(3), |index: usize| sent[index].stamp());
                let expected = index.filter(|index| *index >= spent).map(|index| sent[index]);
                prop_assert_eq!(stamps.take(stamp), expected);
                spent = if expected.is_some() { index.unwrap() + 1 } else { spent };
            }
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut stamps = Stamps::default();
        (0..500).for_each(|number| stamps.on_sent(Instant::from_nanos(number)));
        assert_eq!(stamps.take(Stamp(371)), None);
        assert_eq!(stamps.take(Stamp(372)), Some(Instant::from_nanos(372)));
    }
}
