//! A window of samples: what one update of the limit is made from.

use super::config::Config;
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

/// Gathers samples until there are enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    config: Config,
    /// When the first sample came.
    began: Option<Instant>,
    count: u64,
    sum_ns: u64,
    waited_ns: u64,
    shortest_ns: u64,
    inside_max: u32,
}

impl Window {
    pub(super) const fn new(config: Config) -> Self {
        Self {
            config,
            began: None,
            count: 0,
            sum_ns: 0,
            waited_ns: 0,
            shortest_ns: u64::MAX,
            inside_max: 0,
        }
    }

    /// Takes a sample in; a summary when the window ended with it, and a new window begins.
    pub(super) fn add(&mut self, now: Instant, sample: &Sample) -> Option<Summary> {
        let inside_ns = (sample.waited + sample.service).nanos();
        if inside_ns < self.config.sample_floor.nanos() {
            return None;
        }
        let began = *self.began.get_or_insert(now);
        self.count += 1;
        // A handler that hung for centuries must not wrap the sum.
        self.sum_ns = self.sum_ns.saturating_add(inside_ns);
        self.waited_ns = self.waited_ns.saturating_add(sample.waited.nanos());
        self.shortest_ns = self.shortest_ns.min(inside_ns);
        self.inside_max = self.inside_max.max(sample.inside);
        let due = now.since(began) >= self.length();
        (due && self.count >= u64::from(self.config.window_samples)).then(|| self.end())
    }

    fn length(&self) -> Duration {
        let twice = Duration::from_nanos(self.shortest_ns.saturating_mul(2));
        twice.clamp(self.config.span_min, self.config.span_max)
    }

    #[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^52 ns in practice")]
    fn end(&mut self) -> Summary {
        let ended = std::mem::replace(self, Self::new(self.config));
        Summary {
            mean_ns: ended.sum_ns as f64 / ended.count as f64,
            waited_ns: ended.waited_ns / ended.count,
            inside_max: ended.inside_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(waited_us: u64, service_us: u64, inside: u32) -> Sample {
        let (waited, service) =
            (Duration::from_micros(waited_us), Duration::from_micros(service_us));
        Sample { waited, service, inside }
    }

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn a_window_ends_when_it_is_long_enough_and_has_enough_samples() {
        let config = Config {
            span_min: Duration::from_micros(100),
            span_max: Duration::from_micros(500),
            window_samples: 3,
            ..Config::paper()
        };
        // The shortest sample takes 100 µs, so the window lasts 200 µs; three samples are needed.
        let mut window = Window::new(config);
        assert_eq!(window.add(at(0), &sample(90, 10, 4)), None);
        assert_eq!(window.add(at(199), &sample(180, 20, 9)), None);
        assert_eq!(window.add(at(199), &sample(180, 20, 8)), None, "too short");
        let ended = window.add(at(200), &sample(90, 10, 1)).unwrap();
        assert_eq!(ended, Summary { mean_ns: 150_000.0, waited_ns: 135_000, inside_max: 9 });
        assert_eq!(window.add(at(201), &sample(0, 10, 1)), None);
        assert_eq!(window.add(at(900), &sample(0, 10, 1)), None, "too few");
        assert!(window.add(at(901), &sample(0, 10, 1)).is_some());
    }

    #[test]
    fn as_shipped_microseconds_count_for_nothing() {
        let mut window = Window::new(Config::artifact());
        let mut ended = (0..100_000).filter_map(|n| window.add(at(100 * n), &sample(89, 10, 9)));
        assert_eq!(ended.next(), None);
        let ended = (0..30).filter_map(|n| window.add(at(100_000 * n), &sample(90, 10, 9)));
        assert_eq!(ended.count(), 2, "three seconds of 100 µs samples");
    }
}
