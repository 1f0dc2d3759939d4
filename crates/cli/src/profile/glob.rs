//! Functions that are chosen by patterns with `*` and `?`.

use tailwater_profile::glob::matches;

/// Whether any of the patterns stands for a function, by its name as shown or as the linker has it.
pub(super) fn is_named(globs: &[String], name: &str, symbol: &str) -> bool {
    globs.iter().any(|glob| matches(glob, name) || matches(glob, symbol))
}
