//! What is kept of a program: what the profiler said, and what clients saw before and after.

use machine::Origin;
use serde::Serialize;
use tailwater_stats::Histogram;
use tailwater_stats::result::Spread;

/// One run, as its clients saw it. Latencies count from the times at which requests were due.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Reading {
    /// Requests that were due in the window.
    pub(super) requests: u64,
    /// Of these, answered by its end or soon after.
    pub(super) answered: u64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
    /// Keys that the second client was told of, where it lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) listed: Option<u64>,
    /// How late 99 % of the requests were sent at most, where a load that may be late must say so. It is in their latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) late_p99_us: Option<f64>,
}

impl Reading {
    pub(super) fn of(requests: u64, answered: u64, latency: &Histogram) -> Self {
        let at = |quantile| latency.quantile(quantile).as_secs_f64() * 1e6;
        let (p50_us, p99_us, p999_us) = (at(0.5), at(0.99), at(0.999));
        Self { requests, answered, p50_us, p99_us, p999_us, listed: None, late_p99_us: None }
    }

    pub(super) fn line(&self) -> String {
        let Self { requests, answered, p50_us, p99_us, p999_us, listed, late_p99_us } = self;
        let listed = listed.map_or_else(String::new, |keys| format!("; {keys} keys listed"));
        let late =
            late_p99_us.map_or_else(String::new, |us| format!("; sent late, p99 {us:.0} µs"));
        format!(
            "p50 {p50_us:.0}, p99 {p99_us:.0}, p99.9 {p999_us:.0} µs; {answered} of {requests}{listed}{late}"
        )
    }
}

/// A command and its output.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    pub(super) typed: String,
    pub(super) output: String,
}

#[derive(Debug, Serialize)]
pub(super) struct GuideResult {
    pub(super) title: String,
    #[serde(flatten)]
    pub(super) origin: Origin,
    /// Counted of each run.
    pub(super) seconds: u64,
    /// What distinguishes *after*.
    pub(super) change: String,
    pub(super) said: Vec<Said>,
    /// Before, after, after, before.
    pub(super) quads: Vec<[Reading; 4]>,
}

impl GuideResult {
    /// The p99 after over that before, of neighbours: the first two of a quad, and the last two.
    pub(super) fn summary(&self) -> String {
        if self.quads.is_empty() {
            return format!("{}: the trace was asked, nothing was measured", self.title);
        }
        let pairs = self.quads.iter().flat_map(|[a, b, c, d]| [(a, b), (d, c)]);
        let ratios: Vec<f64> = pairs.map(|(before, after)| after.p99_us / before.p99_us).collect();
        let Spread { min, median, max } = Spread::of(&ratios);
        format!("{}: p99 × {median:.2} [{min:.2}–{max:.2}]", self.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_were_listed_are_recorded_and_nothing_of_others() {
        let listing = Reading { listed: Some(1_500), ..Reading::default() };
        assert!(listing.line().ends_with("; 1500 keys listed"), "{}", listing.line());
        let json = |reading| serde_json::to_value(reading).expect("numbers");
        assert_eq!(json(listing)["listed"], 1_500);
        assert!(json(Reading::default()).get("listed").is_none());
    }

    #[test]
    fn how_late_a_load_was_is_recorded_where_it_says_so() {
        let open = Reading { late_p99_us: Some(12.0), ..Reading::default() };
        assert!(open.line().ends_with("; sent late, p99 12 µs"), "{}", open.line());
        let json = |reading| serde_json::to_value(reading).expect("numbers");
        assert_eq!(json(open)["late_p99_us"], 12.0);
        assert!(json(Reading::default()).get("late_p99_us").is_none());
    }

    #[test]
    fn neighbours_are_compared() {
        let of = |p99_us| Reading { p99_us, ..Reading::default() };
        let result = GuideResult {
            title: "x".into(),
            origin: Origin::default(),
            seconds: 1,
            change: String::new(),
            said: vec![],
            quads: vec![[of(100.0), of(50.0), of(30.0), of(120.0)]],
        };
        // 50 / 100 and 30 / 120.
        assert_eq!(result.summary(), "x: p99 × 0.38 [0.25–0.50]");
    }
}
