//! Durations that are known to lie between two others, as people read them.

use tailwater_profile::functions::Bounds;
use tailwater_report::time;

/// Bounds no further apart than this share of the upper one are shown as the number between them. That number is then
/// known to 5 % either way. The third digit that is shown may be wrong by as much.
const CLOSE: f64 = 0.1;

/// `26.1 ms`, `3.27–4.90 ms`, `≤ 410 µs` or `≥ 76.0 ms`; `?` where nothing is known.
pub(super) fn bounded(bounds: Bounds) -> String {
    let low = bounds.low_ns;
    let Some(high) = bounds.high_ns else {
        return if low == 0 { "?".to_owned() } else { format!("≥ {}", shown(low)) };
    };
    if (high - low) as f64 <= high as f64 * CLOSE {
        return shown(u64::midpoint(low, high));
    }
    between(&shown(low), &shown(high))
}

/// A length of time with its unit.
pub(super) fn shown(ns: u64) -> String {
    time(ns as f64 / 1e3)
}

/// Two lengths of time with their units; one that is shown as nothing bounds nothing.
fn between(low: &str, high: &str) -> String {
    if low == high {
        return high.to_owned();
    }
    let (digits, unit) = low.split_once(' ').unwrap_or((low, ""));
    if digits.parse() == Ok(0.0) {
        format!("≤ {high}")
    } else if high.ends_with(&format!(" {unit}")) {
        format!("{digits}–{high}")
    } else {
        format!("{low}–{high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_stands_alone_where_the_bounds_are_close() {
        for (low_ns, high_ns, expected) in [
            (950_000, Some(1_050_000), "1.00 ms"),
            (3_272_000, Some(4_904_000), "3.27–4.90 ms"),
            (86_600, Some(3_272_000), "86.6 µs–3.27 ms"),
            (0, Some(410_000), "≤ 410 µs"),
            (2, Some(410_000), "≤ 410 µs"),
            (75_849_000, None, "≥ 75.8 ms"),
            (0, None, "?"),
            (0, Some(0), "0 µs"),
        ] {
            assert_eq!(bounded(Bounds { low_ns, high_ns }), expected);
        }
    }
}
