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
use std::time::Instant;
use tailwater_stats::holm;
use tailwater_tune::ab::{Better, ComparisonRules, Forecast, Pilot, Verdict};

/// The share of the time that is kept for confirming.
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
    let claim = of_claim(&wanted.rules, claims, true);
    let of_tests = bench.quads_within(left.saturating_sub(confirming));
    let of_tests = of_tests - screening_takes(wanted, values, of_tests);
    let of_test = one_of(of_tests, tests, &wanted.rules);
    let of_claims = one_of(bench.quads_within(left.min(confirming)), claims, &claim);
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
    let is_weak = ab::is_weak(&all[0], &wanted.rules) || ab::is_weak(&all[1], &claim);
    if is_weak && !accept_weak {
        return Err(Failure::work(
            "so weak a search is not begun: give longer blocks, more quads, more time, fewer values, a larger effect, or \
             --accept-weak",
        ));
    }
    Ok(all)
}

/// Quads of one of so many tests that share these: those that an interval takes at least, as long as there are any.
fn one_of(quads: u32, tests: usize, rules: &ComparisonRules) -> u32 {
    let least = rules.level.quads_for_interval().min(quads);
    (quads / tests.max(1) as u32).max(least).min(rules.quads_max)
}

/// The rules of one of so many claims, of which none is shown yet. What a rival is better by is worth knowing; that stock is
/// better is enough to keep it.
fn of_claim(rules: &ComparisonRules, claims: usize, is_rivals: bool) -> ComparisonRules {
    let level = rules.level.divided(claims);
    ComparisonRules { level, has_losses_measured: is_rivals, ..rules.clone() }
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
    climb(bench, wanted, (values, pilot), found, keep)?;
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
    let quads = one_of(bench.quads_left(), tests, &wanted.rules);
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
/// interval, nothing could be adopted, and none is begun.
fn climb(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    (values, pilot): (&Values, &Pilot),
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
    for (number, (at, value)) in all.iter().enumerate() {
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
        if test.verdict == Verdict::Better {
            found.sku = tried;
        }
        found.tested.push(test);
        saved(bench, found, keep)?;
        ended.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Holds the composed setting against stock and rivals on fresh blocks; where nothing was adopted, stock against rivals. The
/// level is divided among the claims that are still open (Holm): what was shown leaves its share to the others.
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
    let alpha = wanted.rules.level.alpha();
    for (number, (name, setting)) in rivals.iter().enumerate() {
        let shown = shown(&found.confirmed, rivals.len(), alpha).into_iter().filter(|is| *is);
        let is_rivals = *setting != wanted.stock;
        let rules = of_claim(&wanted.rules, rivals.len() - shown.count(), is_rivals);
        let arms = (name.clone(), setting, &sku);
        let least = rules.level.quads_for_interval();
        let share = bench.until_one_of(rivals.len() - number, least);
        // Apart from the numbers of the tests before.
        let number = u64::from(u32::MAX) + number as u64;
        let (test, ended) = test(bench, (&rules, pilot), arms, (number, share))?;
        tell(&text::tested(&test));
        found.confirmed.push(test);
        let shown = self::shown(&found.confirmed, rivals.len(), alpha);
        settle(&mut found.confirmed, &shown, (rivals.len(), alpha), wanted.rules.better);
        saved(bench, found, keep)?;
        ended.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Which claims are shown among so many, of which the later ones may not be tested yet.
fn shown(confirmed: &[Tested], claims: usize, alpha: f64) -> Vec<bool> {
    let mut p_values: Vec<f64> = confirmed.iter().map(p_value).collect();
    p_values.resize(claims, 1.0);
    holm::rejected(&p_values, alpha)
}

/// One where nothing may be claimed.
fn p_value(test: &Tested) -> f64 {
    let last = test.looks.last().filter(|_| test.may_be_claimed());
    last.map_or(1.0, |look| look.p_value)
}

/// A claim that was open at its own share of the level may be shown at the larger one that others have left to it.
fn settle(confirmed: &mut [Tested], shown: &[bool], (claims, alpha): (usize, f64), better: Better) {
    let p_values: Vec<f64> = confirmed.iter().map(p_value).collect();
    let open = confirmed.iter_mut().zip(shown);
    for (test, _) in open.filter(|(test, shown)| **shown && test.verdict == Verdict::Open) {
        // Holm's level of a claim is what those with smaller p-values leave, all of which are shown.
        let own = p_value(test);
        let before = p_values.iter().filter(|of| **of < own).count();
        test.shown_at = Some(alpha / (claims - before) as f64);
        let mean = test.looks.last().map_or(0.0, |look| look.mean);
        let is_less = mean < 0.0;
        let is_better = is_less == (better == Better::Less);
        test.verdict = if is_better { Verdict::Better } else { Verdict::Worse };
    }
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
    let test = Tested {
        name,
        a: a.clone(),
        b: b.clone(),
        level: rules.level.alpha(),
        shown_at: None,
        verdict: comparison.verdict(),
        timed_out,
        noisy: comparison.is_noisy(),
        failed: ended.as_ref().map(ToString::to_string),
        void,
        smallest_effect: forecast.and_then(|forecast| forecast.smallest_effect),
        looks: comparison.looks().to_vec(),
        seconds,
    };
    // A failure of one setting ends its test only.
    Ok((test, ended.filter(|failure| bench.is_over(failure))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::anytime::Level;
    use tailwater_tune::ab::Look;

    fn test(p_value: f64, mean: f64, verdict: Verdict) -> Tested {
        let interval = Some((mean - 0.03, mean + 0.03));
        let look = Look { quads: 20, evidence: 1.0 / p_value, p_value, mean, interval };
        Tested::of(verdict, 0.025, look)
    }

    #[test]
    fn tests_share_their_quads_and_each_has_those_of_an_interval() {
        let rules = ComparisonRules {
            better: Better::Less,
            level: Level::FIVE_PERCENT,
            effect: 0.01,
            quads_max: 60,
            has_losses_measured: false,
            guards: Vec::new(),
            noise: Vec::new(),
        };
        for (quads, tests, of_one) in
            [(200, 5, 40), (1_000, 5, 60), (50, 5, 16), (9, 5, 9), (0, 5, 0), (40, 0, 40)]
        {
            assert_eq!(one_of(quads, tests, &rules), of_one, "{quads} of {tests}");
        }
        let claim = of_claim(&rules, 2, true);
        assert!(claim.has_losses_measured && !of_claim(&rules, 2, false).has_losses_measured);
        assert_eq!((claim.level.alpha(), one_of(30, 2, &claim)), (0.025, 17));
    }

    #[test]
    fn what_was_cut_short_is_shown_at_no_level_and_leaves_no_share() {
        let whole = || test(0.04, -0.02, Verdict::Open);
        let mut failed = test(0.04, -0.02, Verdict::Open);
        failed.failed = Some("exit status: 3".into());
        let mut late = test(0.04, -0.02, Verdict::Open);
        late.looks[0].interval = None;
        let short = test(0.001, -0.02, Verdict::CutShort);
        let mut claims = vec![whole(), failed, late, short];
        let none = shown(&claims, 4, 0.05);
        assert_eq!(none, [false; 4]);
        settle(&mut claims, &none, (4, 0.05), Better::Less);
        assert_eq!(claims[3].verdict, Verdict::CutShort);
        // Not even at the level of a claim that is alone.
        for claim in claims.chunks(1).skip(1) {
            assert_eq!(shown(claim, 1, 0.05), [false], "{claim:?}");
        }
        assert_eq!(shown(&claims[..1], 1, 0.05), [true]);
    }

    #[test]
    fn a_claim_that_others_leave_their_share_to_is_shown() {
        // Against stock it was open at 2.5 %; the rival's being shown leaves it all of 5 %.
        let mut claims = vec![test(0.04, -0.02, Verdict::Open), test(0.01, -0.02, Verdict::Better)];
        let first = shown(&claims[..1], 2, 0.05);
        assert_eq!(first, [false, false]);
        let both = shown(&claims, 2, 0.05);
        settle(&mut claims, &both, (2, 0.05), Better::Less);
        assert_eq!(claims[0].verdict, Verdict::Better);
        // The interval is of the level at which it was open, and has zero in it.
        assert_eq!((claims[0].shown_at, claims[1].shown_at), (Some(0.05), None));
        assert!(!text::tested(&claims[0]).contains("from"), "{}", text::tested(&claims[0]));
        assert!(text::tested(&claims[1]).contains("from"), "{}", text::tested(&claims[1]));
        // With the other sign it is shown to be worse, and a guard's word stays.
        let mut claims = vec![
            test(0.04, 0.02, Verdict::Open),
            test(0.001, -0.02, Verdict::Alarm("errors".into())),
        ];
        let both = shown(&claims, 2, 0.05);
        settle(&mut claims, &both, (2, 0.05), Better::Less);
        assert_eq!(claims[0].verdict, Verdict::Worse);
        assert_eq!(claims[1].verdict, Verdict::Alarm("errors".into()));
    }
}
