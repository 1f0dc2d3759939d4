//! Durations as people write them: `10us`, `1.5ms`, `2s`.

use crate::time::Nanos;
use crate::words::clip;
use std::fmt;
use std::time::Duration;

/// Units from long to short with their length in nanoseconds. `µ` comes as two characters that look
/// alike: the micro sign and the Greek letter.
const UNITS: [(&str, u64); 7] = [
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ns", 1),
];

/// Reads a number followed by `ns`, `us` (or `µs`), `ms`, `s` or `min`, exact to the nanosecond.
///
/// # Errors
/// Says what was found and what is needed. Either the unit is missing or unknown, the number is none, or the value is
/// finer than a nanosecond or longer than 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let error = |fault| DurationError { found: clip(text), fault };
    let trimmed = text.trim();
    let digits =
        trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = trimmed.split_at(digits);
    if number.is_empty() {
        return Err(error(Fault::NoNumber));
    }
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Err(error(Fault::NoUnit));
    }
    let Some(&(_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(error(Fault::UnknownUnit));
    };
    exact(number, unit_ns).map(Duration::from_nanos).map_err(error)
}

/// Writes a duration so that [`parse_duration`] reads the same value: the largest unit in which at
/// most three decimals are needed.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let ns = duration.nanos();
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    for (name, unit) in units {
        if ns >= unit && ns.is_multiple_of(unit / 1_000) {
            let (whole, thousandths) = (ns / unit, ns % unit / (unit / 1_000));
            let decimals = format!(".{thousandths:03}");
            let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
            return format!("{whole}{decimals}{name}");
        }
    }
    if ns == 0 { "0s".into() } else { format!("{ns}ns") }
}

/// A text that is no duration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DurationError {
    found: String,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    NoNumber,
    NoUnit,
    UnknownUnit,
    NotANumber,
    TooFine,
    TooLong,
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            Fault::NoNumber => "does not begin with a number; a duration such as 250ms is needed",
            Fault::NoUnit => "has no unit; ns, us, ms, s or min is needed, as in 250ms",
            Fault::UnknownUnit => {
                "has an unknown unit; ns, us, ms, s or min is needed, as in 250ms"
            }
            Fault::NotANumber => "has a number with several points; one at most is needed",
            Fault::TooFine => "is finer than a nanosecond; whole nanoseconds are needed",
            Fault::TooLong => "is longer than 584 years; something shorter is needed",
        };
        write!(f, "\"{}\" {what}", self.found)
    }
}

impl std::error::Error for DurationError {}

/// `number` × `unit_ns` without the rounding that a detour over floats would bring.
fn exact(number: &str, unit_ns: u64) -> Result<u64, Fault> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(Fault::NotANumber);
    }
    let mut ns = digits(whole)?.checked_mul(unit_ns).ok_or(Fault::TooLong)?;
    let mut place_ns = unit_ns;
    for digit in fraction.trim_end_matches('0').bytes() {
        if !place_ns.is_multiple_of(10) {
            return Err(Fault::TooFine);
        }
        place_ns /= 10;
        ns = ns.checked_add(u64::from(digit - b'0') * place_ns).ok_or(Fault::TooLong)?;
    }
    Ok(ns)
}

fn digits(text: &str) -> Result<u64, Fault> {
    text.bytes().try_fold(0_u64, |value, digit| {
        value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit - b'0')))
            .ok_or(Fault::TooLong)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_exactly() {
        let cases = [
            ("10us", 10_000),
            ("10µs", 10_000),
            ("10μs", 10_000),
            ("1.7us", 1_700),
            (" 2.5 ms ", 2_500_000),
            ("0.3s", 300_000_000),
            ("500ns", 500),
            ("0s", 0),
            (".5us", 500),
            ("1.5min", 90_000_000_000),
            ("1.000us", 1_000),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(ns)), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        let cases = [
            ("10", "\"10\" has no unit; ns, us, ms, s or min is needed, as in 250ms"),
            ("soon", "\"soon\" does not begin with a number; a duration such as 250ms is needed"),
            ("-1s", "\"-1s\" does not begin with a number; a duration such as 250ms is needed"),
            (
                "3 days",
                "\"3 days\" has an unknown unit; ns, us, ms, s or min is needed, as in 250ms",
            ),
            ("1.2.3s", "\"1.2.3s\" has a number with several points; one at most is needed"),
            ("0.5ns", "\"0.5ns\" is finer than a nanosecond; whole nanoseconds are needed"),
            (
                "99999999999999999999s",
                "\"99999999999999999999s\" is longer than 584 years; something shorter is needed",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(parse_duration(text).map_err(|e| e.to_string()), Err(message.into()));
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let cases = [
            (0, "0s"),
            (7, "7ns"),
            (1_700, "1.7us"),
            (400_000, "400us"),
            (1_234_567, "1234.567us"),
            (1_500_000_000, "1.5s"),
            (1_000_000_001, "1000000.001us"),
            (3_600_000_000_000, "3600s"),
        ];
        for (ns, text) in cases {
            let duration = Duration::from_nanos(ns);
            assert_eq!(format_duration(duration), text);
            assert_eq!(parse_duration(text), Ok(duration));
        }
    }
}
