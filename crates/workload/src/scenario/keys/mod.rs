//! What a scenario file may say: one declaration for each key.
//!
//! The parser takes from it which keys are known, their limits, and the examples of its messages;
//! `docs/scenarios.md`, `tailwater keys` and the manual page take their lines from it. So neither can know what the
//! other does not.

mod clients;
mod controller;
mod demand;
mod fault;
mod server;
mod sim;
mod tier;
mod times;
mod top;
mod validity;

pub(super) use fault::VARIANTS as FAULTS;
pub(super) use server::{STEPS, WORK};
pub(super) use times::VARIANTS as TIMES;
pub use top::TOP;

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use tailwater_core::duration::format_duration;
use tailwater_core::words::WordError;

/// A table of a scenario file.
#[derive(Debug)]
pub struct Table {
    /// As a file has it, such as `[server]`; empty for the top of the file.
    pub head: &'static str,
    /// What it is about: a sentence.
    pub meaning: &'static str,
    /// All that it may hold.
    pub keys: &'static [Key],
    /// Where one key decides which others may stand beside it.
    pub variants: &'static [Variant],
}

/// A form of a table.
#[derive(Debug)]
pub struct Variant {
    /// The value or the key that chooses it.
    pub name: &'static str,
    /// The keys that mean something to it.
    pub keys: &'static [&'static str],
    /// What it is: a sentence.
    pub meaning: &'static str,
}

/// A key.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: ValueKind,
    /// What holds when it is left out.
    pub absent: Absent,
    /// A value, as TOML.
    pub example: &'static str,
    /// What it is for: sentences.
    pub meaning: &'static str,
}

