//! The machine's own noise during a block.

use tailwater_tune::ab::NoiseRule;

/// Time that the hypervisor gave to others, as a share of all cores' time.
pub(crate) struct Steal {
    stolen: u64,
    all: u64,
}

/// The rule on it.
pub(super) fn rule(steal_max: f64) -> NoiseRule {
    NoiseRule { name: "steal".into(), max: steal_max }
}

impl Steal {
    /// From now on. A kernel that does not tell has none.
    pub(crate) fn begin() -> Self {
        Self::of(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn of(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let words = line.split_whitespace().skip(1).map(|word| word.parse().unwrap_or(0));
        // User, nice, system, idle, waiting, interrupts, soft interrupts, steal; guests are in the first two.
        let ticks: Vec<u64> = words.take(8).collect();
        Self { stolen: ticks.get(7).copied().unwrap_or(0), all: ticks.iter().sum() }
    }

    /// The share until now. The kernel counts in hundredths of a second, so short blocks know it roughly.
    pub(crate) fn until_now(&self) -> f64 {
        self.until(&Self::begin())
    }

    fn until(&self, now: &Self) -> f64 {
        let all = now.all.saturating_sub(self.all).max(1);
        now.stolen.saturating_sub(self.stolen) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_time() {
        let before = Steal::of("cpu  100 0 50 800 10 0 0 40 7 7\ncpu0 1 2 3\n");
        let after = Steal::of("cpu  150 0 60 830 10 0 0 50 9 9\n");
        assert!((before.until(&after) - 0.1).abs() < 1e-12);
        assert_eq!(Steal::of("").until(&Steal::of("")), 0.0);
    }
}
