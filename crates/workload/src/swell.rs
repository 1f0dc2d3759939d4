//! Steps of demand cut where the arrivals' own rate changes: bursts and swings.

use crate::arrivals::{Arrivals, Bursts, Diurnal};
use crate::demand::Step;
use std::time::Duration;
use tailwater_core::{Nanos, Rate, Rng};

/// A period is played as so many ramps. Between their ends a sine departs from the straight line by at most an eighth of
/// the squared angle: 0.12 % of the swing. The mean over a period is exact.
const RAMPS: u64 = 64;

/// The steps of a plan, in pieces whose rate is the one of the arrivals.
pub(crate) struct Swell {
    steps: std::vec::IntoIter<Step>,
    /// The step under way, and how much of it was played.
    step: Option<(Step, Duration)>,
    shape: Shape,
}

/// What multiplies the demand.
enum Shape {
    Flat,
    Bursts {
        bursts: Bursts,
        rng: Rng,
        in_burst: bool,
        /// What is left of the burst or of the time between two.
        left: Duration,
    },
    Diurnal {
        diurnal: Diurnal,
        /// The ramp that comes next, from the start of the plan.
        ramp: u64,
        /// How much of it was played.
        played: Duration,
    },
}

impl Swell {
    /// `rng` decides when bursts begin and end.
    pub(crate) fn new(steps: Vec<Step>, arrivals: Arrivals, mut rng: Rng) -> Self {
        let shape = match arrivals {
            Arrivals::Bursts(bursts) => {
                let in_burst = rng.chance(bursts.share());
                let left = sojourn(&bursts, in_burst, &mut rng);
                Shape::Bursts { bursts, rng, in_burst, left }
            }
            Arrivals::Diurnal(diurnal) => {
                Shape::Diurnal { diurnal, ramp: 0, played: Duration::ZERO }
            }
            Arrivals::Poisson
            | Arrivals::Periodic
            | Arrivals::Gamma { .. }
            | Arrivals::Metronome => Shape::Flat,
        };
        Self { steps: steps.into_iter(), step: None, shape }
    }
}

impl Iterator for Swell {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if matches!(self.shape, Shape::Flat) {
            return self.steps.next();
        }
        let (step, played) = match self.step.take() {
            Some(under_way) => under_way,
            None => (self.steps.next()?, Duration::ZERO),
        };
        let rest = step.length.saturating_sub(played);
        let (length, [begin, end]) = self.shape.play(rest);
        let until = played + length;
        if until < step.length {
            self.step = Some((step, until));
        }
        let rate = |at, factor: f64| Rate(step.rate_at(at).0 * factor);
        Some(Step { rate: rate(played, begin), end: rate(until, end), length })
    }
}

impl Shape {
    /// Plays on for at most `most`: for how long, and by what the demand is multiplied at both ends.
    fn play(&mut self, most: Duration) -> (Duration, [f64; 2]) {
        match self {
            Self::Flat => (most, [1.0; 2]),
            Self::Bursts { bursts, rng, in_burst, left } => {
                let length = most.min(*left);
                let [burst, quiet] = bursts.factors();
                let factor = if *in_burst { burst } else { quiet };
                *left -= length;
                if left.is_zero() {
                    *in_burst = !*in_burst;
                    *left = sojourn(bursts, *in_burst, rng);
                }
                (length, [factor; 2])
            }
            Self::Diurnal { diurnal, ramp, played } => {
                let period = diurnal.period().nanos();
                let edge = |ramp: u64| Duration::from_nanos(period * ramp / RAMPS);
                let of_ramp = edge(*ramp + 1) - edge(*ramp);
                let length = most.min(of_ramp - *played);
                let ends = [*ramp, *ramp + 1].map(|at| diurnal.factor(at as f64 / RAMPS as f64));
                let factor =
                    |at: Duration| ends[0] + (ends[1] - ends[0]) * at.div_duration_f64(of_ramp);
                let factors = [factor(*played), factor(*played + length)];
                *played += length;
                if *played == of_ramp {
                    (*ramp, *played) = ((*ramp + 1) % RAMPS, Duration::ZERO);
                }
                (length, factors)
            }
        }
    }
}

/// How long a burst lasts, or the time until the next; at least a nanosecond, so that playing goes on.
fn sojourn(bursts: &Bursts, in_burst: bool, rng: &mut Rng) -> Duration {
    let [length, quiet] = bursts.sojourns();
    let mean = if in_burst { length } else { quiet };
    Duration::from_nanos(rng.exponential(mean.nanos() as f64).max(1.0) as u64)
}
