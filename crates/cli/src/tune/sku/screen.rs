//! Screening: which of many knobs seem to matter, from a fractional factorial of single blocks.
//!
//! It only chooses what is tested; nothing is concluded from it.

use super::super::bench::Bench;
use super::super::dial::Setting;
use super::file::Wanted;
use crate::failure::Failure;
use crate::progress::Progress;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tailwater_core::Rng;
use tailwater_tune::ab::Pilot;
use tailwater_tune::factorial::Factorial;

/// How often a block is measured that the noise rules set aside.
const TRIES: u32 = 3;

/// What screening says.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Screening {
    /// Of each knob that has a value to try.
    pub(super) knobs: Vec<Screened>,
    /// Of each effect, as a logarithm of a ratio; none where there was no screening.
    pub(super) standard_error: Option<f64>,
    /// The smallest gain that four of five searches keep for testing.
    pub(super) smallest_kept: Option<f64>,
    /// Why there was none, where so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) skipped: Option<String>,
    /// How often the design was played.
    pub(super) replicates: u32,
    /// Why no more often, where it was to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cut_short: Option<String>,
}

/// What screening says of one knob.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Screened {
    /// Its number.
    #[serde(skip)]
    pub(super) at: usize,
    pub(super) knob: String,
    /// The value that was tried.
    pub(super) value: String,
    /// Main effect as a logarithm of a ratio; below zero where the quantity falls.
    pub(super) effect: Option<f64>,
    /// Whether it is tested.
    pub(super) kept: bool,
}

impl Screening {
    /// Numbers of the knobs that are tested, the most promising first.
    pub(super) fn survivors(&self) -> Vec<usize> {
        let mut kept: Vec<&Screened> = self.knobs.iter().filter(|of| of.kept).collect();
        let size = |of: &Screened| of.effect.map_or(0.0, f64::abs);
        // Those without an effect stay in their order.
        kept.sort_by(|one, other| size(other).total_cmp(&size(one)));
        kept.into_iter().map(|of| of.at).collect()
    }

    /// Whether it was played and is not tested.
    pub(super) fn has_left_out(&self, at: usize) -> bool {
        self.knobs.iter().any(|of| of.at == at && !of.kept)
    }

    /// Every knob is tested, for this reason.
    fn skipped(wanted: &Wanted, values: &[Vec<String>], why: String) -> Self {
        let knobs = knobs(wanted, values);
        let knobs = knobs.map(|of| Screened { kept: true, ..of }).collect();
        Self { knobs, skipped: Some(why), ..Self::default() }
    }
}

/// Those that have a value to try.
fn knobs<'w>(wanted: &'w Wanted, values: &'w [Vec<String>]) -> impl Iterator<Item = Screened> + 'w {
    wanted.dials.iter().zip(values).enumerate().filter_map(|(at, (dial, values))| {
        let (knob, value) = (dial.name.clone(), values.first()?.clone());
        Some(Screened { at, knob, value, effect: None, kept: false })
    })
}

/// Of so many quads, how many screening takes.
pub(super) fn takes(wanted: &Wanted, values: &[Vec<String>], quads: u32) -> u32 {
    let design = Factorial::new(knobs(wanted, values).count());
    let runs = design.map_or(0, |design| design.runs() as u64);
    let fit = (4 * u64::from(quads) / 2).checked_div(runs).unwrap_or(0);
    (runs * fit.min(wanted.replicates.into())).div_ceil(4) as u32
}

