//! How the admission level moves: two pure laws and the smoothing of the delay.

use super::config::{Config, Unseen};
use std::time::Duration;

/// The direct law of the OSDI evaluation: a share α of itself down, a share β of all levels up,
/// never below 1 (§5.1: the highest priority is never dropped) nor above the last level.
pub(super) fn threshold(config: &Config, threshold: f64, overloaded: bool) -> f64 {
    let next = if overloaded {
        threshold * (1.0 - config.alpha)
    } else {
        threshold + config.beta * f64::from(config.levels.count())
    };
    let top = f64::from(config.levels.top());
    next.clamp(1.0_f64.min(top), top)
}

/// The smoothed delay after `elapsed`, during which `delay` was seen last. A loop that comes late
/// weighs its sample as if it had been taken each `sample_every` meanwhile: an idle or stalled
/// server's past fades by time and not by how often anyone looked.
pub(super) fn smooth(
    config: &Config,
    old: Duration,
    delay: Duration,
    elapsed: Duration,
) -> Duration {
    let samples = elapsed.as_secs_f64() / config.sample_every.as_secs_f64();
    let kept = (1.0 - config.gain).powf(samples);
    old.mul_f64(kept) + delay.mul_f64(1.0 - kept)
}

/// The original law (SoCC '18, Algorithm 1): admit α fewer or β more requests than in the last window. The level is then
/// where the histogram's prefix sum reaches that number. `counts` are the window's arrivals by level, shed ones
/// included.
///
/// A level is admitted as a whole, but the position keeps its fraction. A level of more than α or β of the requests
/// would hold a rounded one for ever, or be too large a step.
pub(super) fn position(config: &Config, counts: &[u32], position: f64, overloaded: bool) -> f64 {
    let (whole, next) = counts.split_at(counts.len().min(position as usize + 1));
    let admitted: f64 = whole.iter().map(|&count| f64::from(count)).sum();
    let used: f64 = whole.iter().map(|&count| f64::from(count.min(1))).sum();
    let typical = match config.unseen {
        Unseen::AsArrived => 0.0,
        Unseen::AsBelow => admitted / used.max(1.0),
    };
    let above = next.first().map_or(0.0, |&count| f64::from(count).max(typical));
    let number = admitted + position.fract() * above;
    if overloaded {
        lower(counts, position, number * config.alpha, typical)
    } else {
        // At least one more, so that the first request after silence is not refused for long.
        raise(counts, position, (number * config.beta).max(1.0), typical)
    }
}

/// The position below which `fewer` requests less came, but never below the first level in use: a
/// server that sheds all it is sent learns nothing.
fn lower(counts: &[u32], from: f64, mut fewer: f64, typical: f64) -> f64 {
    let admitted = counts.iter().take(from as usize + 1);
    let Some(first) = (0_u16..).zip(admitted).find(|&(_, &count)| count > 0) else {
        return from;
    };
    let first = f64::from(first.0);
    let mut at = from;
    let below = (0_u16..).zip(counts).take(from.ceil() as usize + 1);
    for (level, &count) in below.collect::<Vec<_>>().into_iter().rev() {
        let bottom = f64::from(level) - 1.0;
        let hidden = if f64::from(level) > from { typical } else { 0.0 };
        let full = f64::from(count).max(hidden);
        if full * (at - bottom) > fewer {
            return (at - fewer / full).max(first);
        }
        fewer -= full * (at - bottom);
        at = bottom;
    }
    first
}

