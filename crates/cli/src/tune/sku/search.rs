//! The search itself: trials, the pilot, screening, tests, and confirming. What was found is kept whatever ends it.

use super::super::ab::{self, Budget, Compared};
use super::super::bench::Bench;
use super::super::dial::Setting;
use super::super::tell;
use super::file::{LeftOut, Wanted};
use super::found::{Found, Tested};
use super::screen::screen;
use super::text;
use crate::failure::Failure;
use crate::machine;
use std::time::Instant;
use tailwater_stats::anytime::Level;
use tailwater_stats::holm;
use tailwater_tune::ab::{Better, ComparisonRules, Pilot, Verdict};

/// The share of the time that is kept for confirming.
const CONFIRMING: f64 = 0.35;
/// The share of the time after which no more values are tried one by one: what fails later ends its own test only.
const TRIALS: f64 = 0.1;

/// Hears of all that is found so far, after each step that takes long.
pub(super) type Keep<'k> = &'k dyn Fn(&Found) -> Result<(), Failure>;

/// Values that can be measured, of each knob.
type Values = [Vec<String>];

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
    let (values, left_out) = tried(bench, wanted)?;
    let pilot = ab::pilot(bench, &wanted.rules, &wanted.stock, &budget)?;
    let quads = wanted.rules.quads_max.min(bench.quads_left());
    let forecast = ab::forecast(&pilot, &wanted.rules, quads, &budget, bench)?;
    let mut found = Found::new(wanted, manifest, (forecast, left_out));
    let ended = go_on(bench, wanted, (&values, &pilot), &mut found, keep).err();
    found.cut_short = ended.as_ref().map(ToString::to_string);
    found.seconds = began.elapsed().as_secs_f64();
    Ok((found, ended))
}

/// Plays each value once, and leaves out those that cannot be measured: one that is wrong costs a block, and not all
/// that was found before its turn.
fn tried(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
) -> Result<(Vec<Vec<String>>, Vec<LeftOut>), Failure> {
    let until = Instant::now() + wanted.time.mul_f64(TRIALS);
    let (mut values, mut left_out) =
        (vec![Vec::new(); wanted.dials.len()], wanted.left_out.clone());
    for (at, dial) in wanted.dials.iter().enumerate() {
        for value in &wanted.values[at] {
            let mut setting = wanted.stock.clone();
            setting[at].clone_from(value);
            let tried = if Instant::now() < until { bench.trial(&setting) } else { Ok(()) };
            match tried {
                Ok(()) => values[at].push(value.clone()),
                Err(failure) if bench.is_over(&failure) => return Err(failure),
                Err(failure) => {
                    let because = failure.to_string();
                    tell(&format!("{}={value} is left out: {because}", dial.name));
                    let (knob, value) = (dial.name.clone(), value.clone());
                    left_out.push(LeftOut { knob, value, because });
                }
            }
        }
    }
    // The last is one of these trials.
    match left_out.last() {
        Some(first) if values.iter().all(Vec::is_empty) => Err(Failure::work(format!(
            "no value can be measured, {}={} for this reason: {}",
            first.knob, first.value, first.because
        ))),
        _ => Ok((values, left_out)),
    }
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
    found.untried = untried(wanted, values, found);
    keep(found)?;
    climb(bench, wanted, (values, pilot), found, keep)?;
    bench.until = until;
    confirm(bench, wanted, pilot, found, keep)
}

/// Values of knobs that screening left out, but for those that it played.
fn untried(wanted: &Wanted, values: &Values, found: &Found) -> Vec<String> {
    let left = found.screening.knobs.iter().filter(|of| !of.kept);
    let others = left.flat_map(|of| values[of.at].iter().skip(1).map(move |value| (of.at, value)));
    others.map(|(at, value)| format!("{}={value}", wanted.dials[at].name)).collect()
}

/// Tests each survivor's values against what was adopted so far, the most promising first.
fn climb(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    (values, pilot): (&Values, &Pilot),
    found: &mut Found,
    keep: Keep<'_>,
) -> Result<(), Failure> {
    let survivors = found.screening.survivors();
    let all: Vec<(usize, &String)> =
        survivors.iter().flat_map(|at| values[*at].iter().map(move |value| (*at, value))).collect();
    for (number, (at, value)) in all.iter().enumerate() {
        if bench.quads_left() == 0 {
            tell("the time for tests is over; what is left is for confirming");
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
        let (test, ended) = test(bench, (&wanted.rules, pilot), arms, number as u64)?;
        tell(&text::tested(&test));
        if test.verdict == Verdict::Better {
            found.sku = tried;
        }
        found.tested.push(test);
        keep(found)?;
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
        let level = alpha / (rivals.len() - shown.count()) as f64;
        let rules = ComparisonRules {
            level: Level::new(level).map_err(Failure::work)?,
            ..wanted.rules.clone()
        };
        let arms = (name.clone(), setting, &sku);
        // Apart from the numbers of the tests before.
        let number = u64::from(u32::MAX) + number as u64;
        let (test, ended) = test(bench, (&rules, pilot), arms, number)?;
        tell(&text::tested(&test));
        found.confirmed.push(test);
        let shown = self::shown(&found.confirmed, rivals.len(), alpha);
        settle(&mut found.confirmed, &shown, (rivals.len(), alpha), wanted.rules.better);
        keep(found)?;
        ended.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Which claims are shown among so many, of which the later ones may not be tested yet.
fn shown(confirmed: &[Tested], claims: usize, alpha: f64) -> Vec<bool> {
    let mut p_values: Vec<f64> = confirmed.iter().map(p_value).collect();
    p_values.resize(claims, 1.0);
    holm(&p_values, alpha)
}

/// One where nothing may be claimed: what ended before its interval, or by a block that failed.
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
    number: u64,
) -> Result<(Tested, Option<Failure>), Failure> {
    let seed = bench.next_seed().wrapping_add(number << 32);
    let Compared { comparison, seconds, ended, timed_out } =
        ab::compare(bench, rules, pilot, (a, b), seed)?;
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
        failed: ended.as_ref().map(ToString::to_string),
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
    use tailwater_tune::ab::Look;

    fn test(p_value: f64, mean: f64, verdict: Verdict) -> Tested {
        let interval = Some((mean - 0.03, mean + 0.03));
        let look = Look { quads: 20, evidence: 1.0 / p_value, p_value, mean, interval };
        Tested::of(verdict, 0.025, look)
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
