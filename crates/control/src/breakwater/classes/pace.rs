//! How much work is done per unit of time.

use super::OUTLIER;
use tailwater_core::Instant;

/// Sums forget within so many samples.
const SAMPLES: f64 = 64.0;

/// Until more is known, as if one core had worked for so long: it weighs as one sample.
const PRIOR_NS: f64 = 100_000.0;

/// Handlers' work done per unit of time while requests wait, in cores: less than there are, by what messages,
/// rejects and stalls take. A request's work is what its class counts as, as in the backlog: where that is
/// too little, as with a class of which few requests take very long, the quotient of both is still right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Decayed sums of samples.
    work_ns: f64,
    time_ns: f64,
    samples: f64,
    /// Those that ended at one moment, the last.
    at: Instant,
    ended_ns: u64,
    /// Before which so much time had passed while requests waited, or none.
    gap_ns: u64,
    /// Whether requests wait since.
    waits: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            work_ns: PRIOR_NS,
            time_ns: PRIOR_NS,
            samples: 1.0,
            at: Instant::ZERO,
            ended_ns: 0,
            gap_ns: 0,
            waits: false,
        }
    }
}

impl Pace {
    /// A request ended that counts as so much work. What workers end between two looks of the loop ends at one
    /// moment, and is one sample.
    pub(super) fn learn(&mut self, now: Instant, work_ns: u64, waits: bool) {
        if now == self.at {
            self.ended_ns += work_ns;
        } else {
            self.add();
            self.gap_ns = if self.waits { now.nanos_since(self.at) } else { 0 };
            (self.at, self.ended_ns) = (now, work_ns);
        }
        self.waits = waits;
    }

    /// Work and time are cut together, so that a stall weighs little and bends nothing.
    fn add(&mut self) {
        if self.gap_ns == 0 {
            return;
        }
        let gap = self.gap_ns as f64;
        let cut = (OUTLIER * self.time_ns / self.samples / gap).min(1.0);
        let keep = 1.0 - 1.0 / SAMPLES;
        self.work_ns = keep * self.work_ns + cut * self.ended_ns as f64;
        self.time_ns = keep * self.time_ns + cut * gap;
        self.samples = keep * self.samples + 1.0;
    }

    /// One core until it is known.
    pub(super) fn cores(&self) -> f64 {
        (self.work_ns / self.time_ns).max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    fn close(found: f64, right: f64) {
        assert!((found / right - 1.0).abs() < 1e-12, "{found}, not {right}");
    }

    /// One core is given for a sample of 100 µs; each further sample leaves 63/64 of the sums.
    #[test]
    fn cores_are_the_work_over_the_time_of_samples_with_the_past_decayed() {
        let mut pace = Pace::default();
        pace.learn(at(10), 5_000, true);
        pace.learn(at(30), 8_000, true);
        pace.learn(at(30), 2_000, true);
        close(pace.cores(), 1.0);
        // Its gap is over once another ends: 10 µs of work in 20 µs.
        pace.learn(at(50), 40_000, true);
        let (work, time, samples) = (98_437.5 + 10_000.0, 98_437.5 + 20_000.0, 1.984375);
        close(pace.cores(), work / time);
        // A gap of 1 ms is cut to eight of the mean, and the work that ended then with it.
        pace.learn(at(1_050), 600_000, true);
        close(pace.cores(), (work * 63.0 / 64.0 + 40_000.0) / (time * 63.0 / 64.0 + 20_000.0));
        let (work, time) = (work * 63.0 / 64.0 + 40_000.0, time * 63.0 / 64.0 + 20_000.0);
        let samples = samples * 63.0 / 64.0 + 1.0;
        pace.learn(at(1_060), 1, true);
        let cut = 8.0 * time / samples / 1_000_000.0;
        let (work, time) = (work * 63.0 / 64.0 + cut * 600_000.0, time * 63.0 / 64.0 + cut * 1e6);
        close(pace.cores(), work / time);
    }

    #[test]
    fn what_passes_while_none_waits_is_no_pace() {
        let mut pace = Pace::default();
        for us in 1..100 {
            pace.learn(at(10 * us), 90_000, false);
        }
        close(pace.cores(), 1.0);
    }
}
