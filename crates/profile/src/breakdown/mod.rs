//! Whose the time of a trace's stacks is: a set of functions as one, and categories by rules.
//!
//! [`Portion`] is the time of a kernel that an accelerator would take over, and [`Breakdown`] that of each category.
//! [`Sizes`] are those that the program has marked.

mod rules;
mod sizes;

pub use rules::{CategoryRules, Pattern, Rule};
pub use sizes::Sizes;

use crate::stacks::{Frame, Report, Stack};
use serde::Serialize;
use std::collections::BTreeMap;

/// Time in a set of functions and in whatever these call. While one is called by another of the set, it counts once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Portion {
    /// Functions of the set that are on a stack, by name.
    pub functions: Vec<String>,
    /// Calls that were not within others of the set. Calls too short to be seen are not in it.
    pub calls: u64,
    /// The time, in nanoseconds: threads add up.
    pub ns: u64,
}

impl Portion {
    /// Of the functions that a pattern stands for.
    #[must_use]
    pub fn of(report: &Report, patterns: &[Pattern]) -> Self {
        let is_in: Vec<bool> = report.frames.iter().map(|frame| any(patterns, frame)).collect();
        let in_set = |at: &&u32| is_in[**at as usize];
        let (mut calls, mut ns) = (0, 0);
        let mut seen = vec![false; is_in.len()];
        for stack in &report.stacks {
            let of_set = stack.frames.iter().filter(in_set).count();
            if of_set == 0 {
                continue;
            }
            ns += stack.ns;
            let outermost = of_set == 1 && stack.frames.last().as_ref().is_some_and(in_set);
            calls += if outermost { stack.calls } else { 0 };
            stack.frames.iter().filter(in_set).for_each(|at| seen[*at as usize] = true);
        }
        let names = report.frames.iter().zip(&seen).filter(|(_, seen)| **seen);
        Self { functions: names.map(|(frame, _)| frame.name.clone()).collect(), calls, ns }
    }
}

fn any(patterns: &[Pattern], frame: &Frame) -> bool {
    patterns.iter().any(|pattern| pattern.is_for(&frame.name, &frame.file))
}

/// Time by category.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Breakdown {
    /// Most time first.
    pub categories: Vec<Category>,
    /// Of these, time in functions that no rule knows: it is their callers' category. A function that does something else than
    /// its caller is told wrong by it.
    pub inherited_ns: u64,
    /// Time on stacks of which no rule knows a function, in nanoseconds.
    pub unknown_ns: u64,
    /// The functions in which most of it was spent, most time first, at most ten.
    pub unknown: Vec<Category>,
}

/// A name and its time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Category {
    /// Of a category, or of a function without one.
    pub name: String,
    /// In nanoseconds: threads add up.
    pub ns: u64,
}

/// Functions without a category that are told.
const UNKNOWN_MAX: usize = 10;

impl Breakdown {
    /// By rules: a stack's time is that of the innermost function that a rule knows.
    #[must_use]
    pub fn of(report: &Report, rules: &CategoryRules) -> Self {
        let known: Vec<Option<&str>> =
            report.frames.iter().map(|frame| rules.category(&frame.name, &frame.file)).collect();
        let (mut categories, mut unknown) = (BTreeMap::new(), BTreeMap::new());
        let mut inherited_ns = 0;
        let timed = report.stacks.iter().filter(|stack| stack.ns > 0);
        for Stack { frames, ns, .. } in timed {
            let category = frames.iter().rev().find_map(|at| known[*at as usize]);
            let last = frames.last().map_or("", |at| report.frames[*at as usize].name.as_str());
            let own = frames.last().and_then(|at| known[*at as usize]);
            inherited_ns += if category.is_some() && own.is_none() { *ns } else { 0 };
            let sums = if category.is_some() { &mut categories } else { &mut unknown };
            *sums.entry(category.unwrap_or(last)).or_insert(0_u64) += ns;
        }
        let unknown_ns = unknown.values().sum();
        let mut unknown = sorted(unknown);
        unknown.truncate(UNKNOWN_MAX);
        Self { categories: sorted(categories), inherited_ns, unknown_ns, unknown }
    }
}

/// Most time first.
fn sorted(sums: BTreeMap<&str, u64>) -> Vec<Category> {
    let mut all: Vec<Category> =
        sums.into_iter().map(|(name, ns)| Category { name: name.to_owned(), ns }).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.ns));
    all
}
