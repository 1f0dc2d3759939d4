//! The delay regulator: how large the pool should be (Breakwater eq. 1–3).

use super::config::{Config, Growth, Increase};
use std::time::Duration;

/// What one update looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) total: u32,
    pub(super) issued: u32,
    pub(super) sessions: u32,
    /// What the pool has not issued is no more than the clients' reserve.
    pub(super) is_reserve_small: bool,
    pub(super) delay: Duration,
    /// Requests that the server's queue shed since the last update, beyond what bursts explain, and those that handlers
    /// refused beyond what is tolerated.
    pub(super) shed_beyond_bursts: f64,
    /// The mean delay of the last updates, this one included; see [`follow`].
    pub(super) mean_delay: Duration,
    /// Another law sees no use in a larger pool, or handlers refuse too much.
    pub(super) held: bool,
    /// Another law weighs every request more against those dropped: it must see the effect of each step.
    pub(super) wary: bool,
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

/// How much the pool grows by an update where there is no delay at all, as a share of itself. Sixteen updates are
/// made while all credits are used once. So it doubles in no less time than a change of the pool needs to show. Eq. 3
/// alone takes 62 times as long to give each of 1,000 clients a credit.
const FAR_GROWTH: f64 = 0.06;

/// The pool is far from its size while the mean delay is below this share of the target.
const FAR: f64 = 0.5;

/// The mean delay forgets within so many updates: the time in which all credits are used once.
const MEMORY_UPDATES: u32 = 16;

/// It forgets within so many target delays at least. Few clients use all their credits in a fraction of the
/// time in which a queue empties by chance: with 100 of them drops were three times as many.
const MEMORY_TARGETS: u32 = 12;

/// The smoothed delay after an update that saw `delay`, `interval` after the one before.
pub(super) fn follow(
    config: &Config,
    mean: Duration,
    delay: Duration,
    interval: Duration,
) -> Duration {
    let memory = (MEMORY_UPDATES * interval).max(MEMORY_TARGETS * config.target_delay);
    let gain = interval.as_secs_f64() / memory.as_secs_f64();
    mean.mul_f64(1.0 - gain) + delay.mul_f64(gain)
}

/// What an increase adds: a share of the pool that falls to nothing as the mean delay rises, but no less
/// than eq. 3. One reading does not say how far the target is: a queue of the right length is empty now
/// and then.
fn step(config: &Config, reading: &Reading, total: f64) -> f64 {
    let least = config.alpha * f64::from(reading.sessions);
    if reading.wary {
        return least;
    }
    let target = config.target_delay.as_secs_f64();
    let nearness = reading.mean_delay.as_secs_f64() / (FAR * target);
    (total * FAR_GROWTH * (1.0 - nearness)).max(least)
}

