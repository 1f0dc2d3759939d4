//! What a search has found so far.

use super::super::bench::Void;
use super::super::dial::Setting;
use super::file::{LeftOut, Wanted};
use super::screen::Screening;
use super::trials::Deferred;
use crate::failure::Failure;
use serde::Serialize;
use tailwater_stats::result::Manifest;
use tailwater_tune::ab::{Conclusion, Forecast, Look};

/// One test.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tested {
    /// What was tried, in words.
    pub(super) name: String,
    pub(super) a: Setting,
    pub(super) b: Setting,
    /// How it ended.
    #[serde(flatten)]
    pub(super) conclusion: Conclusion,
    /// Its blocks that were void, and made again.
    pub(super) void: Void,
    /// The smallest effect that four of five tests of so many quads find; none where there is none.
    pub(super) smallest_effect: Option<f64>,
    pub(super) looks: Vec<Look>,
    /// Of each look, when it was, from the first quad's begin.
    pub(super) seconds: Vec<f64>,
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
    /// Of one claim, within the share of the time that is kept for confirming at first.
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
        let first = self.confirmed.first();
        let cut = first.and_then(|test| Some((test, test.conclusion.cut_short()?)));
        cut.map_or(Ok(()), |(test, why)| {
            let name = &test.name;
            Err(Failure::work(format!(
                "the test against {name} was cut short, so it confirms nothing: {why}"
            )))
        })
    }
}
