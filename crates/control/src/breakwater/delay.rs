//! The delay regulator: how large the pool should be (Breakwater eq. 1–3).

use super::config::{Config, Growth, Increase};
use std::time::Duration;

/// What one update looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) total: u32,
    pub(super) issued: u32,
    pub(super) sessions: u32,
    pub(super) delay: Duration,
    /// Requests that the server's queue shed since the last update, beyond what bursts explain.
    pub(super) shed_beyond_bursts: f64,
    /// The pool lags behind the demand: it has never met the target delay yet, or [`CALM`] requests were
    /// served in a row without any.
    pub(super) is_lagging: bool,
    /// Another law sees no use in a larger pool.
    pub(super) held: bool,
    /// The fraction of a credit left over from earlier updates ([`Increase::Carried`]).
    pub(super) carry: f64,
}

/// The pool after the update, and the fraction to carry.
pub(super) fn update(config: &Config, reading: &Reading) -> (u32, f64) {
    if config.increase == Increase::Fractional {
        return fractional(config, reading);
    }
    if reading.delay < config.target_delay {
        increase(config, reading)
    } else {
        (decrease(config, reading), 0.0)
    }
}

/// Eq. 1 with the A of eq. 3.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to u32")]
fn increase(config: &Config, reading: &Reading) -> (u32, f64) {
    if !may_grow(config, reading) {
        return (clamp(config, reading, reading.total), reading.carry);
    }
    let step = config.alpha * f64::from(reading.sessions);
    let (whole, carry) = match config.increase {
        Increase::AtLeastOne | Increase::Fractional => (step.max(1.0).round(), 0.0),
        Increase::Carried => ((step + reading.carry).floor(), (step + reading.carry).fract()),
    };
    (clamp(config, reading, reading.total.saturating_add(whole as u32)), carry)
}

/// So many requests served in a row without any delay, and the pool lags behind the demand. The queue of
/// a loaded server is empty now and then, but hardly for so long: it grows to twenty and falls again
/// within some four hundred requests.
pub(super) const CALM: u32 = 512;

/// How much the pool then grows by an update, as a share of itself, and by a whole credit at least:
/// eq. 3 alone takes a minute to let a single client pipeline, and seconds to give each of 10,000
/// clients a credit.
const LAG_GROWTH: f64 = 1.0 / 16.0;

/// Whether an update finds the server all but idle.
pub(super) fn is_calm(config: &Config, delay: Duration) -> bool {
    delay < config.target_delay / 8
}

/// Eq. 1 and 2 on a pool that is a real number: whole credits, and the fraction beside them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to u32")]
fn fractional(config: &Config, reading: &Reading) -> (u32, f64) {
    let total = f64::from(reading.total) + reading.carry;
    let next = if reading.delay >= config.target_delay || reading.shed_beyond_bursts > 0.0 {
        let kept = total * decrease_factor(config, reading);
        (kept - reading.shed_beyond_bursts).max(total * config.decrease_floor)
    } else if may_grow(config, reading) {
        let step = config.alpha * f64::from(reading.sessions);
        total + if reading.is_lagging { step.max(1.0).max(total * LAG_GROWTH) } else { step }
    } else {
        total
    };
    let whole = next.floor() as u32;
    let clamped = clamp(config, reading, whole);
    (clamped, if clamped == whole { next.fract() } else { 0.0 })
}