/// Plays the design with the first value of each knob. Where a setting cannot be measured, or the time would not do, there
/// is no screening, and every knob is tested.
///
/// # Errors
/// With what ends the whole search.
pub(super) fn screen(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    values: &[Vec<String>],
    pilot: &Pilot,
) -> Result<Screening, Failure> {
    let mut knobs: Vec<Screened> = knobs(wanted, values).collect();
    let design = Factorial::new(knobs.len()).ok_or_else(|| Failure::usage("too many knobs"))?;
    // Half of the time is the tests', however slow blocks become.
    let now = Instant::now();
    let until = now + bench.until.saturating_duration_since(now) / 2;
    let fits = |bench: &Bench<'_>| design.runs() as u64 <= 4 * u64::from(bench.quads_until(until));
    let progress = Progress::new(design.runs() as u64 * u64::from(wanted.replicates));
    let mut rng = Rng::from_seed(wanted.seed).split("screening");
    let mut played: Vec<Vec<f64>> = Vec::new();
    let (mut longest, mut cut_short) = (Duration::ZERO, None);
    while played.len() < wanted.replicates as usize && cut_short.is_none() {
        let began = Instant::now();
        if began + longest > until || !fits(bench) {
            cut_short = Some("it would take more than half of the time for tests".to_owned());
            break;
        }
        progress.say(&format!("screening, {} of {}", played.len() + 1, wanted.replicates));
        let mut order: Vec<usize> = (0..design.runs()).collect();
        rng.shuffle(&mut order);
        let setting = |run: usize| setting(wanted, &knobs, &design.levels(run));
        match replicate(bench, wanted, (order, &setting), (until, &progress))? {
            Ok(responses) => played.push(responses),
            Err(why) => cut_short = Some(why),
        }
        longest = longest.max(began.elapsed());
    }
    if let (true, Some(why)) = (played.is_empty(), &cut_short) {
        return Ok(Screening::skipped(wanted, values, why.clone()));
    }
    let found = design
        .main_effects(&played, pilot.block_deviation())
        .ok_or_else(|| Failure::work("screening was not played"))?;
    for (factor, of) in knobs.iter_mut().enumerate() {
        let has_more_values = values[of.at].len() > 1;
        of.kept = found.is_worth_a_test(factor, wanted.rules.better, has_more_values);
        of.effect = found.effects.get(factor).copied();
    }
    Ok(Screening {
        knobs,
        standard_error: Some(found.standard_error),
        smallest_kept: Some(found.smallest_kept()),
        skipped: None,
        replicates: played.len() as u32,
        cut_short,
    })
}

/// Stock, but for the knobs that are high.
fn setting(wanted: &Wanted, knobs: &[Screened], high: &[bool]) -> Setting {
    let mut setting = wanted.stock.clone();
    for (of, _) in knobs.iter().zip(high).filter(|(_, high)| **high) {
        setting[of.at].clone_from(&of.value);
    }
    setting
}

/// Each run of the design once, in this order. One whose block cannot count has another turn after the others: a noisy minute
/// is no fault of a setting. With why there is none, where a run failed twice or the time for screening is over.
///
/// # Errors
/// With what ends the whole search.
fn replicate(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    (order, setting): (Vec<usize>, &dyn Fn(usize) -> Setting),
    (until, progress): (Instant, &Progress),
) -> Result<Result<Vec<f64>, String>, Failure> {
    let seed = bench.next_seed();
    let mut responses = vec![0.0; order.len()];
    let mut turns: VecDeque<(usize, bool)> = order.into_iter().map(|run| (run, false)).collect();
    while let Some((run, is_second)) = turns.pop_front() {
        match response(bench, wanted, &setting(run), (until, seed)) {
            Ok(Some(response)) => responses[run] = response,
            Ok(None) => {
                return Ok(Err("its blocks took more than half of the time for tests".into()));
            }
            Err(failure) if bench.is_over(&failure) => return Err(failure),
            Err(failure) if is_second => return Ok(Err(failure.to_string())),
            Err(_) => {
                turns.push_back((run, true));
                continue;
            }
        }
        progress.step();
    }
    Ok(Ok(responses))
}

/// The logarithm of what a block measured, once that is quiet enough; none where the time for screening is over by then.
fn response(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    setting: &Setting,
    (until, seed): (Instant, u64),
) -> Result<Option<f64>, Failure> {
    for _ in 0..TRIES {
        // Blocks that are measured again were not reckoned with.
        if Instant::now() >= until {
            return Ok(None);
        }
        let block = bench.block(setting, seed)?;
        if block.counts(&wanted.rules) {
            return Ok(Some(block.metric.ln()));
        }
    }
    Err(Failure::work(format!(
        "a block cannot count after {TRIES} tries; look at its noise by tailwater tune ab"
    )))
}
