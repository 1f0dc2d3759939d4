//! Whether a run counts.

use serde::{Deserialize, Serialize};

/// By the rules fixed beforehand: whether a run counts, and why not; and whether its share of the bound is in doubt.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RunVerdict {
    /// Whether every rule fixed beforehand holds.
    pub valid: bool,
    /// The rules that do not hold.
    pub invalid_because: Vec<String>,
    /// Why goodput ÷ bound is in doubt: goodput exceeds the bound by more than chance explains. It does not make
    /// the run invalid, since results never decide. `None` where it is not, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_doubt: Option<String>,
}

impl RunVerdict {
    /// Of a run that breaks these rules, each told with its reading.
    #[must_use]
    pub fn of(broken: impl IntoIterator<Item = String>) -> Self {
        let invalid_because: Vec<String> = broken.into_iter().collect();
        Self { valid: invalid_because.is_empty(), invalid_because, in_doubt: None }
    }
}
