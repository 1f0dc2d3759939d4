//! Values of a TOML file, read with errors that say where, what was found and what is needed.

use super::error::{Report, TextPlace};
use super::keys::ValueKind;
use crate::limits;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use tailwater_core::duration::{format_duration, parse_duration};
use tailwater_core::words::{WordError, clip, suggestion};
use toml::Spanned;
use toml::de::DeValue;

/// A value and what messages call it.
pub(super) struct Item<'a> {
    pub(super) report: &'a Report<'a>,
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) value: &'a DeValue<'a>,
    /// What is declared of it.
    pub(super) kind: &'static ValueKind,
}

impl<'a> Item<'a> {
    pub(super) fn problem(&self, message: String) {
        self.report.push(self.offset, message);
    }

    pub(super) fn place(&self) -> TextPlace {
        self.report.place(self.offset)
    }

    /// Notes that something else is needed.
    pub(super) fn wrong<T>(&self, needed: impl Display) -> Option<T> {
        let (name, found) = (&self.name, describe(self.value));
        self.problem(format!("{name} is {found}; {needed} is needed"));
        None
    }

    /// A text that is neither empty nor too long for a message or a table.
    pub(super) fn text(&self) -> Option<&'a str> {
        let max = limits::TEXT_CHARS_MAX;
        match self.value {
            DeValue::String(text) if !text.is_empty() && text.chars().count() <= max => Some(text),
            _ => self.wrong(format_args!("a text of 1 to {max} characters")),
        }
    }

    /// The same for a line of a table or a terminal.
    pub(super) fn line(&self) -> Option<&'a str> {
        let text = self.text()?;
        if text.chars().any(char::is_control) {
            return self.wrong("a text without line breaks and other control characters");
        }
        Some(text)
    }

    /// The text of the file that is named, as it lies beside the scenario's.
    pub(super) fn beside(&self) -> Option<String> {
        let name = self.text()?;
        match self.report.read(name) {
            Ok(text) => Some(text),
            Err(why) => {
                self.problem(format!("{} is \"{}\": {why}", self.name, clip(name)));
                None
            }
        }
    }

    /// A whole number within the declared limits.
    pub(super) fn whole<T: TryFrom<u64>>(&self) -> Option<T> {
        match self.kind {
            ValueKind::Whole(range) => self.whole_in(range.clone()),
            _ => self.declared_otherwise("a whole number"),
        }
    }

    /// The same within limits that the rest of the file decides.
    pub(super) fn whole_in<T: TryFrom<u64>>(&self, range: RangeInclusive<u64>) -> Option<T> {
        let value = match self.value {
            DeValue::Integer(whole) => u64::from_str_radix(whole.as_str(), whole.radix()).ok(),
            _ => None,
        };
        let value = value.filter(|value| range.contains(value));
        value.and_then(|value| T::try_from(value).ok()).or_else(|| {
            let (min, max) = (range.start(), range.end());
            self.wrong(format_args!("a whole number from {min} to {max}"))
        })
    }

    /// A number within the declared limits.
    pub(super) fn number(&self) -> Option<f64> {
        match self.kind {
            ValueKind::Number(range, _) => self.number_in(range),
            _ => self.declared_otherwise("a number"),
        }
    }

    /// The same within narrower limits, which another key decides.
    pub(super) fn number_in(&self, range: &RangeInclusive<f64>) -> Option<f64> {
        let value: Option<f64> = match self.value {
            DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        value.filter(|value| range.contains(value)).or_else(|| {
            let (min, max) = (range.start(), range.end());
            self.wrong(format_args!("a number from {min} to {max}"))
        })
    }

    /// A duration within the declared limits.
    pub(super) fn duration(&self) -> Option<Duration> {
        let (ValueKind::Time(range) | ValueKind::TimeOr(range, _)) = self.kind else {
            return self.declared_otherwise("a duration");
        };
        let (min, max) = (format_duration(*range.start()), format_duration(*range.end()));
        let DeValue::String(text) = self.value else {
            return self.wrong(format_args!(
                "a duration from {min} to {max} in quotes, such as \"250ms\""
            ));
        };
        match parse_duration(text) {
            Ok(duration) if range.contains(&duration) => Some(duration),
            Ok(_) => self.wrong(format_args!("a duration from {min} to {max}")),
            Err(error) => {
                self.problem(format!("{}: {error}", self.name));
                None
            }
        }
    }

    pub(super) fn truth(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(value) => Some(*value),
            _ => self.wrong("true or false"),
        }
    }

    /// One of some names.
    pub(super) fn choice<T: Copy>(&self, known: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let text = match self.value {
            DeValue::String(text) => text.as_ref(),
            _ => return self.wrong(one_of(&names)),
        };
        let chosen = known.iter().find(|(name, _)| *name == text);
        chosen.map(|(_, value)| *value).or_else(|| self.unknown(text, &names))
    }

    /// One of some words, which may have an amount behind them.
    pub(super) fn word<T: FromStr<Err = WordError>>(&self) -> Option<T> {
        let text = self.text()?;
        match text.parse() {
            Ok(found) => Some(found),
            Err(WordError::Unknown(known)) => self.unknown(text, known),
            Err(WordError::Amount(needed)) => self.wrong(format_args!("{needed},")),
        }
    }

    /// Notes that `text` is none of `names`.
    pub(super) fn unknown<T>(&self, text: &str, names: &[&str]) -> Option<T> {
        let hint = suggestion(text, names);
        let (name, text) = (&self.name, clip(text));
        let names = names.join(", ");
        self.problem(format!("{name} is \"{text}\"; {hint}: {names}"));
        None
    }

    /// A scalar as text, for whoever knows what it means.
    pub(super) fn scalar(&self) -> Option<String> {
        match self.value {
            DeValue::Boolean(value) => Some(value.to_string()),
            DeValue::Float(value) => Some(value.as_str().into()),
            DeValue::Integer(value) => match i64::from_str_radix(value.as_str(), value.radix()) {
                Ok(whole) => Some(whole.to_string()),
                Err(_) => self.wrong("a whole number of 64 bits"),
            },
            DeValue::String(_) => self.text().map(Into::into),
            _ => self.wrong("a text, a number, true or false"),
        }
    }

    /// The entries of a list, or the value itself; none only after a problem.
    pub(super) fn one_or_list(&self) -> Vec<Self> {
        match self.value {
            DeValue::Array(_) => self.list(),
            _ => vec![Self {
                report: self.report,
                name: self.name.clone(),
                offset: self.offset,
                value: self.value,
                kind: self.kind.entry(),
            }],
        }
    }

    /// The entries of a list; none only after a problem.
    pub(super) fn list(&self) -> Vec<Self> {
        let max = limits::LIST_MAX;
        let needed = format_args!("a list of 1 to {max} entries").to_string();
        let DeValue::Array(values) = self.value else {
            self.wrong::<()>(needed);
            return Vec::new();
        };
        if values.is_empty() || values.len() > max {
            let (name, count) = (&self.name, values.len());
            self.problem(format!("{name} is a list of {count} entries; {needed} is needed"));
            return Vec::new();
        }
        let entry = |value: &'a Spanned<DeValue<'a>>| Self {
            report: self.report,
            name: self.name.clone(),
            offset: value.span().start,
            value: value.get_ref(),
            kind: self.kind.entry(),
        };
        values.iter().map(entry).collect()
    }

    /// What `read` makes of each entry of [`Item::one_or_list`]. The same twice is a problem: the
    /// configurations could not be told apart.
    pub(super) fn each_distinct<T: PartialEq>(&self, read: impl Fn(&Self) -> Option<T>) -> Vec<T> {
        let mut values = Vec::new();
        for item in self.one_or_list() {
            match read(&item) {
                Some(value) if values.contains(&value) => {
                    item.wrong::<()>("a value that is not in the list already");
                }
                value => values.extend(value),
            }
        }
        values
    }

    /// Reader and declaration disagree: every value of such a key would be refused, which a test shows.
    pub(super) fn declared_otherwise<T>(&self, read_as: &str) -> Option<T> {
        unreachable!("{} is read as {read_as} and declared as {:?}", self.name, self.kind)
    }

    /// A table with any keys, in the file's order.
    pub(super) fn pairs(&self) -> Vec<(&'a str, Self)> {
        let DeValue::Table(table) = self.value else {
            self.wrong::<()>("a table such as { alpha = 0.002 }");
            return Vec::new();
        };
        let mut pairs: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let item = Self {
                    report: self.report,
                    name: format!("{}.{}", self.name, clip(key.get_ref())),
                    offset: key.span().start,
                    value: value.get_ref(),
                    kind: &ValueKind::Text,
                };
                (key.get_ref().as_ref(), item)
            })
            .collect();
        pairs.sort_by_key(|(_, item)| item.offset);
        pairs
    }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", clip(text)),
        DeValue::Integer(whole) => clip(&whole.to_string()),
        DeValue::Float(float) => clip(&float.to_string()),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

fn one_of(names: &[&str]) -> String {
    format!("one of {} in quotes", names.join(", "))
}
