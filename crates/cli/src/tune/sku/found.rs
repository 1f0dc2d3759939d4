//! What a search has found so far.

use super::super::bench::Void;
use super::super::dial::Setting;
use super::file::{LeftOut, Wanted};
use super::screen::Screening;
use super::trials::Deferred;
use crate::failure::Failure;
use serde::Serialize;
use tailwater_stats::result::Manifest;
use tailwater_tune::ab::{Forecast, Look, Verdict};

/// One test.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tested {
    /// What was tried, in words.
    pub(super) name: String,
    pub(super) a: Setting,
    pub(super) b: Setting,
    /// The intervals of `looks` are of this level.
    pub(super) level: f64,
    /// The larger level at which it is shown, where it is open at its own and others left their shares to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shown_at: Option<f64>,
    pub(super) verdict: Verdict,
    /// Whether its share of the time was over before a verdict.
    pub(super) timed_out: bool,
    /// Whether more quads were set aside than counted, after some.
    pub(super) noisy: bool,
    /// What ended it before a verdict, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<String>,
    /// Its blocks that were void, and made again.
    pub(super) void: Void,
    /// The smallest effect that four of five tests of so many quads find; none where there is none.
    pub(super) smallest_effect: Option<f64>,
    pub(super) looks: Vec<Look>,
    /// Of each look, when it was, from the first quad's begin.
    pub(super) seconds: Vec<f64>,
}

impl Tested {
    /// Whether anything may be claimed of it. What is open has its interval first, and no block that failed has ended it. What
    /// is too noisy says nothing, and leaves its share of the level to the others.
    pub(super) fn may_be_claimed(&self) -> bool {
        let has_interval = self.looks.last().is_some_and(|look| look.interval.is_some());
        match self.verdict {
            Verdict::CutShort | Verdict::Noisy => false,
            Verdict::Open => has_interval && self.failed.is_none(),
            _ => true,
        }
    }

    /// Why it says nothing of what was to be confirmed, if so.
    fn cut_short(&self) -> Option<&str> {
        match (&self.failed, &self.verdict) {
            (Some(why), Verdict::Open | Verdict::CutShort | Verdict::Noisy) => Some(why),
            (None, Verdict::Noisy) => Some("most of its quads were set aside"),
            (None, Verdict::CutShort) if self.noisy => Some("most of its quads were set aside"),
            (None, Verdict::CutShort) if self.timed_out => Some("its time was over"),
            (None, Verdict::CutShort) => Some("its quads were spent"),
            _ => None,
        }
    }
}

#[cfg(test)]
impl Tested {
    /// A test that has ended with this verdict, after one look.
    pub(super) fn of(verdict: Verdict, level: f64, look: Look) -> Self {
        Self {
            name: look.mean.to_string(),
            a: Vec::new(),
            b: Vec::new(),
            level,
            shown_at: None,
            verdict,
            timed_out: false,
            noisy: false,
            failed: None,
            void: Void::default(),
            smallest_effect: None,
            looks: vec![look],
            seconds: vec![1.0],
        }
    }
}

/// What ends a test where it is shown to be worse than is tolerated.
#[derive(Debug, Serialize)]
pub(super) struct Guarded {
    pub(super) name: String,
    /// As a ratio less one.
    pub(super) tolerated: f64,
}

/// All that was found.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    /// Where and when it was found.
    pub(super) manifest: Manifest,
    pub(super) title: String,
    pub(super) target: String,
    pub(super) metric: String,
    /// What must not get worse.
    pub(super) guards: Vec<Guarded>,
    pub(super) knobs: Vec<String>,
    pub(super) stock: Setting,
    /// Of one test, within its share of the time.
    pub(super) forecast: Forecast,
    /// Of one claim, within the share of the time that is kept for confirming.
    pub(super) confirming: Forecast,
    pub(super) left_out: Vec<LeftOut>,
    /// Values that were far worse than stock at sight, so that their turns come last.
    pub(super) deferred: Vec<Deferred>,
    pub(super) screening: Screening,
    pub(super) tested: Vec<Tested>,
    /// Values that were neither screened nor tested.
    pub(super) untried: Vec<String>,
    /// The composed setting.
    pub(super) sku: Setting,
    /// Against stock first, unless it is stock, then against each rival.
    pub(super) confirmed: Vec<Tested>,
    /// Why it ended before it was done, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cut_short: Option<String>,
    /// Blocks that were void since their generator was late, whatever they were for.
    pub(super) void: u32,
    pub(super) seconds: f64,
}

impl Found {
    /// Before screening.
    pub(super) fn new(
        wanted: &Wanted,
        manifest: Manifest,
        [forecast, confirming]: [Forecast; 2],
        (left_out, deferred): (Vec<LeftOut>, Vec<Deferred>),
    ) -> Self {
        let guards = wanted.rules.guards.iter().map(|guard| {
            let (name, tolerated) = (guard.name.clone(), guard.tolerated.exp_m1());
            Guarded { name, tolerated }
        });
        Self {
            manifest,
            title: wanted.title.clone(),
            target: wanted.target.name(),
            metric: wanted.target.metric().to_owned(),
            guards: guards.collect(),
            knobs: wanted.dials.iter().map(|dial| dial.name.clone()).collect(),
            stock: wanted.stock.clone(),
            forecast,
            confirming,
            left_out,
            deferred,
            screening: Screening::default(),
            tested: Vec::new(),
            untried: Vec::new(),
            sku: wanted.stock.clone(),
            confirmed: Vec::new(),
            cut_short: None,
            void: 0,
            seconds: 0.0,
        }
    }

    /// A confirmation is one, whatever it says, but for one that was cut short. The first claim decides that: against stock,
    /// where anything was adopted.
    ///
    /// # Errors
    /// With what cut it short.
    pub(super) fn is_sound(&self) -> Result<(), Failure> {
        let cut = self.confirmed.first().and_then(|test| Some((test, test.cut_short()?)));
        cut.map_or(Ok(()), |(test, why)| {
            let name = &test.name;
            Err(Failure::work(format!(
                "the test against {name} was cut short, so it confirms nothing: {why}"
            )))
        })
    }
}
