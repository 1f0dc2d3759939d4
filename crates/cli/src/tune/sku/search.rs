//! The search itself: the pilot after trials, screening, tests, and confirming. What was found is kept whatever ends it.

use super::super::ab::{self, Budget, Compared};
use super::super::bench::Bench;
use super::super::dial::Setting;
use super::super::tell;
use super::file::Wanted;
use super::found::{Found, Tested};
use super::screen::{screen, takes as screening_takes};
use super::text;
use super::trials::{Turns, Values, tried, turns};
use crate::failure::Failure;
use crate::machine;
use std::time::{Duration, Instant};
use tailwater_tune::ab::{
    Claims, ComparisonRules, Conclusion, Forecast, Look, Pilot, Reserve, Verdict,
};

/// The share of the time that is kept for confirming at first, and at most.
const CONFIRMING: f64 = 0.35;

/// Hears of all that is found so far, after each step that takes long.
pub(super) type Keep<'k> = &'k dyn Fn(&Found) -> Result<(), Failure>;

/// Searches until it is done, the time is over, or nothing more can be measured: then with the failure.
///
/// # Errors
/// When stock cannot be measured, no value can, or the pilot says that nothing would be found.
pub(super) fn search(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    accept_weak: bool,
    keep: Keep<'_>,
) -> Result<(Found, Option<Failure>), Failure> {
    let (manifest, began) = (machine::here(), Instant::now());
    let budget = Budget { pilot: wanted.pilot, accept_weak, seed: wanted.seed };
    let tried = tried(bench, wanted)?;
    let pilot = ab::pilot(bench, &wanted.rules, &wanted.stock, &budget)?;
    let Turns { values, deferred } = turns(bench, wanted, &tried, &pilot)?;
    let forecasts = forecasts(bench, wanted, (&values, &pilot), accept_weak)?;
    let mut found = Found::new(wanted, manifest, forecasts, (tried.left_out, deferred));
    let ended = go_on(bench, wanted, (&values, &pilot), &mut found, keep).err();
    found.cut_short = ended.as_ref().map(ToString::to_string);
    found.void = bench.void;
    found.seconds = began.elapsed().as_secs_f64();
    Ok((found, ended))
}

/// What one test can find within its share of the time, and what one claim can: told before anything is tried. Of knobs that
/// screening leaves out there are no tests, so that there may be more time for each. Deferred values have what others leave.
fn forecasts(
    bench: &Bench<'_>,
    wanted: &Wanted,
    (values, pilot): (&Values, &Pilot),
    accept_weak: bool,
) -> Result<[Forecast; 2], Failure> {
    let left = bench.until.saturating_duration_since(Instant::now());
    let confirming = wanted.time.mul_f64(CONFIRMING);
    let tests: usize = values.iter().map(Vec::len).sum();
    let claims = 1 + wanted.rivals.len();
    let claim = Claims::new(&wanted.rules, claims).next_rules(true);
    let of_tests = bench.quads_within(left.saturating_sub(confirming));
    let of_tests = of_tests - screening_takes(wanted, values, of_tests);
    let of_test = wanted.rules.quads_of_one(of_tests, tests);
    let of_claims = claim.quads_of_one(bench.quads_within(left.min(confirming)), claims);
    let of = |what: &str, rules: &ComparisonRules, quads: u32| -> Result<Forecast, Failure> {
        let forecast = ab::promise(pilot, rules, quads, wanted.seed)?;
        let text = ab::forecast(&forecast, rules, bench.quad_time());
        tell(&format!("the pilot says of {what}: {text}"));
        Ok(forecast)
    };
    let all = [
        of(&format!("each of {tests} tests"), &wanted.rules, of_test)?,
        of("confirming", &claim, of_claims)?,
    ];
    let is_weak = all[0].is_weak(&wanted.rules) || all[1].is_weak(&claim);
    if is_weak && !accept_weak {
        return Err(Failure::work(
            "so weak a search is not begun: give longer blocks, more quads, more time, fewer values, a larger effect, or \
             --accept-weak",
        ));
    }
    Ok(all)
}

