//! What the options of `record` may be.

use crate::values;

/// As many as the recorder starts.
pub(super) const SCANNERS_MAX: u8 = 16;

/// One that this process could run on, and hence the scanner.
pub(super) fn processor(text: &str) -> Result<usize, String> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let found = text.parse::<usize>().ok().filter(|cpu| *cpu < CpuSet::MAX_CPU);
    let runs_on = |cpu: usize| {
        let mut only = CpuSet::new();
        only.set(cpu);
        // Of a thread that ends: the program inherits nothing of it.
        let set = std::thread::spawn(move || sched_setaffinity(None, &only).is_ok()).join();
        set.unwrap_or(false)
    };
    found.filter(|cpu| runs_on(*cpu)).ok_or_else(|| {
        format!("'{text}' found; the number of a processor that may be used is needed, as `nproc --all` counts from 0")
    })
}

/// Of cores together: with several scanners it may be more than one.
pub(super) fn core_share(text: &str) -> Result<f64, String> {
    let most = f64::from(SCANNERS_MAX);
    values::share(text).filter(|share| (0.01..=most).contains(share)).ok_or_else(|| {
        format!("'{text}' found; a share from 1% to 100% of a core is needed, for each scanner")
    })
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    values::share(text)
        .filter(|share| (0.001..=1.0).contains(share))
        .ok_or_else(|| format!("'{text}' found; a share from 0.1% to 100% is needed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_percentages_or_fractions() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.2"), Ok(0.2));
        for text in ["", "%", "0", "200%", "NaN", "-5%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_scanner_has_a_hundredth_of_a_core_at_least_and_a_processor_that_is_there() {
        assert_eq!(core_share("25%"), Ok(0.25));
        assert_eq!(core_share("150%"), Ok(1.5), "of several");
        assert!(core_share("0.5%").is_err() && core_share("1700%").is_err());
        for text in ["", "-1", "9999999", "all"] {
            assert!(processor(text).is_err(), "{text}");
        }
    }
}
