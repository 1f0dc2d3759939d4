//! When requests are due: by that, counts of a part of the window become those of the window.

use tailwater_core::{Instant, Nanos as _};
use tailwater_workload::Schedule;

/// The intended times of all requests of a run.
#[derive(Clone, Debug)]
pub(in crate::job) struct Due {
    pub(super) start: Instant,
    /// From the start, rising.
    pub(super) at_ns: Vec<u64>,
}

impl Due {
    pub(in crate::job) fn of(start: Instant, schedule: &Schedule) -> Self {
        Self { start, at_ns: schedule.entries.iter().map(|entry| entry.at).collect() }
    }

    /// What counts per second of a part are multiplied by, where requests cause them. ÷ the requests per second of the whole
    /// they are then counts per request: arrivals by chance are not spread evenly. 1 where none is due in one of them.
    #[expect(clippy::cast_precision_loss, reason = "requests of some seconds")]
    pub(super) fn scale(&self, whole: (Instant, Instant), part: (Instant, Instant)) -> f64 {
        let per_s = |(from, to): (Instant, Instant)| {
            self.before(to).saturating_sub(self.before(from)) as f64 / to.since(from).as_secs_f64()
        };
        let scale = per_s(whole) / per_s(part);
        if scale.is_finite() && scale > 0.0 { scale } else { 1.0 }
    }

    fn before(&self, at: Instant) -> usize {
        let at_ns = at.since(self.start).nanos();
        self.at_ns.partition_point(|due| *due < at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_part_in_which_more_is_due_counts_less() {
        let start = Instant::from_nanos(1_000_000_000);
        let at = |ms: u64| start + Duration::from_millis(ms);
        let ms = |ms: u64| ms * 1_000_000;
        let due = Due { start, at_ns: [5, 10, 20, 30, 70, 90].map(ms).to_vec() };
        let scale = |from, to| due.scale((at(10), at(110)), (at(from), at(to)));
        // Five in a hundred milliseconds: the first lies before the window.
        assert!((scale(10, 60) - 50.0 / 60.0).abs() < 1e-9, "three in fifty");
        assert!((scale(60, 110) - 50.0 / 40.0).abs() < 1e-9, "two in fifty");
        assert_eq!(scale(35, 65), 1.0, "none says nothing");
    }
}
