//! The efficiency regulator: a larger pool only while it buys throughput (Protego, NSDI '23, §3.1).
//!
//! It looks at no delay, so that it also works where locks, not cores, are the bottleneck: what it
//! compares is the change of what is served with the change of what comes in. `meter` counts.

use super::config::{Config, Growth};
use super::trend::Trend;
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
    /// a: credits added per client, at least one in all. Paper: 0.001. Unused beside
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
    /// exactly meets the threshold under rising load. A pool not used as far as [`Config::growth`] wants shrinks.
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
    pub(super) const PAPER: Self = Self {
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
    pub(super) const ARTIFACT: Self = Self {
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
    pub(super) const TUNED: Self = Self {
        span: Span::RoundTrips,
        judge: Judge::Slope { memory: 32.0, spared: 0.05 },
        delay_steers: true,
        ..Self::PAPER
    };

    /// The length of an iteration and the part of it that is not counted, for an end-to-end `rtt`.
    pub(super) fn pace(&self, rtt: Duration) -> (Duration, Duration) {
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
    pub(super) fn check(&self) -> Result<(), ConfigError> {
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

/// What was counted during one iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Flow {
    /// Requests that came, those dropped included: Algorithm 1's `in`.
    pub(super) incoming: u64,
    /// Requests served: `out`.
    pub(super) served: u64,
    /// Requests shed on arrival, at start or at a lock: `drop`.
    pub(super) dropped: u64,
    /// How long was counted.
    pub(super) over: Duration,
}

/// What one decision looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// C, a real number.
    pub(super) total: f64,
    pub(super) issued: u32,
    pub(super) sessions: u32,
    pub(super) last: Flow,
    pub(super) current: Flow,
    /// What the iterations up to the current one say together.
    pub(super) trend: Trend,
}

/// What to do with the pool, by its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// More was dropped than t_d allows: shrink.
    Dropping,
    /// Served and incoming changed together, and served by enough: grow.
    Efficient,
    /// They changed together, but served by too little: shrink.
    Inefficient,
    /// One rose and the other did not: shrink.
    Opposed,
    /// The pool is not used up, so more of it would change nothing: shrink.
    Unused,
    /// Nothing came: grow, or those without credit would never be heard of.
    Idle,
    /// Next to nothing is dropped: grow.
    KeepsUp,
}

impl Decision {
    pub(super) const fn grows(self) -> bool {
        matches!(self, Self::Efficient | Self::Idle | Self::KeepsUp)
    }
}

/// Algorithm 1, lines 11–21.
pub(super) fn decide(growth: Growth, law: &Efficiency, reading: &Reading) -> Decision {
    match law.judge {
        Judge::Difference => {
            if exceeds_cap(law, reading.current.dropped, reading.current.incoming) {
                return Decision::Dropping;
            }
            difference(law, reading)
        }
        Judge::Published => published(growth, law, reading),
        // A pool without credit receives nothing: it would measure zero drops and never grow again.
        Judge::Slope { .. } if reading.current.incoming == 0 => Decision::Idle,
        Judge::Slope { spared, .. } => slope(law, spared, &reading.trend),
    }
}

/// Line 11.
#[expect(clippy::cast_precision_loss, reason = "counts of one iteration")]
fn exceeds_cap(law: &Efficiency, dropped: u64, incoming: u64) -> bool {
    dropped as f64 > law.drop_cap * incoming as f64
}

/// Lines 13–21.
fn difference(law: &Efficiency, reading: &Reading) -> Decision {
    let Change { incoming, served, together } = Change::of(reading);
    if !together {
        Decision::Opposed
    } else if served > law.threshold * incoming {
        Decision::Efficient
    } else {
        Decision::Inefficient
    }
}

fn published(growth: Growth, law: &Efficiency, reading: &Reading) -> Decision {
    let Change { incoming, served, .. } = Change::of(reading);
    let (last, current) = (reading.last, reading.current);
    if current.incoming == 0 {
        return Decision::Idle;
    }
    let (together, enough) = if current.incoming >= last.incoming {
        (current.served > last.served, served >= law.threshold * incoming)
    } else {
        (current.served < last.served, served > law.threshold * incoming)
    };
    let unused = match growth {
        Growth::Always => false,
        Growth::WhileUsed(share) => f64::from(reading.issued) < share * reading.total,
    };
    match (together, enough, unused) {
        (false, ..) => Decision::Opposed,
        (true, false, _) => Decision::Inefficient,
        (true, true, true) => Decision::Unused,
        (true, true, false) => Decision::Efficient,
    }
}

fn slope(law: &Efficiency, spared: f64, trend: &Trend) -> Decision {
    let drops = trend.drop_share();
    if drops > law.drop_cap {
        Decision::Dropping
    } else if drops <= spared {
        Decision::KeepsUp
    } else if trend.slope() > law.threshold {
        Decision::Efficient
    } else {
        Decision::Inefficient
    }
}

/// How much two iterations differ.
struct Change {
    incoming: f64,
    served: f64,
    /// Both rose or both fell.
    together: bool,
}

impl Change {
    #[expect(clippy::cast_precision_loss, reason = "counts of one iteration")]
    fn of(reading: &Reading) -> Self {
        let (last, current) = (reading.last, reading.current);
        let rising = current.incoming > last.incoming && current.served > last.served;
        let falling = current.incoming < last.incoming && current.served < last.served;
        Self {
            incoming: current.incoming.abs_diff(last.incoming) as f64,
            served: current.served.abs_diff(last.served) as f64,
            together: rising || falling,
        }
    }
}

/// Lines 12, 15, 17, 20, 22 and 23: the pool that a decision leads to, a real number.
pub(super) fn resize(
    config: &Config,
    law: &Efficiency,
    reading: &Reading,
    decision: Decision,
) -> f64 {
    let step = (law.additive * f64::from(reading.sessions)).max(1.0);
    let next = match (decision.grows(), law.decrease) {
        (true, _) if law.delay_steers => reading.total,
        (true, _) => reading.total + step,
        (false, Decrease::Additive) => reading.total - step,
        (false, Decrease::Multiplicative(factor)) => reading.total * (1.0 - factor),
    };
    let crowd = reading.sessions.saturating_mul(config.window_max);
    let most = crowd.min(law.pool_max).max(config.pool_min);
    next.clamp(f64::from(config.pool_min), f64::from(most))
}

#[cfg(test)]
mod tests;
