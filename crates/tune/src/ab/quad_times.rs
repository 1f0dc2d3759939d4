//! How long quads take, by those that were measured.

use std::time::Duration;

/// What a quad takes at least, also where none was measured.
const LEAST: Duration = Duration::from_millis(1);

/// Times of all quads so far. A few are longer than the others, as blocks of theirs were made again.
#[derive(Clone, Debug, Default)]
pub struct QuadTimes {
    /// One for each quad that was measured.
    sorted: Vec<Duration>,
}

impl QuadTimes {
    /// Of no quad.
    #[must_use]
    pub const fn new() -> Self {
        Self { sorted: Vec::new() }
    }

    /// Takes the time of another quad.
    pub fn push(&mut self, took: Duration) {
        let at = self.sorted.partition_point(|of| *of <= took);
        self.sorted.insert(at, took);
    }

    /// What nine quads of ten take at most; of fewer than ten the longest. The longest of many is no measure of the others.
    #[must_use]
    pub fn usual(&self) -> Duration {
        self.of_rank((9 * self.sorted.len()).div_ceil(10))
    }

    /// How many quads fit into so much time. The last may take as long as any did, so that none is begun that might not fit.
    #[must_use]
    pub fn fit(&self, time: Duration) -> u32 {
        let Some(rest) = time.checked_sub(self.longest()) else { return 0 };
        let others = rest.as_nanos() / self.usual().as_nanos();
        u32::try_from(1 + others).unwrap_or(u32::MAX)
    }

    /// The time into which so many quads fit.
    #[must_use]
    pub fn of(&self, quads: u32) -> Duration {
        match quads.checked_sub(1) {
            Some(others) => self.usual().saturating_mul(others).saturating_add(self.longest()),
            None => Duration::ZERO,
        }
    }

    fn longest(&self) -> Duration {
        self.of_rank(self.sorted.len())
    }

    /// The time that so many quads do not exceed.
    fn of_rank(&self, rank: usize) -> Duration {
        let found = rank.checked_sub(1).and_then(|at| self.sorted.get(at));
        found.map_or(LEAST, |time| LEAST.max(*time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seconds: &[u64]) -> QuadTimes {
        let mut times = QuadTimes::new();
        for took in seconds {
            times.push(Duration::from_secs(*took));
        }
        times
    }

    /// As in a search of memcached, in which a void block cost all later tests their time.
    #[test]
    fn one_long_quad_of_ten_is_reckoned_with_once() {
        let times = times(&[2, 2, 2, 2, 9, 2, 2, 2, 2, 2]);
        assert_eq!(times.usual(), Duration::from_secs(2));
        assert_eq!(times.of(16), Duration::from_secs(15 * 2 + 9));
        assert_eq!(times.fit(Duration::from_secs(39)), 16);
        assert_eq!(times.fit(Duration::from_millis(38_999)), 15);
        // None is begun that might not fit.
        assert_eq!((times.fit(Duration::from_secs(9)), times.fit(Duration::from_secs(8))), (1, 0));
    }

    #[test]
    fn of_few_quads_the_longest_counts_and_of_none_a_moment() {
        assert_eq!(times(&[9, 2]).usual(), Duration::from_secs(9));
        let none = QuadTimes::new();
        assert_eq!((none.usual(), none.fit(Duration::ZERO)), (LEAST, 0));
        assert_eq!(none.fit(Duration::from_secs(1)), 1_000);
    }

    #[test]
    fn as_many_quads_fit_into_their_time() {
        for times in [times(&[]), times(&[3]), times(&[1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 50])] {
            for quads in 0..50 {
                assert_eq!(times.fit(times.of(quads)), quads, "{times:?}");
            }
        }
    }
}
