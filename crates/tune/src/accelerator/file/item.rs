//! Values of a file, read with errors that say where, what was found and what is needed.

use super::keys::{CASE, KEYS, STATED, TOP, UNCERTAIN_KEYS};
use super::units;
use crate::accelerator::Amount;
use crate::accelerator::amount::ENTRIES_MAX;
use std::fmt::Display;
use tailwater_core::Nanos as _;
use tailwater_core::duration::parse_duration;
use tailwater_core::problems::Problems;
use tailwater_core::words::{clip, suggestion};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Characters of a text.
const TEXT_CHARS_MAX: usize = 200;

/// What a case says, and the file for all of them.
pub(super) struct Said<'a> {
    report: &'a Problems<'a>,
    top: &'a DeTable<'a>,
    own: Option<(&'a DeTable<'a>, usize)>,
}

impl<'a> Said<'a> {
    /// Reports keys that are not known.
    pub(super) fn new(
        report: &'a Problems<'a>,
        top: &'a DeTable<'a>,
        own: Option<(&'a DeTable<'a>, usize)>,
    ) -> Self {
        let mut known: Vec<&str> = KEYS.iter().map(|key| key.name).chain([STATED]).collect();
        let check = |table: &DeTable<'_>, known: &[&str]| check_keys(report, table, known, "");
        own.iter().for_each(|(table, _)| check(table, &known));
        known.retain(|name| *name != "name");
        known.extend(TOP.iter().map(|key| key.name).chain([CASE]));
        check(top, &known);
        Self { report, top, own }
    }

