//! What was asked of a comparison and cannot be.

use std::fmt;

/// Why something is refused. The caller's to mend.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SettingError {
    /// A number outside of its range.
    Range {
        /// Which.
        name: &'static str,
        /// What was given.
        found: f64,
        /// What is needed.
        needed: &'static str,
    },
    /// A pilot that measured nothing: it has no quad, or no effect of it differs from zero.
    Pilot {
        /// So many.
        quads: usize,
    },
    /// Fewer quads than anything can be found in.
    TooFew {
        /// As asked for.
        quads: u32,
        /// What is needed.
        least: u32,
    },
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Range { name, found, needed } => {
                write!(f, "{name} is {found}; a number {needed} is needed")
            }
            Self::Pilot { quads: 0 } => f.write_str(
                "the pilot has no quad; run some ten A/A quads first, with the same system as both arms",
            ),
            Self::Pilot { quads } => write!(
                f,
                "{quads} quads of the pilot are without any noise; measure longer blocks, or in finer units"
            ),
            Self::TooFew { quads, least } => write!(
                f,
                "{quads} quads at most are asked for, in which nothing can be found; {least} or more are needed at this \
                 level"
            ),
        }
    }
}

impl std::error::Error for SettingError {}
