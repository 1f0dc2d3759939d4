//! How a window moves: additive increase, multiplicative decrease.

use super::config::{Config, Cut, Growth};
use tailwater_core::Instant;

/// One client's window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    config: Config,
    window: f64,
    cut_at: Option<Instant>,
}

/// What the law must know of a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// When its request left.
    pub(super) sent: Instant,
    /// It was slower than the target, or a reject.
    pub(super) late: bool,
    /// Requests on their way when it came, its own included.
    pub(super) in_flight: u32,
}

/// What a response did, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// It was fast.
    Grown,
    /// It was slow or a reject.
    Cut,
    /// Kept: slow, but sent before the last decrease, which answered it already.
    CutAlready,
    /// Kept: fast, but less than half of the window was in use.
    Unused,
}

impl Law {
    pub(super) const fn new(config: Config) -> Self {
        Self { config, window: config.window_initial, cut_at: None }
    }

    /// Requests that may be on their way; at least one.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 1e6")]
    pub(super) const fn window(&self) -> u32 {
        self.window as u32
    }

    pub(super) fn on_response(&mut self, now: Instant, sample: Sample) -> Decision {
        if sample.late { self.cut(now, sample) } else { self.grow(sample) }
    }

    fn cut(&mut self, now: Instant, sample: Sample) -> Decision {
        let answered = self.cut_at.is_some_and(|cut| sample.sent < cut);
        if self.config.cut == Cut::OncePerWindow && answered {
            return Decision::CutAlready;
        }
        self.cut_at = Some(now);
        // Below one nothing would be sent, and nothing be learnt.
        self.window = (self.window * self.config.window_decrease).max(1.0);
        Decision::Cut
    }

    fn grow(&mut self, sample: Sample) -> Decision {
        let used = f64::from(sample.in_flight) * 2.0 >= self.window;
        if self.config.growth == Growth::WhileUsed && !used {
            return Decision::Unused;
        }
        let step = self.config.window_step / self.window;
        self.window = (self.window + step).min(self.config.window_max);
        Decision::Grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const SLO: Duration = Duration::from_micros(200);

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn decisions_and_their_reasons() {
        let (paper, tuned) = (Config::paper(SLO), Config::tuned(SLO));
        // The window is 10 and was last cut at 100 µs.
        let table = [
            (paper, 150, false, 1, Decision::Grown, 10.1),
            (paper, 150, true, 1, Decision::Cut, 9.0),
            (paper, 50, true, 1, Decision::Cut, 9.0),
            (tuned, 150, false, 5, Decision::Grown, 10.1),
            (tuned, 150, false, 4, Decision::Unused, 10.0),
            (tuned, 150, true, 1, Decision::Cut, 7.0),
            (tuned, 50, true, 10, Decision::CutAlready, 10.0),
            // It left at the moment of the cut, and so under the smaller window.
            (tuned, 100, true, 10, Decision::Cut, 7.0),
        ];
        for (config, sent, late, in_flight, decision, window) in table {
            let mut law = Law { config, window: 10.0, cut_at: Some(at(100)) };
            let sample = Sample { sent: at(sent), late, in_flight };
            assert_eq!(law.on_response(at(200), sample), decision, "{sample:?}");
            assert!((law.window - window).abs() < 1e-9, "{sample:?}: {}", law.window);
        }
    }

    #[test]
    fn a_window_of_fast_responses_adds_one() {
        let mut law = Law { window: 10.0, ..Law::new(Config::paper(SLO)) };
        for n in 0..10 {
            law.on_response(at(n), Sample { sent: at(0), late: false, in_flight: 10 });
        }
        assert!((10.9..=11.0).contains(&law.window), "{}", law.window);
    }

    proptest! {
        #[test]
        fn the_window_stays_within_its_bounds_and_recovers(
            tuned in any::<bool>(),
            responses in prop::collection::vec((any::<bool>(), 0..2_000_u32, 0..500_u64), 1..300),
        ) {
            let config = if tuned { Config::tuned(SLO) } else { Config::paper(SLO) };
            let mut law = Law::new(config);
            let mut now = 1_000;
            for (late, in_flight, after) in responses {
                now += after;
                law.on_response(at(now), Sample { sent: at(now - 300), late, in_flight });
                prop_assert!((1.0..=config.window_max).contains(&law.window));
                prop_assert!(law.window() >= 1);
            }
            let before = law.window;
            let fast = Sample { sent: at(now), late: false, in_flight: u32::MAX };
            (0..50).for_each(|_| { law.on_response(at(now), fast); });
            prop_assert!(law.window > before || before == config.window_max);
        }
    }
}