fn may_grow(config: &Config, reading: &Reading) -> bool {
    if reading.held {
        return false;
    }
    match config.growth {
        Growth::Always => true,
        Growth::WhileUsed(share) => f64::from(reading.issued) >= share * f64::from(reading.total),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
fn decrease(config: &Config, reading: &Reading) -> u32 {
    let factor = decrease_factor(config, reading);
    clamp(config, reading, (f64::from(reading.total) * factor) as u32)
}

/// Eq. 2: in proportion to how far the target was missed, but never below the floor.
fn decrease_factor(config: &Config, reading: &Reading) -> f64 {
    let target = config.target_delay.as_secs_f64();
    let excess = (reading.delay.as_secs_f64() - target) / target;
    (1.0 - config.beta * excess.max(0.0)).max(config.decrease_floor)
}

/// Between the minimum and what all sessions together could hold.
fn clamp(config: &Config, reading: &Reading, total: u32) -> u32 {
    let most = reading.sessions.saturating_mul(config.window_max).max(config.pool_min);
    total.clamp(config.pool_min, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(total: u32, delay_us: u64) -> Reading {
        Reading {
            total,
            issued: total,
            sessions: 1_000,
            delay: Duration::from_micros(delay_us),
            shed_beyond_bursts: 0.0,
            is_lagging: false,
            held: false,
            carry: 0.0,
        }
    }

    /// d_t = 80 µs: the paper's setting for 10 µs service and a 200 µs SLO.
    fn paper() -> Config {
        Config::paper(Duration::from_micros(200), 10)
    }

    #[test]
    fn equation_1_and_3_add_alpha_per_client_but_at_least_one() {
        assert_eq!(update(&paper(), &reading(400, 79)).0, 401);
        let few = Reading { sessions: 100, ..reading(400, 0) };
        assert_eq!(update(&paper(), &few).0, 401);
        let many = Reading { sessions: 10_000, ..reading(400, 0) };
        assert_eq!(update(&paper(), &many).0, 410);
    }

    #[test]
    fn equation_2_shrinks_with_the_excess_down_to_the_floor() {
        assert_eq!(update(&paper(), &reading(400, 80)).0, 400);
        assert_eq!(update(&paper(), &reading(400, 160)).0, 392);
        assert_eq!(update(&paper(), &reading(400, 80 * 11)).0, 320);
        assert_eq!(update(&paper(), &reading(400, 1_000_000)).0, 200);
        assert_eq!(update(&paper(), &reading(11, 1_000_000)).0, 10, "never below the minimum");
    }

    #[test]
    fn the_artifact_carries_fractions_and_loses_them_on_a_decrease() {
        let artifact = Config::artifact(Duration::from_micros(200), 10);
        let mut few = Reading { sessions: 300, ..reading(400, 0) };
        let mut totals = Vec::new();
        for _ in 0..4 {
            (few.total, few.carry) = update(&artifact, &few);
            totals.push(few.total);
        }
        assert_eq!(totals, [400, 400, 400, 401]);
        assert_eq!(update(&artifact, &Reading { delay: Duration::from_micros(90), ..few }).1, 0.0);
    }

    #[test]
    fn a_gentle_decrease_is_not_rounded_to_a_whole_credit() {
        let tuned = Config::tuned(Duration::from_micros(400), 1);
        assert_eq!(tuned.target_delay, Duration::from_micros(120));
        let mut late = Reading { total: 50, issued: 50, ..reading(50, 240) };
        let mut totals = Vec::new();
        for _ in 0..3 {
            (late.total, late.carry) = update(&tuned, &late);
            totals.push(f64::from(late.total) + late.carry);
        }
        let expected = [49.75, 49.50125, 49.25374];
        let close =
            totals.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-3);
        assert!(close, "{totals:?}");
    }

    #[test]
    fn credits_that_brought_refusals_only_are_not_issued_again() {
        let tuned = Config::tuned(Duration::from_micros(400), 1);
        let refused = Reading { shed_beyond_bursts: 30.0, ..reading(400, 0) };
        assert_eq!(update(&tuned, &refused).0, 370, "though the queue is empty");
        assert_eq!(
            update(&tuned, &Reading { shed_beyond_bursts: 1e9, ..refused }).0,
            200,
            "by half at most"
        );
    }

    #[test]
    fn a_pool_that_lags_grows_by_whole_credits() {
        let tuned = Config::tuned(Duration::from_micros(400), 1);
        let alone = Reading { sessions: 1, ..reading(5, 0) };
        assert_eq!(update(&tuned, &alone).0, 5);
        assert_eq!(update(&tuned, &Reading { is_lagging: true, ..alone }).0, 6);
    }

    #[test]
    fn an_unused_pool_does_not_grow() {
        let tuned = Config::tuned(Duration::from_micros(200), 10);
        let idle = Reading { issued: 100, ..reading(400, 0) };
        assert_eq!(update(&tuned, &idle).0, 400);
        assert_eq!(update(&paper(), &idle).0, 401);
        let deserted = Reading { sessions: 2, ..idle };
        assert_eq!(update(&tuned, &deserted).0, 128, "but it follows the crowd that leaves");
    }
}
