//! The efficiency regulator: a larger pool only while it buys throughput (Protego, NSDI '23, §3.1).
//!
//! It looks at no delay, so that it also works where locks, not cores, are the bottleneck: what it
//! compares is the change of what is served with the change of what comes in. `meter` counts.

use super::config::{Config, Decrease, Efficiency, Growth, Judge};
use super::trend::{Flow, Trend};

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
