//! A load that is asked to end before its time.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_core::pace::Pace;
use tailwater_rt::time::now;

/// From the question to the end: threads that share a load look at it more often, and end together.
const AHEAD: Duration = Duration::from_millis(100);
/// A generator that sleeps goes no longer without a look.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Whether a load is asked to end, and when it does. One for all threads of a generator.
pub struct EarlyEnd {
    is_asked: Box<dyn Fn() -> bool + Send + Sync>,
    at: OnceLock<Instant>,
}

impl EarlyEnd {
    /// A load that takes its time.
    #[must_use]
    pub fn never() -> Self {
        Self::when(|| false)
    }

    /// It is asked to end from when `is_asked` says so, which is looked at on each turn, and must stay so.
    pub fn when(is_asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { is_asked: Box::new(is_asked), at: OnceLock::new() }
    }

    /// When the load ends, the same for all threads; `None` while it is not asked to. The first look after the question
    /// decides: 100 ms later.
    pub fn at(&self) -> Option<Instant> {
        (self.is_asked)().then(|| *self.at.get_or_init(|| now() + AHEAD))
    }
}

impl fmt::Debug for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EarlyEnd").field("at", &self.at).finish_non_exhaustive()
    }
}

/// Until when a generator waits at most that has nothing else to do before `next`: one that spins looks on each turn.
pub(crate) fn look_by(pace: Pace, next: Instant) -> Instant {
    match pace {
        Pace::Spin => next,
        Pace::Sleep => next.min(now() + LOOK_EVERY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn all_threads_end_at_the_time_that_the_first_look_decided() {
        let asked = Arc::new(AtomicBool::new(false));
        let cut = EarlyEnd::when({
            let asked = asked.clone();
            move || asked.load(Ordering::Relaxed)
        });
        assert_eq!(cut.at(), None);
        asked.store(true, Ordering::Relaxed);
        let before = now();
        let at = cut.at();
        assert!(at >= Some(before + AHEAD), "{at:?} from {before:?}");
        let other = std::thread::scope(|scope| scope.spawn(|| cut.at()).join());
        assert_eq!(other.expect("it looks"), at);
        assert_eq!(EarlyEnd::never().at(), None);
    }
}
