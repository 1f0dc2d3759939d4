//! Which functions of both sides are compared, and which are only named: known from the first reading of both.

use super::side::Side;
use crate::blocks::FUNCTIONS_MAX;
use crate::glob::matches;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The functions of both sides, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Chosen {
    /// Functions of both sides that are compared, [`FUNCTIONS_MAX`] at most.
    #[serde(skip)]
    pub both: BTreeSet<String>,
    /// Functions of both sides that are not compared, since so many others have more calls.
    pub beyond: Vec<String>,
    /// Functions with a call before only. Empty where either reading met its bounds: the call may be beyond them.
    pub only_before: Vec<String>,
    /// The same of functions with a call after only.
    pub only_after: Vec<String>,
    /// Calls and names beyond the bounds of either reading.
    pub unread: u64,
}

impl Chosen {
    /// Of functions whose name matches any of these globs, or of all where there is none. Where there are too many, those with the
    /// most calls.
    #[must_use]
    pub fn of([before, after]: [&Side; 2], globs: &[String]) -> Self {
        let unread = before.unread().saturating_add(after.unread());
        Self::among([calls(before, globs), calls(after, globs)], unread, FUNCTIONS_MAX)
    }

    /// Whether no function of either side has such a name.
    #[must_use]
    pub fn is_none(&self) -> bool {
        let named = [&self.beyond, &self.only_before, &self.only_after];
        self.both.is_empty() && self.unread == 0 && named.iter().all(|names| names.is_empty())
    }

    fn among([a, b]: [BTreeMap<&str, u64>; 2], unread: u64, most: usize) -> Self {
        let only = |one: &BTreeMap<&str, u64>, other: &BTreeMap<&str, u64>| -> Vec<String> {
            let missing = one.keys().filter(|name| unread == 0 && !other.contains_key(*name));
            missing.map(|name| (*name).to_owned()).collect()
        };
        let (only_before, only_after) = (only(&a, &b), only(&b, &a));
        let fewer = a.iter().filter_map(|(name, calls)| Some((calls.min(b.get(name)?), *name)));
        let mut both: Vec<(&u64, &str)> = fewer.collect();
        both.sort_by_key(|(calls, name)| (Reverse(*calls), *name));
        let mut names = both.into_iter().map(|(_, name)| name.to_owned());
        let chosen = names.by_ref().take(most).collect();
        Self { both: chosen, beyond: names.collect(), only_before, only_after, unread }
    }
}

/// Calls of each name.
fn calls<'a>(side: &'a Side, globs: &[String]) -> BTreeMap<&'a str, u64> {
    let mut calls = BTreeMap::new();
    for known in side.recordings.iter().flat_map(|one| &one.first.functions) {
        if globs.is_empty() || globs.iter().any(|glob| matches(glob, &known.name)) {
            *calls.entry(known.name.as_str()).or_insert(0) += known.calls;
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(functions: &[(&'static str, u64)]) -> BTreeMap<&'static str, u64> {
        functions.iter().copied().collect()
    }

    /// Before, the first to end a call had the places, whatever came after them.
    #[test]
    fn beyond_the_bound_the_most_called_are_compared_and_the_others_named() {
        let before = trace(&[("init", 1), ("rare", 5), ("hot", 900), ("old", 70)]);
        let after = trace(&[("hot", 800), ("init", 1), ("new", 70), ("rare", 4)]);
        let found = Chosen::among([before, after], 0, 2);
        assert_eq!(found.both, BTreeSet::from(["hot".to_owned(), "rare".to_owned()]));
        assert_eq!(found.beyond, ["init"]);
        assert_eq!(
            (&found.only_before[..], &found.only_after[..]),
            (&["old".to_owned()][..], &["new".to_owned()][..])
        );
    }

    #[test]
    fn nothing_is_said_to_be_on_one_side_only_where_a_reading_met_its_bounds() {
        let found = Chosen::among([trace(&[("a", 1)]), trace(&[("b", 1)])], 7, 2);
        assert!(found.only_before.is_empty() && found.only_after.is_empty(), "{found:?}");
        assert_eq!(found.unread, 7);
    }
}
