//! Numbers as people read them: three significant digits and a unit that fits.

use tailwater_stats::naming::time_unit;
pub(crate) use tailwater_stats::naming::{NOTHING, round_time};
pub use tailwater_stats::naming::{count, demand};

/// Three significant digits without an exponent.
pub(crate) fn significant(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        NOTHING.to_owned()
    } else if size == 0.0 {
        "0".to_owned()
    } else if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A time given in microseconds, in µs, ms or s.
#[must_use]
pub fn time(us: f64) -> String {
    if !us.is_finite() {
        return NOTHING.to_owned();
    }
    let (scaled, unit) = time_unit(us);
    format!("{} {unit}", significant(scaled))
}

/// Thousands per second, without the unit.
pub(crate) fn thousands(per_second: f64) -> String {
    significant(per_second / 1e3)
}

/// A share as percent, without the sign.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        NOTHING.to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else if value.abs() < 0.05 {
        "<0.1".to_owned()
    } else if value.abs() < 9.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// The unit in which a column shows all its times, so that the eye compares digits alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ColumnUnit {
    us: f64,
    name: &'static str,
}

impl ColumnUnit {
    /// That of a time which stands for the column: its objective, since most times are near it or below.
    #[must_use]
    pub fn of(us: f64) -> Self {
        let (us, name) = match us {
            us if us < 10_000.0 => (1.0, "µs"),
            us if us < 10_000_000.0 => (1e3, "ms"),
            _ => (1e6, "s"),
        };
        Self { us, name }
    }

    /// That of the largest time, where a column has no objective.
    #[must_use]
    pub fn of_largest(us: impl IntoIterator<Item = f64>) -> Self {
        Self::of(us.into_iter().fold(0.0, f64::max))
    }

    /// As a heading names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// A time without its unit. One too short for three digits is no zero.
    #[must_use]
    pub fn show(self, us: f64) -> String {
        let scaled = us / self.us;
        if scaled > 0.0 && scaled < 0.005 { "<0.01".to_owned() } else { significant(scaled) }
    }
}

/// Text from files must not move the cursor or change colours.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// In lines of at most `width` characters, where words allow it.
#[must_use]
pub fn wrap(text: &str, width: usize) -> String {
    wrap_indented(text, width, "")
}

/// The same with something before each line.
#[must_use]
pub fn wrap_indented(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("one is there from the beginning");
        let begun = line.len() > indent.len();
        if begun && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
        } else {
            line.push_str(if begun { " " } else { "" });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

/// Seconds since 1970 as `YYYY-MM-DD hh:mm UTC`.
///
/// The calendar is Gregorian: days are counted in eras of 400 years that begin on 1 March, so that
/// the leap day is the last of its year.
pub(crate) fn date(unix: u64) -> String {
    let (days, seconds) = (unix / 86_400 + 719_468, unix % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3_600, seconds % 3_600 / 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_choose_their_unit() {
        assert_eq!(time(0.0), "0 µs");
        assert_eq!(time(35.24), "35.2 µs");
        assert_eq!(time(999.7), "1.00 ms");
        assert_eq!(time(1_234_567.0), "1.23 s");
        assert_eq!(time(f64::NAN), NOTHING);
        assert_eq!(round_time(400.0), "400 µs");
        assert_eq!(round_time(1_500.0), "1.5 ms");
    }

    #[test]
    fn a_column_has_one_unit_and_shows_what_is_short_in_it() {
        let unit = ColumnUnit::of_largest([3.0, 25_000.0, f64::NAN]);
        assert_eq!(unit.name(), "ms");
        let shown = [0.0, 3.0, 35.0, 25_000.0, f64::NAN].map(|us| unit.show(us));
        assert_eq!(shown, ["0", "<0.01", "0.04", "25.0", NOTHING]);
        assert_eq!(ColumnUnit::of(9_999.0).show(1_234.0), "1234");
        assert_eq!(ColumnUnit::of_largest([]).name(), "µs");
    }

    #[test]
    fn shares_and_demands() {
        assert_eq!(percent(0.954), "95");
        assert_eq!(percent(0.0312), "3.1");
        assert_eq!(percent(0.0001), "<0.1");
        assert_eq!(percent(0.0), "0");
        assert_eq!(demand(2.0), "2.0×");
        assert_eq!(demand(0.94), "0.94×");
        let small = [0.0, 0.01, 0.004, 0.000_667].map(demand);
        assert_eq!(small, ["0.0×", "0.01×", "0.0040×", "0.00067×"]);
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn lines_break_between_words_alone() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(wrap("unbreakable is", 4), "unbreakable\nis");
        assert_eq!(wrap_indented("a b", 4, "  "), "  a\n  b");
        assert_eq!(wrap("", 4), "");
    }

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59 UTC");
    }
}