/// The position below which `more` requests more came, if each level above was as full as `typical`
/// at least; the last level if they are not that many.
fn raise(counts: &[u32], from: f64, mut more: f64, typical: f64) -> f64 {
    let mut at = from;
    for (level, &count) in (0_u16..).zip(counts).skip(from as usize + 1) {
        let top = f64::from(level);
        let full = f64::from(count).max(typical);
        if full * (top - at) > more {
            return at + more / full;
        }
        more -= full * (top - at);
        at = top;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::levels::Levels;
    use super::*;
    use proptest::prelude::*;

    const SLO: Duration = Duration::from_micros(200);

    fn eight_levels(unseen: Unseen) -> Config {
        let levels = Levels { class_bits: 0, user_bits: 3 };
        Config { levels, unseen, ..Config::paper(SLO) }
    }

    #[test]
    fn the_threshold_falls_by_a_share_of_itself_and_rises_by_a_share_of_all() {
        let paper = Config::paper(SLO);
        let table = [
            (32.0, true, 30.4),
            (32.0, false, 33.28),
            (127.0, false, 127.0),
            (126.5, false, 127.0),
            (1.0, true, 1.0),
            (1.02, true, 1.0),
        ];
        for (before, overloaded, after) in table {
            let found = threshold(&paper, before, overloaded);
            assert!((found - after).abs() < 1e-9, "{before} became {found}, {after} is right");
        }
    }

    #[test]
    fn a_tenth_of_a_millisecond_is_ten_samples() {
        let (paper, us) = (Config::paper(SLO), Duration::from_micros);
        let mut one_by_one = us(100);
        for _ in 0..10 {
            one_by_one = smooth(&paper, one_by_one, us(20), us(10));
        }
        assert_eq!(smooth(&paper, us(100), us(20), us(10)), us(84), "0.8 and 0.2");
        let at_once = smooth(&paper, us(100), us(20), us(100));
        assert!(at_once.abs_diff(one_by_one) < us(1), "{at_once:?}, {one_by_one:?}");
    }

    fn close(found: f64, right: f64) -> bool {
        (found - right).abs() < 1e-9
    }

    #[test]
    fn the_position_goes_where_the_prefix_sum_leads() {
        // Skewed: levels 2 and 5 carry nearly everything.
        let counts = [0, 10, 400, 0, 30, 500, 40, 20];
        let letter = eight_levels(Unseen::AsArrived);
        let table = [
            (7.0, true, 5.0 + 10.0 / 40.0, "950 of 1,000: the 940 up to level 5 and 10 of level 6"),
            (5.0, true, 5.0 - 47.0 / 500.0, "893 of 940: level 5 is not admitted any more"),
            (4.0, true, 4.0 - 22.0 / 30.0, "418 of 440"),
            (3.0, true, 2.0 - 20.5 / 400.0, "389.5 of 410, and level 3 is empty"),
            (1.0, true, 1.0, "the first level in use stays"),
            (0.5, true, 0.5, "nothing came below: nothing to learn from"),
            (2.0, false, 3.0 + 4.1 / 30.0, "4.1 more: level 3 is empty"),
            (4.5, false, 4.5 + 6.9 / 500.0, "1 % of 440 and half of level 5"),
            (6.0, false, 6.0 + 9.8 / 20.0, "9.8 more"),
            (7.0, false, 7.0, "open already"),
        ];
        for (before, overloaded, after, why) in table {
            let found = position(&letter, &counts, before, overloaded);
            assert!(close(found, after), "{before} became {found}, {after} is right: {why}");
        }
    }

    /// Admitted are 210: level 1, and half of level 2. A twentieth of them is 10.5.
    #[test]
    fn a_level_in_use_above_the_first_is_taken_in_part() {
        let counts = [0, 10, 400, 0, 30, 500, 40, 20];
        let letter = eight_levels(Unseen::AsArrived);
        let found = position(&letter, &counts, 1.5, true);
        assert!(close(found, 1.5 - 10.5 / 400.0), "{found}");
    }

    /// Below 2 as many came as below 3, where level 3 is empty: the lower of both on the way down, the
    /// higher on the way up.
    #[test]
    fn whole_levels_are_passed_with_the_empty_ones_beside_them() {
        let counts = [0, 10, 400, 0, 30, 500, 40, 20];
        assert!(close(lower(&counts, 4.0, 30.0, 0.0), 2.0));
        assert!(close(lower(&counts, 4.0, 29.0, 0.0), 4.0 - 29.0 / 30.0));
        assert!(
            close(lower(&counts, 6.5, 12.0, 0.0), 6.0 - 2.0 / 40.0),
            "half of a level holds ten"
        );
        assert!(close(raise(&counts, 1.0, 400.0, 0.0), 3.0));
        assert!(close(raise(&counts, 1.0, 399.0, 0.0), 1.0 + 399.0 / 400.0));
    }

    /// What is admitted arrives, so that it is not taken for fuller than it was.
    #[test]
    fn an_admitted_level_counts_as_what_came_in_it() {
        let counts = [100, 100, 10, 0, 0, 0, 0, 0];
        let below = eight_levels(Unseen::AsBelow);
        // A twentieth of 210 is 10.5: all ten of level 2, and half a request of level 1.
        let found = position(&below, &counts, 2.0, true);
        assert!(close(found, 1.0 - 0.5 / 100.0), "{found}");
    }

    #[test]
    fn levels_that_clients_hide_are_taken_for_full() {
        let hidden = [100, 100, 100, 0, 0, 0, 0, 0];
        let (letter, below) = (eight_levels(Unseen::AsArrived), eight_levels(Unseen::AsBelow));
        assert_eq!(position(&letter, &hidden, 2.0, false), 7.0);
        assert!(close(position(&below, &hidden, 2.0, false), 2.03));
        assert!(close(position(&below, &hidden, 2.5, true), 2.5 - 0.05 * 3.5));
        let silence = [0; 8];
        assert_eq!(position(&below, &silence, 2.0, false), 7.0, "idle: open");
        assert_eq!(position(&below, &silence, 2.0, true), 2.0);
    }

    proptest! {
        #[test]
        fn the_threshold_stays_in_its_range(start in 1.0_f64..127.0, steps: Vec<bool>) {
            let paper = Config::paper(SLO);
            let mut level = start;
            for overloaded in steps {
                level = threshold(&paper, level, overloaded);
                prop_assert!((1.0..=127.0).contains(&level), "{level}");
            }
        }

        #[test]
        fn the_position_falls_under_load_and_otherwise_rises(
            counts in prop::collection::vec(0_u32..100, 8), before in 0.0_f64..=7.0, as_below: bool,
        ) {
            let unseen = if as_below { Unseen::AsBelow } else { Unseen::AsArrived };
            let config = eight_levels(unseen);
            let down = position(&config, &counts, before, true);
            let up = position(&config, &counts, before, false);
            prop_assert!(down <= before && before <= up && up <= 7.0);
            prop_assert!(up > before || before >= 7.0, "a level that is full must not hold it");
            let came = |level: f64| counts.iter().take(level as usize + 1).any(|&count| count > 0);
            prop_assert!(came(down) || !came(before), "something that came is still admitted");
        }

        #[test]
        fn the_position_is_monotone_in_the_number_to_admit(
            counts in prop::collection::vec(0_u32..100, 8), before in 0.0_f64..=7.0,
            a in 0.0_f64..800.0, b in 0.0_f64..800.0, typical in 0.0_f64..100.0,
        ) {
            let (less, more) = (a.min(b), a.max(b));
            let rounding = 1e-9;
            prop_assert!(
                lower(&counts, before, more, typical)
                    <= lower(&counts, before, less, typical) + rounding
            );
            prop_assert!(
                raise(&counts, before, less, typical)
                    <= raise(&counts, before, more, typical) + rounding
            );
        }

        #[test]
        fn any_position_recovers_once_the_delay_is_gone(
            counts in prop::collection::vec(0_u32..100, 8), before in 0.0_f64..=7.0, as_below: bool,
        ) {
            let unseen = if as_below { Unseen::AsBelow } else { Unseen::AsArrived };
            let config = eight_levels(unseen);
            let mut at = before;
            for _ in 0..1_000 {
                // Honest clients: nothing above the level arrives.
                let mut seen = vec![0; 8];
                let whole = at as usize + 1;
                seen[..whole].copy_from_slice(&counts[..whole]);
                at = position(&config, &seen, at, false);
            }
            prop_assert_eq!(at, 7.0);
        }
    }
}
