//! A median, followed in small steps.

use std::time::Duration;
use tailwater_core::Nanos;

/// The median of times: a stall of the machine in the middle of a handler, a hundred times its length,
/// counts as one long sample and no more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Typical {
    median_ns: u64,
}

impl Typical {
    pub(super) fn learn(&mut self, sample: Duration) {
        // Ours: the median strays by 3 % between samples, and doubles within 23 that are all longer. 50 ns, about two
        // readings of the clock, begin from zero, where a share of the median would be nothing.
        let step = (self.median_ns / 32).max(50);
        if sample.nanos() > self.median_ns {
            self.median_ns += step;
        } else {
            self.median_ns = self.median_ns.saturating_sub(step);
        }
    }

    pub(super) const fn median(self) -> Duration {
        Duration::from_nanos(self.median_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stall_does_not_change_what_is_typical() {
        let mut service = Typical::default();
        (0..2_000).for_each(|_| service.learn(Duration::from_micros(10)));
        let before = service.median();
        assert!((9_000..=11_000).contains(&before.nanos()), "{before:?}");
        service.learn(Duration::from_millis(8));
        assert!(service.median() < before.mul_f64(1.1), "{:?}", service.median());
    }

    /// A step is a thirty-second of the median and 50 ns at least. A sample of the median itself is not above it.
    #[test]
    fn a_median_moves_by_steps_towards_each_sample() {
        for (median_ns, sample_ns, after_ns) in [
            (3_200, 3_201, 3_300),
            (3_200, 3_200, 3_100),
            (3_200, 99, 3_100),
            (320, 321, 370),
            (30, 1, 0),
        ] {
            let mut typical = Typical { median_ns };
            typical.learn(Duration::from_nanos(sample_ns));
            assert_eq!(typical.median_ns, after_ns, "{sample_ns} at {median_ns}");
        }
    }
}