    /// The value under `key`, of the case or of all.
    pub(super) fn item(&self, key: &'static str) -> Option<Item<'a>> {
        let own = self.own.and_then(|(table, _)| table.get(key));
        let value = own.or_else(|| self.top.get(key))?;
        Some(Item::new(self.report, key, value))
    }

    /// The value, or a problem that shows an example.
    pub(super) fn needed(&self, key: &'static str) -> Option<Item<'a>> {
        self.item(key).or_else(|| {
            let example = KEYS.iter().find(|known| known.name == key).map_or("", |key| key.example);
            self.problem(format!("{key} is missing; it is needed, for example {key} = {example}"));
            None
        })
    }

    /// Notes a problem of the case as a whole.
    pub(super) fn problem(&self, message: String) {
        self.report.push(self.own.map_or(0, |(_, offset)| offset), message);
    }

    /// Whether nothing is wrong with the file so far.
    pub(super) fn is_sound(&self) -> bool {
        self.report.is_empty()
    }
}

fn check_keys(report: &Problems<'_>, table: &DeTable<'_>, known: &[&str], within: &str) {
    for key in table.keys().filter(|key| !known.contains(&&**key.get_ref())) {
        let hint = suggestion(key.get_ref(), known);
        let found = clip(key.get_ref());
        report.push(
            key.span().start,
            format!("unknown key {within}{found}; {hint}: {}", known.join(", ")),
        );
    }
}

/// A value and what messages call it.
pub(super) struct Item<'a> {
    report: &'a Problems<'a>,
    pub(super) name: String,
    offset: usize,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Item<'a> {
    fn new(report: &'a Problems<'a>, name: &str, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { report, name: name.into(), offset: value.span().start, value: value.get_ref() }
    }

    pub(super) fn problem(&self, message: impl Display) {
        self.report.push(self.offset, format!("{} {message}", self.name));
    }

    /// Notes that something else is needed.
    fn wrong<T>(&self, needed: impl Display) -> Option<T> {
        let found = match self.value {
            DeValue::String(text) => format!("\"{}\"", clip(text)),
            DeValue::Integer(whole) => clip(&whole.to_string()),
            DeValue::Float(float) => clip(&float.to_string()),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(_) => "a date".into(),
            DeValue::Array(_) => "a list".into(),
            DeValue::Table(_) => "a table".into(),
        };
        self.problem(format_args!("is {found}; {needed} is needed"));
        None
    }

    pub(super) fn text(&self) -> Option<String> {
        match self.value {
            DeValue::String(text) if (1..=TEXT_CHARS_MAX).contains(&text.chars().count()) => {
                Some(text.to_string())
            }
            _ => self.wrong(format_args!("a text of 1 to {TEXT_CHARS_MAX} characters")),
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
        let DeValue::String(text) = self.value else {
            return self.wrong(format_args!("one of {} in quotes", names.join(", ")));
        };
        let chosen = known.iter().find(|(name, _)| *name == text.as_ref());
        chosen.map(|(_, value)| *value).or_else(|| {
            let hint = suggestion(text, &names);
            self.problem(format_args!("is \"{}\"; {hint}: {}", clip(text), names.join(", ")));
            None
        })
    }

    /// A number within limits.
    pub(super) fn number(&self, (low, high): (f64, f64)) -> Option<f64> {
        let number: Option<f64> = match self.value {
            DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::String(text) if text.as_ref() == "infinite" => Some(f64::INFINITY),
            _ => None,
        };
        let within = |number: &f64| (low..=high).contains(number);
        number.filter(within).or_else(|| {
            let high = if high.is_finite() { high.to_string() } else { "\"infinite\"".into() };
            self.wrong(format_args!("a number from {low} to {high}"))
        })
    }

    /// A whole number from 1.
    pub(super) fn whole(&self, high: u32) -> Option<u32> {
        let number = match self.value {
            DeValue::Integer(whole) => u32::from_str_radix(whole.as_str(), whole.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|number| (1..=high).contains(number));
        number.or_else(|| self.wrong(format_args!("a whole number from 1 to {high}")))
    }

    /// A cost in cycles within limits.
    pub(super) fn cycles(&self, (low, high): (f64, f64), clock_ghz: Option<f64>) -> Option<f64> {
        let DeValue::String(text) = self.value else { return self.wrong(units::COST) };
        match units::cycles(text, clock_ghz) {
            Ok(cycles) if (low..=high).contains(&cycles) => Some(cycles),
            Ok(_) => self.wrong(format_args!("from {low} to {high} cycles")),
            Err(why) => {
                self.problem(why);
                None
            }
        }
    }

    /// A time in nanoseconds within limits.
    pub(super) fn time_ns(&self, (low, high): (f64, f64)) -> Option<f64> {
        let DeValue::String(text) = self.value else { return self.wrong(units::TIME) };
        let found = parse_duration(text).map(|time| time.nanos() as f64).ok();
        found.filter(|ns| (low..=high).contains(ns)).or_else(|| self.wrong(units::TIME))
    }

    /// What is known of a number that `read` reads: itself, an interval, or a histogram.
    pub(super) fn amount(&self, read: impl Fn(&Self) -> Option<f64>) -> Option<Amount> {
        let DeValue::Table(table) = self.value else { return read(self).map(Amount::Exactly) };
        check_keys(self.report, table, &UNCERTAIN_KEYS, &format!("{}.", self.name));
        // A mean with an infinite number in it is none.
        let read = |item: &Self| {
            let needed = "a finite number; \"infinite\" can stand alone only";
            read(item)
                .and_then(|found| if found.is_finite() { Some(found) } else { item.wrong(needed) })
        };
        let part = |key: &str| {
            let value = table.get(key)?;
            Some(Item::new(self.report, &format!("{}.{key}", self.name), value))
        };
        match (part("from"), part("to"), part("values"), part("weights")) {
            (Some(from), Some(to), None, None) => {
                let (low, high) = (read(&from)?, read(&to)?);
                if low < high {
                    Some(Amount::Between(low, high))
                } else {
                    to.wrong("more than from")
                }
            }
            (None, None, Some(values), Some(weights)) => {
                histogram(values.list(read)?, weights.list(|of| of.number((0.0, 1e15)))?)
                    .or_else(|| weights.wrong("as many weights as values, of a sum above 0,"))
            }
            _ => self.wrong("from and to, or values and weights"),
        }
    }

    /// Entries that `read` reads.
    fn list(&self, read: impl Fn(&Self) -> Option<f64>) -> Option<Vec<f64>> {
        let entries = self.entries(ENTRIES_MAX)?;
        entries.iter().map(read).collect()
    }

    /// The entries of a list.
    pub(super) fn entries(&self, most: usize) -> Option<Vec<Self>> {
        match self.value {
            DeValue::Array(values) if (1..=most).contains(&values.len()) => {
                let entry = |value| Item::new(self.report, &self.name, value);
                Some(values.iter().map(entry).collect())
            }
            _ => self.wrong(format_args!("a list of 1 to {most} entries")),
        }
    }

    /// The value under a key of a table with these keys.
    pub(super) fn table(&self, known: &[&str]) -> Option<impl Fn(&str) -> Option<Self> + use<'a>> {
        let DeValue::Table(table) = self.value else {
            return self.wrong(format_args!("a table with {}", known.join(", ")));
        };
        check_keys(self.report, table, known, &format!("{}.", self.name));
        let (report, name) = (self.report, self.name.clone());
        Some(move |key: &str| Some(Item::new(report, &format!("{name}.{key}"), table.get(key)?)))
    }
}

/// Sorted by value, with weights that add up to one.
fn histogram(values: Vec<f64>, weights: Vec<f64>) -> Option<Amount> {
    let sum: f64 = weights.iter().sum();
    if values.len() != weights.len() || sum <= 0.0 {
        return None;
    }
    let mut entries: Vec<(f64, f64)> =
        values.into_iter().zip(weights).map(|(value, weight)| (value, weight / sum)).collect();
    entries.sort_by(|one, other| one.0.total_cmp(&other.0));
    Some(Amount::OneOf(entries))
}
