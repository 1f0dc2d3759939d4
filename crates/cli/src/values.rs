//! Values of flags: what a text says, or what is needed instead.

use std::time::Duration;
use tailwater_core::duration::parse_duration;

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// A share such as 5% or 0.05, which may have spaces around it; `None` where it is none.
pub(crate) fn share(text: &str) -> Option<f64> {
    let number = |digits: &str| digits.trim().parse::<f64>().ok();
    match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    }
}

/// Points of capacity, from none to ten times all of it.
pub(crate) fn points(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1_000.0).contains(number));
    number.ok_or_else(|| format!("'{text}' found, a number from 0 to 1000 is needed"))
}

/// As a number, from a hundredth to an hour.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.01..=3_600.0).contains(number));
    number.ok_or_else(|| format!("'{text}' found, a number from 0.01 to 3600 is needed"))
}

pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let found = text.parse().ok().filter(|rate| (1.0..=10_000_000.0).contains(rate));
    found.ok_or_else(|| format!("'{text}' found, 1 to 10000000 requests per second are needed"))
}

pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("'{text}' found, KEY=VALUE is needed"))?;
    Ok((key.into(), value.into()))
}
