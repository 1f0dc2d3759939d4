//! The machine's own noise during a block.

use tailwater_rt::cpu::MachineTime;
use tailwater_tune::ab::NoiseRule;

/// Time that the hypervisor gave to others, as a share of all cores' time.
pub(crate) struct Steal {
    begun: MachineTime,
}

/// The rule on it.
pub(super) fn rule(steal_max: f64) -> NoiseRule {
    NoiseRule { name: "steal".into(), max: steal_max }
}

impl Steal {
    /// From now on. A kernel that does not tell has none.
    pub(crate) fn begin() -> Self {
        Self { begun: MachineTime::now() }
    }

    /// The share until now. The kernel counts in hundredths of a second, so short blocks know it roughly.
    pub(crate) fn until_now(&self) -> f64 {
        share(&MachineTime::now().since(&self.begun))
    }
}

fn share(passed: &MachineTime) -> f64 {
    if passed.all.is_zero() { 0.0 } else { passed.stolen.as_secs_f64() / passed.all.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn steal_is_a_share_of_all_time() {
        let [busy, stolen, all] = [600, 100, 1_000].map(Duration::from_millis);
        let passed = MachineTime { busy, stolen, all };
        assert!((share(&passed) - 0.1).abs() < 1e-12);
        assert_eq!(share(&MachineTime::default()), 0.0);
    }
}
