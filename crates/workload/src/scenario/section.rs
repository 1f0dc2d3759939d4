//! A TOML table whose keys are known.

use super::error::Report;
use super::item::Item;
use super::keys::{Key, Table, ValueKind, tables};
use std::time::Duration;
use tailwater_core::words::{clip, nearest, suggestion};
use toml::de::{DeTable, DeValue};

/// A table whose keys are known.
pub(super) struct Section<'a> {
    report: &'a Report<'a>,
    /// As in the file: `server` for `[server]`, nothing for the top level.
    name: String,
    offset: usize,
    table: Option<&'a DeTable<'a>>,
    declared: &'static Table,
    /// Something else stands in its place, which is reported: what it lacks is no news.
    broken: bool,
}

/// What may be meant by a key that is not known here, and leads into what is: a key that is spelt almost so, and the tables
/// that have one of this name.
fn meant(key: &str, known: &[&str]) -> String {
    match (elsewhere(key), &nearest(key, known)[..]) {
        (None, _) => suggestion(key, known),
        (Some(other), []) => format!("it {other}; known here are"),
        (Some(other), near) => {
            format!("did you mean {}? Else it {other}; known here are", near.join(" or "))
        }
    }
}

/// The one or two tables that have a key of this name.
fn elsewhere(key: &str) -> Option<String> {
    let holders: Vec<&str> = tables()
        .into_iter()
        .filter(|table| table.key(key).is_some())
        .map(|table| if table.head.is_empty() { "the top of the file" } else { table.head })
        .collect();
    match holders[..] {
        [one] => Some(format!("belongs to {one}")),
        [one, other] => Some(format!("belongs to {one} or {other}")),
        _ => None,
    }
}

/// The table under `key`, or an empty one where there is none, so that its defaults apply.
pub(super) fn section_of<'a>(top: &Section<'a>, key: &str) -> Section<'a> {
    let item = top.item(key);
    let section = item.as_ref().and_then(Item::section);
    section.unwrap_or_else(|| Section {
        declared: top.key(key).kind.table().expect("only tables are read as sections"),
        report: top.report,
        name: key.into(),
        offset: 0,
        table: None,
        broken: item.is_some(),
    })
}

impl<'a> Section<'a> {
    /// Reports every key that is not declared.
    pub(super) fn new(
        report: &'a Report<'a>,
        name: &str,
        offset: usize,
        table: &'a DeTable<'a>,
        declared: &'static Table,
    ) -> Self {
        let section =
            Self { report, name: name.into(), offset, table: Some(table), declared, broken: false };
        let known = declared.names();
        for key in table.keys() {
            if !known.contains(&&**key.get_ref()) {
                let path = section.path(&clip(key.get_ref()));
                let hint = meant(key.get_ref(), &known);
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

    /// What is declared of `key`.
    fn key(&self, key: &str) -> &'static Key {
        let declared = self.declared.key(key);
        declared.unwrap_or_else(|| unreachable!("{key} is read of {} and not declared", self.name))
    }

    /// The value under `key`, if there is one.
    pub(super) fn item(&self, key: &str) -> Option<Item<'a>> {
        let kind = &self.key(key).kind;
        let value = self.table?.get(key)?;
        Some(Item {
            report: self.report,
            name: self.path(key),
            offset: value.span().start,
            value: value.get_ref(),
            kind,
        })
    }

    /// What `read` makes of the value under `key`; without one a problem is noted, which shows
    /// the declared example, and the type's default stands in.
    pub(super) fn needed<T: Default>(&self, key: &str, read: impl FnOnce(&Item<'a>) -> T) -> T {
        if let Some(item) = self.item(key) {
            return read(&item);
        }
        let (path, example) = (self.path(key), self.key(key).example);
        // As a file has it: tables of their own are the readable form of what an example holds in line.
        let example = match example.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(inner) if matches!(self.key(key).kind, ValueKind::Tables(_)) => {
                format!("[[{path}]] with {}", inner.trim())
            }
            _ => format!("{key} = {example}"),
        };
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

    /// The declared keys beside some, and beside those that fit.
    pub(super) fn others(
        &self,
        some: &[&str],
        fitting: &[&str],
    ) -> impl Iterator<Item = &'static str> {
        let names = self.declared.names().into_iter();
        names.filter(move |name| !some.contains(name) && !fitting.contains(name))
    }

    /// Notes a problem of the table as a whole.
    pub(super) fn problem(&self, message: String) {
        if !self.broken {
            self.report.push(self.offset, message);
        }
    }

    pub(super) fn line(&self, key: &str) -> Option<String> {
        self.item(key)?.line().map(Into::into)
    }

    pub(super) fn whole<T: TryFrom<u64>>(&self, key: &str) -> Option<T> {
        self.item(key)?.whole()
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.item(key)?.number()
    }

    pub(super) fn truth(&self, key: &str) -> Option<bool> {
        self.item(key)?.truth()
    }

    pub(super) fn duration(&self, key: &str) -> Option<Duration> {
        self.item(key)?.duration()
    }

    pub(super) fn choice<T: Copy>(&self, key: &str, known: &[(&str, T)]) -> Option<T> {
        self.item(key)?.choice(known)
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.into() } else { format!("{}.{key}", self.name) }
    }
}

impl<'a> Item<'a> {
    /// The declared table.
    pub(super) fn section(&self) -> Option<Section<'a>> {
        let Some(declared) = self.kind.table() else {
            return self.declared_otherwise("a table");
        };
        match self.value {
            DeValue::Table(table) => {
                Some(Section::new(self.report, &self.name, self.offset, table, declared))
            }
            _ => self.wrong(format_args!("a table with {}", declared.names().join(", "))),
        }
    }

    /// The same, where a value of another type may stand as well.
    pub(super) fn table(&self) -> Option<Section<'a>> {
        matches!(self.value, DeValue::Table(_)).then(|| self.section()).flatten()
    }
}
