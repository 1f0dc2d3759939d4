//! Which functions belong to which category.

use crate::glob::matches;

/// Functions by a pattern: a glob of the name, or with `file:` before it of the source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern(String);

/// A category and its functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The category's name.
    pub category: String,
    /// Any of them will do.
    pub patterns: Vec<Pattern>,
}

/// Rules in order: the first that knows a function decides.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CategoryRules(Vec<Rule>);

impl Pattern {
    /// `*` stands for any characters, `?` for one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether it stands for a function with this name and source file.
    #[must_use]
    pub fn is_for(&self, name: &str, file: &str) -> bool {
        match self.0.strip_prefix("file:") {
            Some(glob) => matches(glob, file),
            None => matches(&self.0, name),
        }
    }
}

impl CategoryRules {
    /// In this order.
    #[must_use]
    pub const fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// In this order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// The category of a function.
    #[must_use]
    pub fn category(&self, name: &str, file: &str) -> Option<&str> {
        let is_for = |rule: &&Rule| rule.patterns.iter().any(|one| one.is_for(name, file));
        self.0.iter().find(is_for).map(|rule| rule.category.as_str())
    }
}
