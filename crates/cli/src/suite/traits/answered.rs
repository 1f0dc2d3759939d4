//! How many requests of a run were answered, without which its latency and CPU time mislead.

use tailwater_stats::result::{Fates, Run};

/// With a smaller share a tail is of what is left of it. CPU time is of requests without an answer, too.
pub(super) const ANSWERED_MIN: f64 = 0.99;

/// Of the requests of a run; all where there was none.
pub(super) fn answered(run: &Run) -> f64 {
    let Fates { ok, late, .. } = run.fates;
    match run.fates.total() {
        0 => 1.0,
        total => (ok + late) as f64 / total as f64,
    }
}
