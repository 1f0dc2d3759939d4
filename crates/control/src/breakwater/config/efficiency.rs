//! What can be chosen of the efficiency law, and its profiles.

use crate::config_error::{ConfigError, within};
use std::time::Duration;

/// What the efficiency law needs to know beside the pool's own settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Efficiency {
    /// t_e: how much more must be served for a request more that comes in, from 0 to 1. Paper: 0.1.
    /// Low serves most and drops most; near 1 the pool stops at the first drop.
    pub threshold: f64,
    /// t_d: the share of requests that may be dropped before the pool shrinks whatever that costs.
    /// Paper: 1, no cap.
    pub drop_cap: f64,
    /// a: credits added per client, at least one in all (ours). Paper: 0.001. Unused beside
    /// [`Efficiency::delay_steers`].
    pub additive: f64,
    /// How the pool shrinks.
    pub decrease: Decrease,
    /// How long an iteration takes.
    pub span: Span,
    /// What counts as efficient.
    pub judge: Judge,
    /// The delay law of Breakwater goes on steering the pool at each of its own intervals. This law only forbids it
    /// to grow and takes away. Ours: the delay of the run queue is the better signal where cores are the bottleneck,
    /// and silent where locks are.
    pub delay_steers: bool,
    /// C_max of the whole server, beside what all sessions together could hold.
    pub pool_max: u32,
}

/// See [`Efficiency::decrease`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Decrease {
    /// C ← (1 − d)·C (Algorithm 1); paper: d = 0.02.
    Multiplicative(f64),
    /// By as much as it grows (artifact).
    Additive,
}

/// See [`Efficiency::span`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// Four times from the issue of a credit to the return of its answer, smoothed over all sessions; the
    /// first is not counted, since a new pool takes as long to show in what comes in (§3.1, §4). It
    /// contains the time that the credit lies at a client with nothing to send.
    Credits,
    /// The same with four round trips of a request, network and server. Ours: where clients ask
    /// seldom, the line through many short iterations follows a change sooner.
    RoundTrips,
    /// Constants (artifact: 200 µs and 100 µs).
    Fixed {
        /// From one change of the pool to the next.
        interval: Duration,
        /// How much of it passes before counting begins.
        settle: Duration,
    },
}

/// See [`Efficiency::judge`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Judge {
    /// The difference between this iteration and the last, as in Algorithm 1.
    Difference,
    /// The same as the published code has it. An iteration without requests grows the pool, and so does one that
    /// exactly meets the threshold under rising load. A pool not used as far as [`Config::growth`](super::Config::growth) wants shrinks.
    Published,
    /// The slope of a line through about the last `memory` iterations, asked only once more than a
    /// share of `spared` is dropped. Ours: an iteration sees a hundred requests give or take ten, so
    /// that a single difference is mostly chance; and a server that drops nothing wastes nothing.
    Slope {
        /// Iterations until a new state of things has mostly replaced an old one; at least 1.
        memory: f64,
        /// From 0 to 1.
        spared: f64,
    },
}

impl Efficiency {
    /// The paper's text: Algorithm 1, §3.3, §5.1.
    pub(in crate::breakwater) const PAPER: Self = Self {
        threshold: 0.1,
        drop_cap: 1.0,
        additive: 0.001,
        decrease: Decrease::Multiplicative(0.02),
        span: Span::Credits,
        judge: Judge::Difference,
        delay_steers: false,
        pool_max: u32::MAX,
    };

    /// The authors' published code: `bw2_server.c` and `bw2_config.h` of the NSDI artifact.
    pub(in crate::breakwater) const ARTIFACT: Self = Self {
        threshold: 0.25,
        additive: 0.0005,
        decrease: Decrease::Additive,
        span: Span::Fixed {
            interval: Duration::from_micros(200),
            settle: Duration::from_micros(100),
        },
        judge: Judge::Published,
        ..Self::PAPER
    };

    /// Ours; `docs/protego.md` says what each departure is worth.
    pub(in crate::breakwater) const TUNED: Self = Self {
        span: Span::RoundTrips,
        judge: Judge::Slope { memory: 32.0, spared: 0.05 },
        delay_steers: true,
        ..Self::PAPER
    };

    /// The length of an iteration and the part of it that is not counted, for an end-to-end `rtt`.
    pub(in crate::breakwater) fn pace(&self, rtt: Duration) -> (Duration, Duration) {
        // Without bounds a loopback would iterate faster than requests finish, and a lying client
        // could stop the loop.
        const BOUNDS: (Duration, Duration) = (Duration::from_micros(5), Duration::from_millis(100));
        match self.span {
            Span::Credits | Span::RoundTrips => {
                let rtt = rtt.clamp(BOUNDS.0, BOUNDS.1);
                (4 * rtt, rtt)
            }
            Span::Fixed { interval, settle } => (interval, settle),
        }
    }

    /// Why these settings cannot work, if they cannot.
    pub(in crate::breakwater) fn check(&self) -> Result<(), ConfigError> {
        within("efficiency_threshold", self.threshold, 0.0..=1.0)?;
        within("drop_cap", self.drop_cap, 0.0..=1.0)?;
        within("additive", self.additive, 0.0..=1.0)?;
        if let Decrease::Multiplicative(factor) = self.decrease {
            within("decrease", factor, 0.0..=1.0)?;
        }
        if let Judge::Slope { memory, spared } = self.judge {
            within("spared_drops", spared, 0.0..=1.0)?;
            if !memory.is_finite() || memory < 1.0 {
                return Err(ConfigError::new("memory", memory, "a number of 1 or more"));
            }
        }
        match self.span {
            Span::Fixed { interval, settle } if settle >= interval => {
                let needed = format!("less than the interval, {interval:?},");
                Err(ConfigError::new("settle", format!("{settle:?}"), needed))
            }
            _ => Ok(()),
        }
    }
}