/// Eq. 1 and 2 on a pool that is a real number: whole credits, and the fraction beside them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to u32")]
fn fractional(config: &Config, reading: &Reading) -> (u32, f64) {
    let total = f64::from(reading.total) + reading.carry;
    let next = if reading.delay >= config.target_delay || reading.shed_beyond_bursts > 0.0 {
        let kept = total * decrease_factor(config, reading);
        (kept - reading.shed_beyond_bursts).max(total * config.decrease_floor)
    } else if may_grow(config, reading) {
        total + step(config, reading, total)
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
        // A client may have many calls, which would wait for each other's answers with a single spare credit. The
        // overcommitment of few grows with the pool, as in the paper, up to what the queue holds.
        Growth::WhileUsed(share) => {
            let is_used = f64::from(reading.issued) >= share * f64::from(reading.total);
            is_used || reading.is_reserve_small
        }
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
    // A stall of the machine makes all that waits late by many targets, and says nothing of the pool.
    let most = if config.increase == Increase::Fractional { 1.0 } else { f64::INFINITY };
    (1.0 - config.beta * excess.clamp(0.0, most)).max(config.decrease_floor)
}

/// Between the minimum and what all sessions together could hold, or less where another law bounds the pool.
fn clamp(config: &Config, reading: &Reading, total: u32) -> u32 {
    let most = config.pool_most(reading.sessions).max(config.pool_min);
    total.clamp(config.pool_min, most)
}

#[cfg(test)]
mod tests {
    use super::super::config::{Efficiency, Law};
    use super::*;

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn reading(total: u32, delay_us: u64) -> Reading {
        Reading {
            total,
            issued: total,
            sessions: 1_000,
            is_reserve_small: false,
            delay: Duration::from_micros(delay_us),
            shed_beyond_bursts: 0.0,
            mean_delay: Duration::from_micros(delay_us),
            held: false,
            wary: false,
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

    fn grown(reading: &Reading) -> f64 {
        let (whole, carry) = update(&Config::tuned(Duration::from_micros(400), 1), reading);
        f64::from(whole) + carry - f64::from(reading.total)
    }

    /// d_t is 120 µs; α adds one credit for these 1,000 clients.
    #[test]
    fn a_pool_grows_in_proportion_until_the_mean_delay_is_half_of_the_target() {
        let empty = |mean_us| Reading { mean_delay: us(mean_us), ..reading(500, 0) };
        for (mean_us, added) in
            [(0, 30.0), (15, 22.5), (30, 15.0), (59, 1.0), (60, 1.0), (119, 1.0)]
        {
            let found = grown(&empty(mean_us));
            assert!((found - added).abs() < 1e-6, "{mean_us} µs: {found}");
        }
        assert!(
            grown(&Reading { delay: us(120), ..empty(0) }) <= 0.0,
            "eq. 1 asks the last reading"
        );
        assert!((update(&paper(), &Reading { total: 500, ..empty(0) }).0) == 501, "eq. 3");
    }

    #[test]
    fn equation_2_takes_no_more_for_a_stall_than_for_twice_the_target() {
        let twice = grown(&reading(1_000, 240));
        assert!((twice + 5.0).abs() < 1e-6, "β is 0.005: {twice}");
        assert!((grown(&reading(1_000, 4_000)) - twice).abs() < 1e-9);
    }

    #[test]
    fn the_mean_delay_forgets_with_the_turnover_but_not_faster_than_queues_move() {
        let tuned = Config::tuned(Duration::from_micros(400), 1);
        let after = |interval, updates| {
            (0..updates).fold(us(120), |mean, _| follow(&tuned, mean, Duration::ZERO, interval))
        };
        // A slow regulator: sixteen updates leave 1/e of it.
        assert_eq!(after(Duration::from_millis(1), 16).as_micros(), 42);
        // A fast one: 12 targets of 120 µs are 72 updates.
        assert_eq!(after(us(20), 16).as_micros(), 95);
        assert_eq!(after(us(20), 72).as_micros(), 43);
    }

    /// Between two iterations of that law this one makes several updates.
    #[test]
    fn a_pool_does_not_grow_beyond_the_bound_of_the_law_beside() {
        let bounded = |pool_max| {
            let law = Law::Efficiency(Efficiency { pool_max, ..Efficiency::TUNED });
            let config = Config { law, ..Config::efficiency_tuned(us(400), 1) };
            update(&config, &reading(500, 0)).0
        };
        assert_eq!([510, 500, 100, u32::MAX].map(bounded), [510, 500, 100, 530]);
    }

    #[test]
    fn an_unused_pool_does_not_grow() {
        let tuned = Config::tuned(Duration::from_micros(200), 10);
        let idle = Reading { issued: 100, ..reading(400, 0) };
        assert_eq!(update(&tuned, &idle).0, 400);
        assert_eq!(update(&paper(), &idle).0, 401);
        assert_eq!(
            update(&tuned, &Reading { is_reserve_small: true, ..idle }).0,
            424,
            "of few clients"
        );
        let deserted = Reading { sessions: 2, ..idle };
        assert_eq!(update(&tuned, &deserted).0, 128, "but it follows the crowd that leaves");
    }
}
