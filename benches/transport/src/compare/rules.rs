//! Which runs do not count: fixed beforehand, and blind to the result.

use crate::drive::Outcome;
use std::time::Duration;

/// Others may use at most this share of a core.
const FOREIGN_MAX: f64 = 0.08;
/// A window may last at most this many times what it should: a generator that slept through more did
/// not load the server, or the whole machine stood still.
const LENGTH_MAX: f64 = 1.05;

/// The rule that sets a run aside and its reading, if one does.
pub(super) fn discard(outcome: &Outcome, window: Duration) -> Option<String> {
    let foreign = outcome.share(outcome.foreign_cpu_ns);
    if foreign > FOREIGN_MAX {
        let (found, most) = (100.0 * foreign, 100.0 * FOREIGN_MAX);
        return Some(format!("others used {found:.0} % of a core, at most {most:.0} %"));
    }
    let length = outcome.window_ns as f64 / window.as_nanos() as f64;
    (length > LENGTH_MAX).then(|| {
        format!("the window lasted {length:.2} times what it should, at most {LENGTH_MAX}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_and_standstills_are_set_aside() {
        let judge = |foreign_ms: u64, window_ms: u64| {
            let outcome = Outcome {
                foreign_cpu_ns: foreign_ms * 1_000_000,
                window_ns: window_ms * 1_000_000,
                ..Outcome::default()
            };
            discard(&outcome, Duration::from_secs(2))
        };
        assert_eq!(judge(160, 2_000), None);
        assert!(judge(180, 2_000).unwrap().contains("9 % of a core"));
        assert_eq!(judge(0, 2_099), None);
        assert!(judge(0, 60_000).unwrap().contains("30.00 times"));
    }
}