/// What a value may be.
#[derive(Debug)]
pub enum ValueKind {
    /// A text of 1 to [`TEXT_CHARS_MAX`](crate::limits::TEXT_CHARS_MAX) characters.
    Text,
    /// `true` or `false`.
    Truth,
    /// A duration in quotes.
    Time(RangeInclusive<Duration>),
    /// A whole number.
    Whole(RangeInclusive<u64>),
    /// A number and its unit; without one the unit is empty.
    Number(RangeInclusive<f64>, &'static str),
    /// One of these words in quotes.
    Word(fn() -> Vec<&'static str>),
    /// One value or a list of such.
    OneOrMore(&'static Self),
    /// A list of two numbers.
    Pair(&'static Self),
    /// A duration, or a table.
    TimeOr(RangeInclusive<Duration>, &'static Table),
    /// A table.
    Table(&'static Table),
    /// A table or a list of such, in files mostly `[[…]]`.
    Tables(&'static Table),
    /// A table with keys that the controller or application decides; texts, numbers and truth values.
    Settings,
}

/// What holds when a key is left out.
#[derive(Clone, Copy, Debug)]
pub enum Absent {
    /// Files without it are refused, at least in the forms of the table that it means something to.
    Needed,
    /// One of these is needed, itself among them.
    OneOf(&'static [&'static str]),
    /// The same as with this value, as TOML.
    Is(&'static str),
    /// What these words say.
    Means(&'static str),
}

const fn key(
    name: &'static str,
    kind: ValueKind,
    absent: Absent,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, kind, absent, example, meaning }
}

/// A table whose keys may stand beside each other.
const fn table(head: &'static str, meaning: &'static str, keys: &'static [Key]) -> Table {
    Table { head, meaning, keys, variants: &[] }
}

/// The names of a list of names and values.
fn names<T>(pairs: &[(&'static str, T)]) -> Vec<&'static str> {
    pairs.iter().map(|(name, _)| *name).collect()
}

/// The words that a type can be read from.
fn words<T: FromStr<Err = WordError>>() -> Vec<&'static str> {
    match "".parse::<T>() {
        Err(WordError::Unknown(known)) => known.to_vec(),
        _ => Vec::new(),
    }
}

impl Table {
    /// The declaration of a key.
    pub(super) fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

impl ValueKind {
    /// Of one entry of a list.
    pub(super) const fn entry(&self) -> &Self {
        match self {
            Self::OneOrMore(entry) | Self::Pair(entry) => entry,
            other => other,
        }
    }

    /// The table that stands here, where one may.
    #[must_use]
    pub const fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Table(table) | Self::Tables(table) | Self::TimeOr(_, table) => Some(table),
            _ => None,
        }
    }
}

/// Every table that a file may have, in reading order, each once.
#[must_use]
pub fn tables() -> Vec<&'static Table> {
    let mut found: Vec<&'static Table> = vec![&TOP];
    let mut next = 0;
    while let Some(&table) = found.get(next) {
        next += 1;
        // Right behind the table that holds them, so that parts of a thing stand together; those of the
        // top in its order.
        let mut at = next;
        for inner in table.keys.iter().filter_map(|key| key.kind.table()) {
            if !found.iter().any(|known| std::ptr::eq(*known, inner)) {
                found.insert(at, inner);
                at += 1;
            }
        }
    }
    found
}

impl fmt::Display for ValueKind {
    /// For people: type, unit and limits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => write!(f, "text of 1 to {} characters", crate::limits::TEXT_CHARS_MAX),
            Self::Truth => f.write_str("true or false"),
            Self::Time(range) => duration(f, range),
            Self::Whole(range) if *range.end() == u64::MAX => f.write_str("whole number"),
            Self::Whole(range) => {
                write!(f, "whole number from {} to {}", range.start(), range.end())
            }
            Self::Number(range, unit) => {
                write!(f, "number from {} to {}, {unit}", range.start(), range.end())
            }
            Self::Word(known) => write!(f, "one of {}", known().join(", ")),
            Self::OneOrMore(entry) => write!(f, "{entry}; or a list of such"),
            Self::Pair(entry) => write!(f, "list of two: {entry}"),
            Self::TimeOr(range, table) => {
                duration(f, range)?;
                write!(f, "; or a table {}", table.head)
            }
            Self::Table(table) => write!(f, "table: see {}", table.head),
            Self::Tables(table) if table.head.starts_with('[') => {
                write!(f, "one table or several: see {}", table.head)
            }
            Self::Tables(table) => write!(f, "list of tables: see {}", table.head),
            Self::Settings => f.write_str("table of settings: texts, numbers, true or false"),
        }
    }
}

fn duration(f: &mut fmt::Formatter<'_>, range: &RangeInclusive<Duration>) -> fmt::Result {
    let (min, max) = (format_duration(*range.start()), format_duration(*range.end()));
    write!(f, "duration from {min} to {max}")
}

impl Table {
    /// For people: what holds when `key` is left out.
    #[must_use]
    pub fn absence(&self, key: &Key) -> String {
        match key.absent {
            Absent::Needed if self.variants.iter().any(|variant| variant.name == key.name) => {
                one_of(&self.variants.iter().map(|variant| variant.name).collect::<Vec<_>>())
            }
            Absent::Needed => format!("needed{}", self.where_it_counts(key)),
            Absent::OneOf(names) => format!("{}{}", one_of(names), self.where_it_counts(key)),
            Absent::Is(value) => format!("default {value}"),
            Absent::Means(words) => format!("default: {words}"),
        }
    }

    /// In which forms of the table a key means something, where that is not in all: as few names as say it.
    fn where_it_counts(&self, key: &Key) -> String {
        let (with, without): (Vec<&Variant>, Vec<&Variant>) =
            self.variants.iter().partition(|variant| variant.keys.contains(&key.name));
        let names = |variants: &[&Variant]| {
            variants.iter().map(|variant| variant.name).collect::<Vec<_>>().join(", ")
        };
        match (with.len(), without.len()) {
            (0, _) | (_, 0) => String::new(),
            (few, many) if few <= many => format!(" with {}", names(&with)),
            _ => format!(", but not with {}", names(&without)),
        }
    }
}

fn one_of(names: &[&str]) -> String {
    format!("one of {} is needed", names.join(", "))
}