/// Everything after the pilot.
fn go_on(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    (values, pilot): (&Values, &Pilot),
    found: &mut Found,
    keep: Keep<'_>,
) -> Result<(), Failure> {
    let until = bench.until;
    bench.until = until.checked_sub(wanted.time.mul_f64(CONFIRMING)).unwrap_or(until);
    found.screening = screen(bench, wanted, values, pilot)?;
    tell(&text::screened(&found.screening));
    forecast_again(bench, wanted, (values, pilot), &found.screening.survivors());
    found.untried = untried(wanted, values, found);
    saved(bench, found, keep)?;
    climb(bench, wanted, (values, pilot), until, found, keep)?;
    bench.until = until;
    confirm(bench, wanted, pilot, found, keep)
}

/// Keeps what is found so far, with the blocks that were void: a search that is killed later has told of them.
fn saved(bench: &Bench<'_>, found: &mut Found, keep: Keep<'_>) -> Result<(), Failure> {
    found.void = bench.void;
    keep(found)
}

/// Tells what each of the tests that screening has left can find.
fn forecast_again(
    bench: &Bench<'_>,
    wanted: &Wanted,
    (values, pilot): (&Values, &Pilot),
    survivors: &[usize],
) {
    let tests: usize = survivors.iter().map(|at| values[*at].len()).sum();
    if tests == 0 {
        return;
    }
    let quads = wanted.rules.quads_of_one(bench.quads_left(), tests);
    // Where too few are left for any, the tests say so.
    if let Ok(forecast) = pilot.forecast(&wanted.rules, quads, wanted.seed) {
        let text = ab::forecast(&forecast, &wanted.rules, bench.quad_time());
        tell(&format!("of {tests} tests that are left, each: {text}"));
    }
}

/// Values of knobs that screening left out, but for those that it played.
fn untried(wanted: &Wanted, values: &Values, found: &Found) -> Vec<String> {
    let left = found.screening.knobs.iter().filter(|of| !of.kept);
    let others = left.flat_map(|of| values[of.at].iter().skip(1).map(move |value| (of.at, value)));
    let deferred = found.deferred.iter().filter(|of| found.screening.has_left_out(of.at));
    let all = others.chain(deferred.map(|of| (of.at, &of.value)));
    all.map(|(at, value)| format!("{}={value}", wanted.dials[at].name)).collect()
}

