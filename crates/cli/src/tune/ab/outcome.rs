//! The result of a comparison as one JSON object.

use super::super::bench::Void;
use super::super::dial::{Dial, Setting};
use super::super::targets::Target;
use super::conducted::{Compared, Conducted};
use super::options::AbOptions;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_stats::result::Manifest;
use tailwater_tune::ab::{
    Better, ComparisonRules, Forecast, Guard, Look, MeasuredQuad, NoiseRule, Verdict,
};

#[derive(Serialize)]
pub(super) struct Outcome<'a> {
    /// Where and when it was made.
    pub(super) manifest: Manifest,
    pub(super) target: String,
    pub(super) metric: String,
    pub(super) better: Better,
    /// Knobs and their values.
    pub(super) a: BTreeMap<String, String>,
    pub(super) b: BTreeMap<String, String>,
    pub(super) seed: u64,
    pub(super) level: f64,
    /// As a ratio less one.
    pub(super) effect_that_matters: f64,
    pub(super) quads_max: u32,
    pub(super) verdict: Verdict,
    /// Why it ended before that, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cut_short: Option<String>,
    /// Whether that was a block that failed, or a signal.
    pub(super) failed: bool,
    /// Blocks of the test that were void, and made again.
    pub(super) void: Void,
    /// Those of trial and pilot.
    pub(super) void_before: u32,
    pub(super) guards: Vec<GuardOutcome>,
    pub(super) noise_rules: &'a [NoiseRule],
    pub(super) forecast: Forecast,
    pub(super) looks: &'a [Look],
    /// Of each look, when it was, from the first quad's begin.
    pub(super) look_seconds: &'a [f64],
    pub(super) pilot: &'a [MeasuredQuad],
    pub(super) quads: &'a [MeasuredQuad],
    pub(super) seconds: f64,
    /// What a person types to keep B; nothing where it is what is there.
    pub(super) keeping: Vec<String>,
    /// The same of A.
    pub(super) keeping_a: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct GuardOutcome {
    pub(super) name: String,
    /// What is tolerated, as a ratio less one.
    pub(super) tolerated: f64,
    /// Mean logarithm of B ÷ A.
    pub(super) mean: f64,
    pub(super) p_value: f64,
}

impl<'a> Outcome<'a> {
    pub(super) fn new(
        options: &AbOptions,
        (dials, target): (&[Dial], &Target),
        (a, b): (&Setting, &Setting),
        rules: &'a ComparisonRules,
        conducted: &'a Conducted,
        (manifest, took): (Manifest, Duration),
        [keeping_a, keeping]: [Vec<String>; 2],
    ) -> Self {
        let named = |setting: &Setting| {
            dials.iter().map(|dial| dial.name.clone()).zip(setting.iter().cloned()).collect()
        };
        let cut_short = conducted.cut_short();
        let Compared { comparison, seconds, ended, void, .. } = &conducted.compared;
        let guards = comparison.guards().map(|(name, mean, p_value)| {
            let of: Option<&Guard> = rules.guards.iter().find(|guard| guard.name == name);
            let tolerated = of.map_or(0.0, |guard| guard.tolerated.exp_m1());
            GuardOutcome { name: name.to_owned(), tolerated, mean, p_value }
        });
        Self {
            manifest,
            target: target.name(),
            metric: target.metric().to_owned(),
            better: rules.better,
            a: named(a),
            b: named(b),
            seed: options.seed,
            level: options.level,
            effect_that_matters: options.effect,
            quads_max: rules.quads_max,
            verdict: comparison.verdict(),
            cut_short,
            failed: ended.is_some(),
            void: *void,
            void_before: conducted.void_before,
            guards: guards.collect(),
            noise_rules: &rules.noise,
            forecast: conducted.forecast,
            looks: comparison.looks(),
            look_seconds: seconds,
            pilot: conducted.pilot.quads(),
            quads: comparison.quads(),
            seconds: took.as_secs_f64(),
            keeping,
            keeping_a,
        }
    }
}
