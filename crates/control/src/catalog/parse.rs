//! From an override's text to a value. Complaints say what was found and what is needed.

use std::time::Duration;

/// Assigns what could be parsed.
pub(crate) fn set<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

/// A finite number of 0 or more.
pub(crate) fn number(value: &str) -> Result<f64, String> {
    value
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| format!("'{value}' found, a number of 0 or more is needed"))
}

pub(crate) fn whole(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("'{value}' found, a whole number is needed"))
}

pub(crate) fn boolean(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("'{value}' found, true or false is needed"))
}

/// One of the words.
pub(crate) fn choice<T: Copy>(value: &str, known: &[(&str, T)]) -> Result<T, String> {
    known.iter().find(|(name, _)| *name == value).map(|&(_, choice)| choice).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        format!("'{value}' found, one of {} is needed", names.join(", "))
    })
}

/// A number and a unit: ns, us, µs, ms or s.
pub(crate) fn duration(value: &str) -> Result<Duration, String> {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (amount, unit) = value.split_at(digits);
    let seconds_per_unit = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => {
            return Err(format!("'{value}' found, a duration such as 80us is needed"));
        }
    };
    let seconds = number(amount)? * seconds_per_unit;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("'{value}' is too long"))
}