/// Tests each survivor's values against what was adopted so far, the most promising first, and then those that were deferred. They
/// share the time, deferred ones what the others leave; what one does not use is left to the next. Where too little is left for an
/// interval, nothing could be adopted. Less is then kept for confirming, which has `until` as its end. Where that is not enough, no
/// more tests are begun.
fn climb(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    (values, pilot): (&Values, &Pilot),
    until: Instant,
    found: &mut Found,
    keep: Keep<'_>,
) -> Result<(), Failure> {
    let survivors = found.screening.survivors();
    let mut all: Vec<(usize, String)> = survivors
        .iter()
        .flat_map(|at| values[*at].iter().map(move |value| (*at, value.clone())))
        .collect();
    let promising = all.len();
    let deferred = found.deferred.iter().filter(|of| !found.screening.has_left_out(of.at));
    all.extend(deferred.map(|of| (of.at, of.value.clone())));
    let least = wanted.rules.level.quads_for_interval();
    let (mut is_short, mut told) = (false, None);
    for (number, (at, value)) in all.iter().enumerate() {
        is_short |= bench.quads_left() < least;
        if is_short {
            // What is adopted meanwhile may take longer to confirm.
            let kept = reserve(bench, wanted, pilot, found);
            bench.until = until.checked_sub(kept).unwrap_or(until);
            if told.replace(kept) != Some(kept) {
                let time = ab::for_people(kept);
                tell(&format!("little time is left for tests: {time} are kept for confirming now"));
            }
        }
        if bench.quads_left() < least {
            tell("too little time is left for another test; what is left is for confirming");
            let left = all[number..].iter();
            let left = left.map(|(at, value)| format!("{}={value}", wanted.dials[*at].name));
            found.untried.extend(left);
            return Ok(());
        }
        let adopted = found.sku.clone();
        let mut tried = adopted.clone();
        tried[*at].clone_from(value);
        let name = format!("{}={value}", wanted.dials[*at].name);
        let arms = (name, &adopted, &tried);
        let last = if number < promising { promising } else { all.len() };
        let share = bench.until_one_of(last - number, least);
        let (test, ended) = test(bench, (&wanted.rules, pilot), arms, (number as u64, share))?;
        tell(&text::tested(&test));
        if test.conclusion.verdict == Verdict::Better {
            found.sku = tried;
        }
        found.tested.push(test);
        saved(bench, found, keep)?;
        ended.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// How long confirming takes, by what tests have shown so far.
fn reserve(bench: &Bench<'_>, wanted: &Wanted, pilot: &Pilot, found: &Found) -> Duration {
    let confirming = wanted.time.mul_f64(CONFIRMING);
    rule(wanted, pilot).time(&adopted(found), &bench.times, confirming)
}

const fn rule<'a>(wanted: &'a Wanted, pilot: &'a Pilot) -> Reserve<'a> {
    Reserve { pilot, rules: &wanted.rules, rivals: wanted.rivals.len(), seed: wanted.seed }
}

/// The last look of each test that has found a gain.
fn adopted(found: &Found) -> Vec<Look> {
    let better = found.tested.iter().map(|test| &test.conclusion);
    better.filter(|test| test.verdict == Verdict::Better).filter_map(|test| test.last).collect()
}

/// Holds the composed setting against stock and rivals on fresh blocks; where nothing was adopted, stock against rivals.
fn confirm(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    pilot: &Pilot,
    found: &mut Found,
    keep: Keep<'_>,
) -> Result<(), Failure> {
    let sku = found.sku.clone();
    let stock = ("stock".to_owned(), wanted.stock.clone());
    let all = std::iter::once(&stock).chain(&wanted.rivals);
    let rivals: Vec<&(String, Setting)> = all.filter(|(_, of)| *of != sku).collect();
    let mut claims = Claims::new(&wanted.rules, rivals.len());
    for (number, (name, setting)) in rivals.iter().enumerate() {
        let rules = claims.next_rules(*setting != wanted.stock);
        let arms = (name.clone(), setting, &sku);
        let least = rules.level.quads_for_interval();
        let left = rivals.len() - number;
        // What was kept for the claim against stock is not divided among all; the others keep what an interval takes.
        let wants = match *setting == wanted.stock {
            true => {
                let others = (least + 1) * (left - 1) as u32;
                let fit = bench.quads_left().saturating_sub(others);
                rule(wanted, pilot).against_stock(&adopted(found), fit)
            }
            false => 0,
        };
        let share = bench.until_one_of(left, least.max(wants));
        // Apart from the numbers of the tests before.
        let number = u64::from(u32::MAX) + number as u64;
        let (test, ended) = test(bench, (&rules, pilot), arms, (number, share))?;
        tell(&text::tested(&test));
        let standing = claims.take(test.conclusion.clone());
        found.confirmed.push(test);
        for (test, conclusion) in found.confirmed.iter_mut().zip(standing) {
            test.conclusion.clone_from(conclusion);
        }
        saved(bench, found, keep)?;
        ended.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// One test, and what ends the whole search, where that happened within it.
fn test(
    bench: &mut Bench<'_>,
    (rules, pilot): (&ComparisonRules, &Pilot),
    (name, a, b): (String, &Setting, &Setting),
    (number, share): (u64, Instant),
) -> Result<(Tested, Option<Failure>), Failure> {
    let seed = bench.next_seed().wrapping_add(number << 32);
    let Compared { comparison, seconds, ended, timed_out, void } =
        ab::compare(bench, rules, pilot, (a, b), (seed, share))?;
    let quads = comparison.looks().len() as u32;
    let forecast = pilot.forecast(rules, quads, seed).ok();
    let failed = ended.as_ref().map(ToString::to_string);
    let test = Tested {
        name,
        a: a.clone(),
        b: b.clone(),
        conclusion: Conclusion::of(&comparison, timed_out, failed),
        void,
        smallest_effect: forecast.and_then(|forecast| forecast.smallest_effect),
        looks: comparison.looks().to_vec(),
        seconds,
    };
    // A failure of one setting ends its test only.
    Ok((test, ended.filter(|failure| bench.is_over(failure))))
}
