//! One file of a knob, as it was.

use super::place::Place;
use crate::knobs::{self, Lever};
use serde::{Deserialize, Serialize};

/// One file of a knob.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The knob's name.
    pub knob: String,
    /// Its file, as from the root of the file system.
    pub path: String,
    /// What it said before.
    pub old: String,
    /// All that may be written to it.
    pub ours: Vec<String>,
    /// Where it was turned, if that is not the journal's own place: an earlier session left it, and later ones cannot
    /// touch its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

impl Entry {
    /// Why the entry must not be acted on: it names no knob, or a file that is none of the knob's.
    ///
    /// # Errors
    /// With the reason.
    pub fn check(&self) -> Result<(), String> {
        let knob = knobs::find(&self.knob).map(|knob| knob.lever);
        let Some(Lever::Files { pattern, form, .. }) = knob else {
            return Err(format!("{:?} is no knob that is a file", self.knob));
        };
        if !knobs::fits(pattern, &self.path) {
            return Err(format!("{:?} is no file of {}", self.path, self.knob));
        }
        match form.now(&self.old) {
            Some(_) => Ok(()),
            None => Err(format!("{:?} is no value of {}", self.old, self.knob)),
        }
    }

    /// Whether a value that is found in the file is `old`, or may come of our writing.
    #[must_use]
    pub fn is_ours(&self, found: &str) -> bool {
        let knob = knobs::find(&self.knob).map(|knob| knob.lever);
        matches!(knob, Some(Lever::Files { form, .. }) if form.is_ours(found, &self.old, &self.ours))
    }
}
