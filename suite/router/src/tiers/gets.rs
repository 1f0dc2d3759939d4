//! How many gets each replica of a key has answered, by its place in the key's order.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Of fewer gets nothing is told: chance alone makes their shares uneven.
const GETS_MIN: u64 = 1_000;

/// An even share ÷ this is the least that a replica must have answered. Of a thousand gets among eight replicas by chance, the even
/// share is 125, and 31 are eight standard deviations below it. Replicas that are slow for a while stay far above.
const OF_EVEN_SHARE: u64 = 4;

/// Counts, one for each place.
pub(super) struct Gets(Vec<AtomicU64>);

impl Gets {
    /// Of so many replicas.
    pub(super) fn new(replicas: usize) -> Self {
        Self((0..replicas).map(|_| AtomicU64::new(0)).collect())
    }

    /// A get was answered by the replica at this place. One that no key has is none of the counts.
    // Each counts up alone: Relaxed.
    pub(super) fn count(&self, place: u8) {
        if let Some(count) = self.0.get(usize::from(place)) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// The counts.
    pub(super) fn by_place(&self) -> Vec<u64> {
        self.0.iter().map(|count| count.load(Relaxed)).collect()
    }

    /// Why they are not those of a choice among all replicas; nothing where they are, or are too few to tell.
    pub(super) fn uneven(&self) -> Option<String> {
        let counts = self.by_place();
        let total: u64 = counts.iter().sum();
        let least = total / (counts.len() as u64 * OF_EVEN_SHARE);
        let place = counts.iter().position(|count| *count < least)?;
        (total >= GETS_MIN).then(|| {
            format!(
                "of {total} gets {} were answered by replica {place} of their keys; at least {least} are needed where any is asked",
                counts[place]
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: &[u64]) -> Gets {
        Gets(counts.iter().map(|count| AtomicU64::new(*count)).collect())
    }

    #[test]
    fn replicas_that_answer_next_to_nothing_are_told_once_there_are_enough_gets() {
        let told = of(&[1_200, 0, 0]).uneven().expect("the first alone is asked");
        assert!(
            told.starts_with("of 1200 gets 0 were answered by replica 1 of their keys"),
            "{told}"
        );
        assert!(of(&[800, 301, 99]).uneven().is_some());
        for counts in [&[400, 400, 400][..], &[800, 300, 100], &[999, 0, 0], &[5_000], &[0, 0, 0]] {
            assert_eq!(of(counts).uneven(), None, "{counts:?}");
        }
    }

    #[test]
    fn gets_are_counted_by_place() {
        let gets = Gets::new(3);
        [0, 2, 2, 3, 255].into_iter().for_each(|place| gets.count(place));
        assert_eq!(gets.by_place(), [1, 0, 2]);
    }
}
