//! What is wrong with a figure's file.

use crate::data::{Dimension, Unit};
use std::fmt;

/// A file that cannot be used.
#[derive(Clone, PartialEq, Debug)]
pub struct DataError {
    /// From the repository's root.
    pub file: String,
    /// Which panel or claim; empty for the file itself.
    pub part: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// See [`DataError::fault`].
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// The TOML reader's message, with line and column.
    NotAFigure(String),
    /// The scenario reader's message.
    Scenario(String),
    /// The figure has no scenario of this name, or there is no such file.
    UnknownScenario(String),
    /// No controller of the scenario has this label.
    UnknownLabel {
        /// What the claim asks for.
        label: String,
        /// Where it was looked for.
        scenario: String,
    },
    /// The value is of one run, and so many are meant.
    Several {
        /// What the claim asks for.
        label: String,
        /// Where it was looked for.
        scenario: String,
        /// How many.
        runs: usize,
    },
    /// The unit is of another kind than what is measured.
    UnfitUnit {
        /// As it is stated.
        unit: Unit,
        /// What is measured.
        measured: Dimension,
    },
    /// It compares with nobody, and should.
    NeedsAgainst,
    /// It names somebody to compare with, and does not compare.
    NeedlessAgainst,
    /// Only times are divided by an objective.
    NotATime,
    /// It is asked of nobody.
    Nobody,
    /// A system without the effect would meet it.
    CannotFail,
    /// Another claim measures and counts the same.
    Repeats(String),
    /// Two panels of one name would be one file.
    PanelTwice,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if !self.part.is_empty() {
            write!(f, "{}: ", self.part)?;
        }
        self.fault.fmt(f)
    }
}

impl std::error::Error for DataError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFigure(why) | Self::Scenario(why) => f.write_str(why),
            Self::UnknownScenario(name) => write!(
                f,
                "scenario '{name}' is unknown; name it in the figure's `scenarios` and in embedded.rs"
            ),
            Self::UnknownLabel { label, scenario } => {
                write!(
                    f,
                    "no controller of scenario '{scenario}' is labelled '{label}'; correct one of them"
                )
            }
            Self::Several { label, scenario, runs } => {
                write!(
                    f,
                    "{runs} runs of scenario '{scenario}' are meant by '{label}', and one is read; say `at`, or the whole \
                     label"
                )
            }
            Self::UnfitUnit { unit, measured } => {
                write!(f, "unit '{unit}' does not fit a {measured:?}; correct unit or measure")
            }
            Self::NeedsAgainst => f.write_str("times, gain and loss need `against`; add a label"),
            Self::NeedlessAgainst => {
                f.write_str("`against` has no use here; add `as` or take it away")
            }
            Self::NotATime => f.write_str("of_slo and slo_over need a time; read another quantity"),
            Self::Nobody => f.write_str("the claim is asked of nobody; add `of` or `beside`"),
            Self::CannotFail => {
                f.write_str("a system without the effect would meet it; leave the claim out")
            }
            Self::Repeats(other) => {
                write!(f, "it measures the same as '{other}'; leave one of them out")
            }
            Self::PanelTwice => {
                f.write_str("two panels have this name; give them names of their own")
            }
        }
    }
}
