//! Settings of an application: text from a scenario, read with errors that name the setting.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use tailwater_core::duration::{format_duration, parse_duration};

/// A setting that an application knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// As scenario files spell it.
    pub name: &'static str,
    /// Meaning, unit and range, in a line.
    pub help: &'static str,
    /// Its value when the file says nothing.
    pub default: &'static str,
}

/// The value of every setting of an application, as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings(BTreeMap<&'static str, String>);

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSetting {
    /// Which, for whoever knows where it stands.
    pub key: String,
    /// What was found and what is needed.
    pub message: String,
}

impl Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadSetting {}

impl BadSetting {
    /// `key` has a value, and something else is needed.
    #[must_use]
    pub fn new(key: &str, found: &str, needed: impl Display) -> Self {
        Self { key: key.into(), message: format!("{key} is \"{found}\"; {needed} is needed") }
    }
}

impl Settings {
    /// What was said, and the defaults of the rest.
    ///
    /// # Errors
    /// When something was said that is no setting.
    pub(super) fn new(known: &[Setting], said: &[(String, String)]) -> Result<Self, BadSetting> {
        let mut values: BTreeMap<_, _> =
            known.iter().map(|setting| (setting.name, setting.default.to_owned())).collect();
        for (key, value) in said {
            let Some(setting) = known.iter().find(|setting| setting.name == key) else {
                return Err(unknown(key, known));
            };
            values.insert(setting.name, value.clone());
        }
        Ok(Self(values))
    }

    /// The text of a setting.
    ///
    /// # Panics
    /// When the application's own list does not have it: a mistake of the program.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_else(|| panic!("{key} is not in the application's settings"))
    }

    /// A number within a range.
    ///
    /// # Errors
    /// When it is none, or lies outside.
    pub fn number<T: FromStr + PartialOrd + Display>(
        &self,
        key: &str,
        range: RangeInclusive<T>,
    ) -> Result<T, BadSetting> {
        let text = self.text(key);
        let value = text.replace('_', "").parse().ok().filter(|value| range.contains(value));
        value.ok_or_else(|| {
            let (min, max) = (range.start(), range.end());
            BadSetting::new(key, text, format_args!("a number from {min} to {max}"))
        })
    }

    /// A duration within a range.
    ///
    /// # Errors
    /// When it is none, or lies outside.
    pub fn duration(
        &self,
        key: &str,
        range: RangeInclusive<Duration>,
    ) -> Result<Duration, BadSetting> {
        let text = self.text(key);
        let value = parse_duration(text).ok().filter(|value| range.contains(value));
        value.ok_or_else(|| {
            let (min, max) = (format_duration(*range.start()), format_duration(*range.end()));
            BadSetting::new(key, text, format_args!("a duration from {min} to {max}"))
        })
    }

    /// True or false.
    ///
    /// # Errors
    /// When it is neither.
    pub fn truth(&self, key: &str) -> Result<bool, BadSetting> {
        self.choice(key, &[("true", true), ("false", false)])
    }

    /// One of some words.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn choice<T: Copy>(&self, key: &str, known: &[(&str, T)]) -> Result<T, BadSetting> {
        let text = self.text(key);
        known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            BadSetting::new(key, text, format_args!("one of {}", names.join(", ")))
        })
    }
}

fn unknown(key: &str, known: &[Setting]) -> BadSetting {
    let names: Vec<_> = known.iter().map(|setting| setting.name).collect();
    let message = match names[..] {
        [] => format!("unknown setting {key}; this application has none, leave it out"),
        _ => format!("unknown setting {key}; one of {} is needed", names.join(", ")),
    };
    BadSetting { key: key.into(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Setting] = &[
        Setting { name: "keys", help: "how many keys there are", default: "1000" },
        Setting { name: "mix", help: "which requests are made", default: "usr" },
        Setting { name: "pause", help: "how long it waits", default: "10us" },
    ];

    fn with(key: &str, value: &str) -> Result<Settings, BadSetting> {
        Settings::new(KNOWN, &[(key.into(), value.into())])
    }

    #[test]
    fn what_is_said_replaces_the_default() {
        let settings = with("keys", "2_000").unwrap();
        assert_eq!(settings.number("keys", 1..=10_000), Ok(2_000));
        assert_eq!(settings.choice("mix", &[("usr", 1), ("var", 2)]), Ok(1));
        let long = Duration::ZERO..=Duration::from_secs(1);
        assert_eq!(settings.duration("pause", long), Ok(Duration::from_micros(10)));
    }

    #[test]
    fn errors_name_the_setting_what_was_found_and_what_is_needed() {
        let error = with("kesy", "1").unwrap_err();
        assert_eq!(error.key, "kesy");
        assert_eq!(error.to_string(), "unknown setting kesy; one of keys, mix, pause is needed");
        let error = with("keys", "0").unwrap().number("keys", 1..=9).unwrap_err();
        assert_eq!(error.to_string(), "keys is \"0\"; a number from 1 to 9 is needed");
        let error = with("mix", "etc").unwrap().choice("mix", &[("usr", ())]).unwrap_err();
        assert_eq!(error.to_string(), "mix is \"etc\"; one of usr is needed");
    }
}
