//! A TOML table whose keys are known.

use super::error::Report;
use super::item::Item;
use crate::words::{clip, suggestion};
use std::ops::RangeInclusive;
use std::time::Duration;
use toml::de::DeTable;

/// A table whose keys are known.
pub(super) struct Section<'a> {
    report: &'a Report<'a>,
    /// As in the file: `server` for `[server]`, nothing for the top level.
    name: String,
    offset: usize,
    table: Option<&'a DeTable<'a>>,
    /// Something else stands in its place, which is reported: what it lacks is no news.
    broken: bool,
}

/// The table under `key`, or an empty one where there is none, so that its defaults apply.
pub(super) fn section_of<'a>(top: &Section<'a>, key: &str, known: &[&str]) -> Section<'a> {
    let item = top.item(key);
    let section = item.as_ref().and_then(|item| item.section(known));
    section.unwrap_or_else(|| Section {
        report: top.report,
        name: key.into(),
        offset: 0,
        table: None,
        broken: item.is_some(),
    })
}

impl<'a> Section<'a> {
    /// Reports every key that is not among `known`.
    pub(super) fn new(
        report: &'a Report<'a>,
        name: &str,
        offset: usize,
        table: &'a DeTable<'a>,
        known: &[&str],
    ) -> Self {
        let section = Self { report, name: name.into(), offset, table: Some(table), broken: false };
        for key in table.keys() {
            if !known.contains(&&**key.get_ref()) {
                let path = section.path(&clip(key.get_ref()));
                let hint = suggestion(key.get_ref(), known);
                report.push(
                    key.span().start,
                    format!("unknown key {path}; {hint}: {}", known.join(", ")),
                );
            }
        }
        section
    }

    /// As in the file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The value under `key`, if there is one.
    pub(super) fn item(&self, key: &str) -> Option<Item<'a>> {
        let value = self.table?.get(key)?;
        Some(Item {
            report: self.report,
            name: self.path(key),
            offset: value.span().start,
            value: value.get_ref(),
        })
    }

    /// What `read` makes of the value under `key`; without one a problem is noted, which shows
    /// `example`, and the type's default stands in.
    pub(super) fn needed<T: Default>(
        &self,
        key: &str,
        example: &str,
        read: impl FnOnce(&Item<'a>) -> T,
    ) -> T {
        if let Some(item) = self.item(key) {
            return read(&item);
        }
        let path = self.path(key);
        self.problem(format!("{path} is missing; it is needed, for example {example}"));
        T::default()
    }

    /// The only one of `keys` that is there, with its index; none and several are problems.
    pub(super) fn only_one(&self, keys: &[&str]) -> Option<(usize, Item<'a>)> {
        let items = keys.iter().enumerate();
        let mut items = items.filter_map(|(index, key)| Some((index, self.item(key)?)));
        let Some(first) = items.next() else {
            self.problem(format!(
                "{} has none of {}; one of them is needed",
                self.name(),
                keys.join(", ")
            ));
            return None;
        };
        for (_, item) in items {
            item.problem(format!(
                "{} contradicts {}; one of them is needed, leave the other out",
                item.name, first.1.name
            ));
        }
        Some(first)
    }

    /// Notes a problem of the table as a whole.
    pub(super) fn problem(&self, message: String) {
        if !self.broken {
            self.report.push(self.offset, message);
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.item(key)?.text().map(Into::into)
    }

    pub(super) fn whole<T: TryFrom<u64>>(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
    ) -> Option<T> {
        self.item(key)?.whole(range)
    }

    pub(super) fn duration(&self, key: &str, range: RangeInclusive<Duration>) -> Option<Duration> {
        self.item(key)?.duration(range)
    }

    pub(super) fn choice<T: Copy>(&self, key: &str, known: &[(&str, T)]) -> Option<T> {
        self.item(key)?.choice(known)
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.into() } else { format!("{}.{key}", self.name) }
    }
}
