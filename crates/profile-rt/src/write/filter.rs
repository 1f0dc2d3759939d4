//! Which functions are recorded: `TAILWATER_PROFILE_FUNCTIONS`, a list of globs.

use tailwater_profile::glob::matches;

/// Globs separated by commas; `*` stands for any text, `?` for one character. A glob behind `!` leaves
/// out what it matches. Names are matched as the linker knows them. The last glob that matches
/// decides; what none matches is recorded unless some glob is without `!`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    globs: Vec<(bool, String)>,
}

impl Filter {
    pub(crate) fn parse(text: &str) -> Self {
        let globs = text.split(',').map(str::trim).filter(|glob| !glob.is_empty());
        let globs = globs.map(|glob| match glob.strip_prefix('!') {
            Some(left_out) => (false, left_out.into()),
            None => (true, glob.into()),
        });
        Self { globs: globs.collect() }
    }

    /// Whether a function is recorded.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        let decided = self.globs.iter().rev().find(|(_, glob)| matches(glob, name));
        decided.map_or_else(|| self.globs.iter().all(|(keeps, _)| !keeps), |(keeps, _)| *keeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_glob_that_matches_decides() {
        let filter = Filter::parse("store_*, !store_get ,");
        assert!(filter.keeps("store_set"));
        assert!(!filter.keeps("store_get"));
        assert!(!filter.keeps("other"), "something was asked for, and this is not it");
        let without = Filter::parse("!std*");
        assert!(without.keeps("main") && !without.keeps("stdish"));
        assert!(Filter::parse("").keeps("anything"));
    }
}
