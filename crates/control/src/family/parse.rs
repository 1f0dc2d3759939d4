//! From an override's text to a value. Complaints say what was found and what is needed.

use std::time::Duration;
use tailwater_core::duration::parse_duration;

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

/// A number and a unit.
pub(crate) fn duration(value: &str) -> Result<Duration, String> {
    parse_duration(value).map_err(|error| error.to_string())
}

/// The same, or the word for none.
pub(crate) fn duration_or_never(value: &str) -> Result<Option<Duration>, String> {
    if value == "never" { Ok(None) } else { duration(value).map(Some) }
}
