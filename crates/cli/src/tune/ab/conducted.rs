//! A comparison that was measured.

use super::super::bench::Void;
use crate::failure::Failure;
use tailwater_tune::ab::{Comparison, Forecast, Pilot, Verdict};

/// The quads of a test.
pub(in crate::tune) struct Compared {
    pub(in crate::tune) comparison: Comparison,
    /// Of each look, when it was, from the first quad's begin.
    pub(in crate::tune) seconds: Vec<f64>,
    /// What ended it before it was done, if something did.
    pub(in crate::tune) ended: Option<Failure>,
    /// Whether the time was over.
    pub(in crate::tune) timed_out: bool,
    /// Its blocks that were void.
    pub(in crate::tune) void: Void,
}

/// A comparison as far as it went.
pub(in crate::tune) struct Conducted {
    pub(in crate::tune) pilot: Pilot,
    pub(in crate::tune) forecast: Forecast,
    pub(in crate::tune) compared: Compared,
    /// Blocks that were void until it began, of trial and pilot.
    pub(in crate::tune) void_before: u32,
}

impl Conducted {
    /// Why it ended before it was done.
    pub(super) fn cut_short(&self) -> Option<String> {
        let Compared { comparison, ended, timed_out, .. } = &self.compared;
        match (ended, comparison.verdict()) {
            (Some(ended), _) => Some(ended.to_string()),
            (None, _) if *timed_out => Some("its time was over".into()),
            (None, Verdict::CutShort) if comparison.is_noisy() => {
                Some("most of its quads were set aside".into())
            }
            (None, Verdict::CutShort) => Some("its quads were spent".into()),
            (None, _) => None,
        }
    }

    /// A result is one, whatever it says; a machine without a quiet moment has none, and what is cut short neither.
    pub(in crate::tune) fn is_sound(&self) -> Result<(), Failure> {
        match self.compared.comparison.verdict() {
            Verdict::Noisy => Err(Failure::work(
                "there is no result: most quads were set aside; the JSON says by which rule",
            )),
            Verdict::CutShort => {
                let why = self.cut_short().unwrap_or_default();
                Err(Failure::work(format!(
                    "there is no result: B was found better, and before the interval of its gain {why}"
                )))
            }
            _ => Ok(()),
        }
    }
}
