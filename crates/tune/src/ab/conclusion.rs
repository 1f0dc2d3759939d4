//! How one of several tests has ended, and whether anything may be claimed of it.

use super::comparison::{Comparison, Look, Verdict};
use serde::Serialize;

/// A test that has ended.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Conclusion {
    /// The intervals of its looks are of this level.
    pub level: f64,
    /// The larger level at which it is shown, where it is open at its own and others left their shares to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_at: Option<f64>,
    /// What is shown.
    pub verdict: Verdict,
    /// Whether its share of the time was over before a verdict.
    pub timed_out: bool,
    /// Whether more quads were set aside than counted, after some.
    pub noisy: bool,
    /// Quads of which nothing was looked at; none where each counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<SetAside>,
    /// What ended it before a verdict, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What was known at its end; none where no quad counts.
    #[serde(skip)]
    pub last: Option<Look>,
    /// Mean logarithm of B ÷ A at the look with the strongest evidence, of which its p-value is: the last may have another
    /// sign. None where no quad counts.
    #[serde(skip)]
    pub strongest_mean: Option<f64>,
}

/// Quads that were set aside by a rule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SetAside {
    /// So many.
    pub quads: usize,
    /// Why the last one was.
    pub last: String,
}

impl SetAside {
    fn of(comparison: &Comparison) -> Option<Self> {
        let reasons = comparison.quads().iter().filter_map(|quad| quad.set_aside.as_ref());
        let last = reasons.clone().next_back()?.clone();
        Some(Self { quads: reasons.count(), last })
    }
}

impl Conclusion {
    /// Of a comparison that goes on no more: by itself, as its time was over, or for what failed.
    #[must_use]
    pub fn of(comparison: &Comparison, timed_out: bool, failed: Option<String>) -> Self {
        let looks = comparison.looks();
        let strongest = looks.iter().max_by(|one, two| one.evidence.total_cmp(&two.evidence));
        Self {
            level: comparison.rules().level.alpha(),
            shown_at: None,
            verdict: comparison.verdict(),
            timed_out,
            noisy: comparison.is_noisy(),
            set_aside: SetAside::of(comparison),
            failed,
            last: looks.last().copied(),
            strongest_mean: strongest.map(|look| look.mean),
        }
    }

    /// Why it says nothing of what was to be confirmed, if so.
    #[must_use]
    pub fn cut_short(&self) -> Option<&str> {
        match (&self.failed, &self.verdict) {
            (Some(why), Verdict::Open | Verdict::CutShort | Verdict::Noisy) => Some(why),
            (None, Verdict::Noisy) => Some("most of its quads were set aside"),
            (None, Verdict::CutShort) if self.noisy => Some("most of its quads were set aside"),
            (None, Verdict::CutShort) if self.timed_out => Some("its time was over"),
            (None, Verdict::CutShort) => Some("its quads were spent"),
            _ => None,
        }
    }

    /// The smallest level at which it is shown; one where nothing may be claimed.
    pub(super) fn p_value(&self) -> f64 {
        let last = self.last.filter(|_| self.may_be_claimed());
        last.map_or(1.0, |look| look.p_value)
    }

    /// Whether anything may be claimed of it. What is open has its interval first, and no block that failed has ended it. What
    /// is too noisy says nothing, and leaves its share of the level to the others.
    fn may_be_claimed(&self) -> bool {
        let has_interval = self.last.is_some_and(|look| look.interval.is_some());
        match self.verdict {
            Verdict::CutShort | Verdict::Noisy => false,
            Verdict::Open => has_interval && self.failed.is_none(),
            _ => true,
        }
    }
}

#[cfg(test)]
impl Conclusion {
    /// A test that has ended with this verdict, after one look.
    pub(super) fn after(verdict: Verdict, level: f64, look: Look) -> Self {
        Self {
            level,
            shown_at: None,
            verdict,
            timed_out: false,
            noisy: false,
            set_aside: None,
            failed: None,
            last: Some(look),
            strongest_mean: Some(look.mean),
        }
    }
}
