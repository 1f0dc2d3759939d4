//! How long the processor worked for a thread: what other programs take from it meanwhile does not count.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The processor's time of the calling thread at some moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worked(Duration);

impl Worked {
    /// So far.
    #[must_use]
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
        Self(Duration::from_secs(seconds) + Duration::from_nanos(nanos))
    }

    /// Since then, of the same thread.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_works_meanwhile_does_not_count() {
        let begun = Worked::now();
        let other = std::thread::spawn(|| {
            let begun = Worked::now();
            while begun.elapsed() < Duration::from_millis(20) {}
            begun.elapsed()
        });
        let other = other.join().expect("it ends");
        let own = begun.elapsed();
        assert!(!own.is_zero() && own < other, "{own:?} beside {other:?}");
    }
}
