//! A number of the text, and whose it is.

use crate::measure::Measure;
use crate::quantity::Dimension;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number of the text that ours can be compared with.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What the number says.
    pub what: String,
    /// Where it stands.
    pub place: String,
    /// The publication's value.
    pub theirs: f64,
    /// Of both values.
    pub unit: Unit,
    /// The text states a limit, not a value.
    pub bound: Option<Bound>,
    /// Whose number the text states: the label that is judged. Left out: the claim is shown and not counted,
    /// for a number of the text that another claim counts already.
    pub of: Option<String>,
    /// Labels whose values are shown beside it: the authors never ran these, so nothing is judged.
    #[serde(default)]
    pub beside: Vec<String>,
    /// What of ours is compared.
    pub measure: Measure,
}

impl Claim {
    /// Every label that has a row, and whether it is judged.
    pub fn subjects(&self) -> impl Iterator<Item = (&str, bool)> {
        let judged = self.of.iter().map(|label| (label.as_str(), true));
        judged.chain(self.beside.iter().map(|label| (label.as_str(), false)))
    }

    /// Whose runs it reads: scenarios with labels in them.
    pub(crate) fn labels(&self) -> Vec<(&str, String)> {
        let Measure { scenario, label, against, against_in, .. } = &self.measure;
        let there = against_in.as_ref().unwrap_or(scenario);
        let mut labels = Vec::new();
        for (subject, _) in self.subjects() {
            labels.push((scenario.as_str(), Measure::named(label, subject)));
            let other = against.iter().map(|other| Measure::named(other, subject));
            labels.extend(other.map(|other| (there.as_str(), other)));
        }
        labels
    }
}

/// How a value is printed and compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Unit {
    /// A share.
    #[serde(rename = "%")]
    Percent,
    /// A ratio.
    #[serde(rename = "×")]
    Times,
    /// Microseconds.
    #[serde(rename = "µs")]
    Micros,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
    /// Thousand requests per second.
    #[serde(rename = "k/s")]
    Krps,
}

impl Unit {
    /// What it can be the unit of.
    #[must_use]
    pub const fn dimension(self) -> Dimension {
        match self {
            Self::Percent => Dimension::Share,
            Self::Times => Dimension::Ratio,
            Self::Micros | Self::Millis => Dimension::Time,
            Self::Krps => Dimension::Rate,
        }
    }

    /// A value in this unit, of one as [`Quantity`](crate::quantity::Quantity) has it.
    #[must_use]
    pub fn from_quantity(self, value: f64) -> f64 {
        if self == Self::Millis { value / 1e3 } else { value }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Percent => "%",
            Self::Times => "×",
            Self::Micros => "µs",
            Self::Millis => "ms",
            Self::Krps => "k/s",
        })
    }
}

/// See [`Claim::bound`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum Bound {
    /// Ours is at least theirs.
    #[serde(rename = "at least")]
    AtLeast,
    /// Ours is at most theirs.
    #[serde(rename = "at most")]
    AtMost,
}
