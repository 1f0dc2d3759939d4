//! What tests wait by. Tests of other crates take this file in by its path: they stand below this crate.

use std::time::{Duration, Instant};

/// A test fails after as long of waiting: far beyond what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1);
/// One look counts for no more: a machine that stood still meanwhile (a snapshot, a suspended laptop) has not waited.
const LOOK_MAX: Duration = Duration::from_millis(100);

/// Looks until it is so.
///
/// # Panics
/// With `what`, when it never is.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    found(what, || is_so().then_some(()));
}

/// Looks until something is found.
///
/// # Panics
/// With `what`, when nothing ever is.
#[track_caller]
pub fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        let began = Instant::now();
        if let Some(found) = look() {
            return found;
        }
        std::thread::park_timeout(PAUSE);
        waited += began.elapsed().min(LOOK_MAX);
    }
    panic!("never so: {what}");
}
