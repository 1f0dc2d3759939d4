//! A window of samples: what one update of the limit is made from. Each loop sums what it serves, and
//! the loop whose tick finds the window at its end takes the difference of the sums.

use super::config::Config;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// A request that was served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// From arrival to the start of service.
    pub(super) waited: Duration,
    /// From there to the answer.
    pub(super) service: Duration,
    /// Requests inside when it was answered, itself included.
    pub(super) inside: u32,
}

/// One loop's samples since the server began; sums wrap. Aligned, so that loops do not share cache
/// lines. All atomics are relaxed: each is a number of its own, and a sum that misses a loop's newest
/// request counts it in the next window.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    count: AtomicU64,
    sum_ns: AtomicU64,
    waited_ns: AtomicU64,
    /// Since the window's end, which resets it.
    shortest_ns: AtomicU64,
    /// Likewise.
    inside_max: AtomicU64,
}

impl Tally {
    pub(super) const fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            sum_ns: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            shortest_ns: AtomicU64::new(u64::MAX),
            inside_max: AtomicU64::new(0),
        }
    }

    /// Takes a sample in, unless it is too short to count. Called by the loop that owns the tally.
    pub(super) fn add(&self, config: &Config, sample: &Sample) {
        let inside_ns = (sample.waited + sample.service).nanos();
        if inside_ns < config.sample_floor.nanos() {
            return;
        }
        add(&self.sum_ns, inside_ns);
        add(&self.waited_ns, sample.waited.nanos());
        self.shortest_ns.fetch_min(inside_ns, Relaxed);
        self.inside_max.fetch_max(sample.inside.into(), Relaxed);
        add(&self.count, 1);
    }
}

/// One writer, so that counting needs no read-modify-write.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

/// A window that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Summary {
    /// Mean time inside.
    pub(super) mean_ns: f64,
    /// Mean wait.
    pub(super) waited_ns: u64,
    /// Most requests that were inside at once.
    pub(super) inside_max: u32,
}

/// The window that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    config: Config,
    /// When its first sample was seen.
    began: Option<Instant>,
    /// The sums when it was opened.
    base: Sums,
}

#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    count: u64,
    sum_ns: u64,
    waited_ns: u64,
}

impl Window {
    pub(super) fn new(config: Config) -> Self {
        Self { config, began: None, base: Sums::default() }
    }

    /// Looks at all loops; a summary when the window is long enough and has enough samples, and a new
    /// window begins.
    pub(super) fn look(&mut self, now: Instant, tallies: &[Tally]) -> Option<Summary> {
        let sums = Sums::of(tallies);
        let count = sums.count.wrapping_sub(self.base.count);
        if count == 0 {
            return None;
        }
        let began = *self.began.get_or_insert(now);
        let due = now.since(began) >= self.length(tallies);
        (due && count >= u64::from(self.config.window_samples)).then(|| self.end(sums, tallies))
    }

    fn length(&self, tallies: &[Tally]) -> Duration {
        let shortest = tallies.iter().map(|tally| tally.shortest_ns.load(Relaxed)).min();
        let twice = Duration::from_nanos(shortest.unwrap_or(u64::MAX).saturating_mul(2));
        twice.clamp(self.config.span_min, self.config.span_max)
    }

    #[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^52 ns in practice")]
    fn end(&mut self, sums: Sums, tallies: &[Tally]) -> Summary {
        let base =
            std::mem::replace(self, Self { config: self.config, began: None, base: sums }).base;
        let count = sums.count.wrapping_sub(base.count);
        let mut inside_max = 0;
        for tally in tallies {
            tally.shortest_ns.store(u64::MAX, Relaxed);
            inside_max = inside_max.max(tally.inside_max.swap(0, Relaxed));
        }
        Summary {
            mean_ns: sums.sum_ns.wrapping_sub(base.sum_ns) as f64 / count as f64,
            waited_ns: sums.waited_ns.wrapping_sub(base.waited_ns) / count,
            inside_max: u32::try_from(inside_max).unwrap_or(u32::MAX),
        }
    }
}

impl Sums {
    fn of(tallies: &[Tally]) -> Self {
        tallies.iter().fold(Self::default(), |sums, tally| Self {
            count: sums.count.wrapping_add(tally.count.load(Relaxed)),
            sum_ns: sums.sum_ns.wrapping_add(tally.sum_ns.load(Relaxed)),
            waited_ns: sums.waited_ns.wrapping_add(tally.waited_ns.load(Relaxed)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two loops and the window over both.
    struct Bench {
        config: Config,
        tallies: [Tally; 2],
        window: Window,
    }

    impl Bench {
        fn new(config: Config) -> Self {
            Self { config, tallies: [Tally::new(), Tally::new()], window: Window::new(config) }
        }

        /// A request of the loop, and then its tick.
        fn serve(
            &mut self,
            at_us: u64,
            at_loop: usize,
            times_us: [u64; 2],
            inside: u32,
        ) -> Option<Summary> {
            let [waited, service] = times_us.map(Duration::from_micros);
            self.tallies[at_loop].add(&self.config, &Sample { waited, service, inside });
            self.window.look(Instant::from_nanos(at_us * 1_000), &self.tallies)
        }
    }

    #[test]
    fn a_window_over_all_loops_ends_when_it_is_long_enough_and_has_enough_samples() {
        // The shortest sample takes 100 µs, so the window lasts 200 µs; three samples are needed.
        let mut bench = Bench::new(Config {
            span_min: Duration::from_micros(100),
            span_max: Duration::from_micros(500),
            window_samples: 3,
            ..Config::paper()
        });
        assert_eq!(bench.serve(0, 0, [90, 10], 4), None);
        assert_eq!(bench.serve(199, 1, [180, 20], 9), None);
        assert_eq!(bench.serve(199, 0, [180, 20], 8), None, "too short");
        let ended = bench.serve(200, 1, [90, 10], 1).unwrap();
        assert_eq!(ended, Summary { mean_ns: 150_000.0, waited_ns: 135_000, inside_max: 9 });
        assert_eq!(bench.serve(201, 0, [0, 10], 1), None);
        assert_eq!(bench.serve(900, 1, [0, 10], 1), None, "too few");
        let ended = bench.serve(901, 0, [0, 10], 1).unwrap();
        assert_eq!(ended, Summary { mean_ns: 10_000.0, waited_ns: 0, inside_max: 1 });
    }

    #[test]
    fn as_shipped_microseconds_count_for_nothing() {
        let mut bench = Bench::new(Config::artifact());
        let mut ended = (0..100_000).filter_map(|n| bench.serve(100 * n, 0, [89, 10], 9));
        assert_eq!(ended.next(), None);
        let ended = (0..30).filter_map(|n| bench.serve(100_000 * n, 0, [90, 10], 9));
        assert_eq!(ended.count(), 2, "three seconds of 100 µs samples");
    }
}
