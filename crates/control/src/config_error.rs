//! What is wrong with a controller's settings: which one, what it is, and what it must be.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A setting that its controller cannot work with. The operator acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The setting at fault, by the name that overrides use.
    pub setting: &'static str,
    /// What it is.
    pub found: String,
    /// What it must be: a noun, such as "a number from 0 to 1".
    pub needed: String,
}

impl ConfigError {
    pub(crate) fn new(
        setting: &'static str,
        found: impl fmt::Display,
        needed: impl Into<String>,
    ) -> Self {
        Self { setting, found: found.to_string(), needed: needed.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, found, needed } = self;
        write!(f, "{setting} is {found}; {needed} is needed")
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
