//! What is wrong with settings: which one, what it is, and what it must be.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A setting that cannot work: a controller's, or a field of what it runs in. The operator acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// Which part of what was checked has the setting, such as "shard 1 of tier leaf"; empty: all of it.
    pub place: String,
    /// The setting at fault, by the name that code and overrides use.
    pub setting: &'static str,
    /// What it is.
    pub found: String,
    /// What it must be: a noun, such as "a number from 0 to 1".
    pub needed: String,
}

impl ConfigError {
    /// A setting of what was checked.
    #[must_use]
    pub fn new(setting: &'static str, found: impl fmt::Display, needed: impl Into<String>) -> Self {
        Self { place: String::new(), setting, found: found.to_string(), needed: needed.into() }
    }

    /// The same, as the check of something larger tells it, of which `place` is a part.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Self {
        let within = if self.place.is_empty() { "" } else { ": " };
        Self { place: format!("{place}{within}{}", self.place), ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, setting, found, needed } = self;
        let colon = if place.is_empty() { "" } else { ": " };
        write!(f, "{place}{colon}{setting} is {found}; {needed} is needed")
    }
}

impl std::error::Error for ConfigError {}

/// Whether a number lies in a range; NaN lies in none.
pub(crate) fn within(
    setting: &'static str,
    value: f64,
    range: RangeInclusive<f64>,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    let needed = format!("a number from {} to {}", range.start(), range.end());
    Err(ConfigError::new(setting, value, needed))
}

/// Whether a time is more than none.
pub(crate) fn above_zero(setting: &'static str, time: Duration) -> Result<(), ConfigError> {
    if time.is_zero() {
        return Err(ConfigError::new(setting, "zero", "a time above zero"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_setting_is_told_from_the_outside() {
        let error = above_zero("idle", Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "idle is zero; a time above zero is needed");
        let deep = error.at("keep_alive").at("tier leaf");
        let told = "tier leaf: keep_alive: idle is zero; a time above zero is needed";
        assert_eq!(deep.to_string(), told);
        assert_eq!((deep.setting, &*deep.place), ("idle", "tier leaf: keep_alive"));
    }
}
