//! Declarations against the parser: what is declared is read, examples are accepted, defaults are true.
//! What is read and not declared stops the parser at once, so every other test would show it.

use super::*;
use crate::scenario::keys::{Absent, Key, TOP, Table, tables};
use std::ops::Range;
use toml::de::{DeArray, DeValue};

/// Files that together hold every key in line, divided by lines of dashes.
const FILES: &str = include_str!("keys.txt");

/// The file, beside which another holds measured times.
fn tried(text: &str) -> Result<Scenario, ScenarioError> {
    let times = |_: &str| Ok("us,count\n10,1\n20,1\n".to_owned());
    Scenario::parse_with("x.toml", text, &times)
}

/// A key in one of the files.
struct Occurrence {
    text: &'static str,
    declared: &'static Key,
    /// As messages call it.
    path: String,
    key: Range<usize>,
    value: Range<usize>,
}

impl Occurrence {
    /// The file with another value here.
    fn with(&self, value: &str) -> String {
        let (before, after) = (&self.text[..self.value.start], &self.text[self.value.end..]);
        format!("{before}{value}{after}")
    }

    /// The file without this key.
    fn without(&self) -> String {
        let (before, after) = (&self.text[..self.key.start], &self.text[self.value.end..]);
        match after.trim_start().strip_prefix(',') {
            Some(after) => format!("{before}{after}"),
            None => format!("{}{after}", before.trim_end_matches([' ', ','])),
        }
    }
}

fn occurrences() -> Vec<Occurrence> {
    let mut found = Vec::new();
    for text in FILES.split("---\n") {
        let table = DeTable::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        tried(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        walk(text, table.get_ref(), &TOP, "", &mut found);
    }
    found
}

fn walk(
    text: &'static str,
    table: &DeTable<'_>,
    declared: &'static Table,
    path: &str,
    found: &mut Vec<Occurrence>,
) {
    for (key, value) in table {
        let Some(declared) = declared.key(key.get_ref()) else {
            panic!("{} is not declared", key.get_ref());
        };
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", declared.name);
        if let Some(inner) = declared.kind.table() {
            let none = DeArray::new();
            let entries =
                if let DeValue::Array(entries) = value.get_ref() { entries } else { &none };
            let inside = entries.iter().map(toml::Spanned::get_ref).chain([value.get_ref()]);
            for entry in inside {
                if let DeValue::Table(entry) = entry {
                    walk(text, entry, inner, &path, found);
                }
            }
        }
        // Tables of their own, as [server], cannot be replaced by a value.
        if text[..value.span().start].trim_end().ends_with('=') {
            found.push(Occurrence { text, declared, path, key: key.span(), value: value.span() });
        }
    }
}

fn of<'a>(all: &'a [Occurrence], key: &'static Key) -> impl Iterator<Item = &'a Occurrence> {
    all.iter().filter(move |found| std::ptr::eq(found.declared, key))
}

fn keys() -> impl Iterator<Item = (&'static Table, &'static Key)> {
    tables().into_iter().flat_map(|table| table.keys.iter().map(move |key| (table, key)))
}

/// A date is wrong for every key, so that the parser must complain of it where it reads it.
#[test]
fn what_is_declared_is_read() {
    let all = occurrences();
    for (table, key) in keys() {
        let first = of(&all, key).next();
        let first =
            first.unwrap_or_else(|| panic!("{} {}: no file holds it", table.head, key.name));
        let error = tried(&first.with("1979-05-27"));
        let said = error.err().map(|error| error.to_string()).unwrap_or_default();
        let named = said.contains(&format!(": {} ", first.path));
        assert!(named, "{} is declared and not read: {said:?}", first.path);
    }
}

/// They said 32 after the bound had become 64.
#[test]
fn the_words_of_pools_say_how_large_these_may_be() {
    for (name, end) in [("model", "."), ("placement", ",")] {
        let (_, key) = keys()
            .find(|(table, key)| table.head == "[server]" && key.name == name)
            .expect("it is declared");
        let words = format!("up to {}{end}", crate::limits::POOL_MAX);
        assert!(key.meaning.contains(&words), "{name}: {}", key.meaning);
    }
}

#[test]
fn declared_examples_are_accepted() {
    let all = occurrences();
    let mut refused = Vec::new();
    for (table, key) in keys() {
        let tried: Vec<String> = of(&all, key)
            .map(|found| tried(&found.with(key.example)))
            .map(|parsed| parsed.err().map_or(String::new(), |error| error.to_string()))
            .collect();
        if !tried.iter().any(String::is_empty) {
            refused.push(format!("{} {}: {tried:?}", table.head, key.name));
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn declared_defaults_are_what_leaving_out_means() {
    let all = occurrences();
    for (table, key) in keys() {
        let Absent::Is(value) = key.absent else {
            continue;
        };
        let same = of(&all, key).filter_map(|found| {
            let said = tried(&found.with(value)).ok()?;
            let left_out = tried(&found.without()).ok()?;
            Some(nowhere(said) == nowhere(left_out))
        });
        let same: Vec<bool> = same.collect();
        let true_everywhere = !same.is_empty() && same.iter().all(|same| *same);
        assert!(true_everywhere, "{} {} is not {value} by default", table.head, key.name);
    }
}

/// The same without places in the file.
fn nowhere(mut scenario: Scenario) -> Scenario {
    for tier in &mut scenario.tiers {
        tier.command.iter_mut().for_each(|command| command.place = TextPlace::START);
    }
    scenario.server.process.iter_mut().for_each(|knob| knob.place = TextPlace::START);
    let own = scenario.tiers.iter_mut().filter_map(|tier| tier.controller.as_mut());
    for controller in scenario.controllers.iter_mut().chain(own) {
        (controller.name_place, controller.profile_place) = (TextPlace::START, TextPlace::START);
        controller.preset.iter_mut().for_each(|preset| preset.place = TextPlace::START);
        controller.overrides.iter_mut().for_each(|change| change.place = TextPlace::START);
    }
    Scenario { text: String::new(), simulator_only: None, not_simulated: None, ..scenario }
}
