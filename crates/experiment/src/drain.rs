//! How long answers count after the measured window: one rule for every driver and for `load`.

use std::time::Duration;

/// Without control a server at twice its capacity is left with a queue as long as the run.
const LEAST: Duration = Duration::from_secs(5);
/// An answer in time comes within one objective. Those behind it tell late from lost.
const OBJECTIVES: u32 = 10;

/// So long after the window answers are waited for while any is out; what comes later, or never, is lost. A
/// driver ends sooner once every request has its fate.
#[must_use]
pub fn drain(slo: Duration) -> Duration {
    (OBJECTIVES * slo).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_in_time_comes_too_late() {
        let [short, long] = [Duration::from_micros(200), Duration::from_secs(60)].map(drain);
        assert_eq!((short, long), (Duration::from_secs(5), Duration::from_secs(600)));
    }
}
