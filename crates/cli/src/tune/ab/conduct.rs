//! The pilot and the quads, within their time.

use super::super::bench::{Bench, Void};
use super::super::dial::Setting;
use super::super::tell;
use super::conducted::{Compared, Conducted};
use super::text;
use crate::failure::Failure;
use crate::progress::Progress;
use std::time::Instant;
use tailwater_stats::anytime::SettingError;
use tailwater_tune::ab::{Comparison, ComparisonRules, Forecast, Pilot, Verdict};

/// How much is measured.
pub(in crate::tune) struct Budget {
    pub(in crate::tune) pilot: u32,
    pub(in crate::tune) accept_weak: bool,
    pub(in crate::tune) seed: u64,
}

/// What to give where the time is too short, with the flags of both verbs that measure so.
const MORE_TIME: &str = "more time (--time of tune ab, --within of tune sku)";

/// Measures until there is a verdict, the quads are spent, or the time is.
///
/// # Errors
/// When the pilot does not come to its end, or says that nothing would be found.
pub(in crate::tune) fn conduct(
    bench: &mut Bench<'_>,
    rules: &ComparisonRules,
    (a, b): (&Setting, &Setting),
    budget: &Budget,
) -> Result<Conducted, Failure> {
    // A starts with the pilot, B would only after it: an allocator that is missing would cost all of that time.
    bench.trial(b).map_err(|failure| failure.and("it was B's trial before the pilot"))?;
    let pilot = pilot(bench, rules, a, budget)?;
    let quads = rules.quads_max.min(bench.quads_left());
    let forecast = forecast(&pilot, rules, quads, budget, bench)?;
    let void_before = bench.void;
    let all_of_it = bench.until;
    let compared = compare(bench, rules, &pilot, (a, b), (budget.seed, all_of_it))?;
    Ok(Conducted { pilot, forecast, compared, void_before })
}

/// Measures quads until there is a verdict, or no more may be measured: its share of the time ends then. What has found B better
/// lacks its interval alone, and goes on beyond its share.
pub(in crate::tune) fn compare(
    bench: &mut Bench<'_>,
    rules: &ComparisonRules,
    pilot: &Pilot,
    (a, b): (&Setting, &Setting),
    (seed, share): (u64, Instant),
) -> Result<Compared, Failure> {
    let mut comparison = Comparison::new(rules, pilot, seed).map_err(Failure::work)?;
    let quads = rules.quads_max.min(bench.quads_until(share)).max(1);
    let progress = Progress::new(4 * u64::from(quads));
    let (began, mut seconds, mut void) = (Instant::now(), Vec::new(), Void::default());
    let (mut ended, mut timed_out) = (None, false);
    while let Some(order) = comparison.next_order() {
        let is_found = comparison.verdict() == Verdict::CutShort;
        if bench.quads_until(if is_found { bench.until } else { share }) == 0 {
            timed_out = true;
            break;
        }
        progress.say(&text::standing(&comparison));
        match bench.quad(order, (a, b), &mut void, &|| progress.step()) {
            Ok(blocks) => {
                comparison.take(order, blocks);
                // A quad that was set aside is not looked at.
                seconds.resize(comparison.looks().len(), began.elapsed().as_secs_f64());
            }
            Err(failure) => {
                ended = Some(failure.and(&text::so_far(&comparison)));
                break;
            }
        }
    }
    Ok(Compared { comparison, seconds, ended, timed_out, void })
}

/// Quads in which both arms are A.
pub(in crate::tune) fn pilot(
    bench: &mut Bench<'_>,
    rules: &ComparisonRules,
    a: &Setting,
    budget: &Budget,
) -> Result<Pilot, Failure> {
    let mut pilot = Pilot::new(budget.seed);
    let progress = Progress::new(4 * u64::from(budget.pilot));
    progress.say("pilot: both arms are the same");
    for quad in 0..budget.pilot {
        if quad > 0 && bench.quads_left() == 0 {
            let time = super::for_people(bench.quad_time());
            return Err(Failure::usage(format!(
                "the time is over within the pilot, of which a quad takes {time}; give {MORE_TIME}, or shorter blocks"
            )));
        }
        let order = pilot.throw();
        let blocks = bench.quad(order, (a, a), &mut Void::default(), &|| progress.step())?;
        pilot.take(rules, order, blocks);
    }
    Ok(pilot)
}

/// What can be found, told before anything is tried.
fn forecast(
    pilot: &Pilot,
    rules: &ComparisonRules,
    quads: u32,
    budget: &Budget,
    bench: &Bench<'_>,
) -> Result<Forecast, Failure> {
    let forecast = promise(pilot, rules, quads, budget.seed)?;
    tell(&format!("the pilot says: {}", text::forecast(&forecast, rules, bench.quad_time())));
    if forecast.is_weak(rules) && !budget.accept_weak {
        return Err(Failure::work(
            "so weak a test is not begun: give longer blocks, more quads or more time, a larger effect, or \
             --accept-weak",
        ));
    }
    Ok(forecast)
}

/// What so many quads can find.
///
/// # Errors
/// Where the pilot cannot say, or there is no quad.
pub(in crate::tune) fn promise(
    pilot: &Pilot,
    rules: &ComparisonRules,
    quads: u32,
    seed: u64,
) -> Result<Forecast, Failure> {
    let mut set_aside = pilot.quads().iter().filter_map(|quad| quad.set_aside.as_deref());
    if 2 * pilot.effects().len() < pilot.quads().len() {
        let why = set_aside.next_back().unwrap_or_default();
        return Err(Failure::work(format!(
            "the machine is too noisy: most quads of the pilot were set aside, the last because {why}; end what else runs \
             here, or come back in a quieter hour"
        )));
    }
    if quads == 0 {
        return Err(Failure::usage(format!("no time is left after the pilot; give {MORE_TIME}")));
    }
    pilot.forecast(rules, quads, seed).map_err(|error| match error {
        SettingError::TooFew { .. } => {
            Failure::usage(format!("{error}; give more quads, or {MORE_TIME}"))
        }
        _ => Failure::work(
            "every block of the pilot measured the same: there is no noise to compare with, so the quantity does not \
             depend on what happens; give another by --metric",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::anytime::Level;
    use tailwater_tune::ab::Better;

    #[test]
    fn where_no_time_is_left_the_flags_that_give_more_are_told() {
        let rules = ComparisonRules {
            better: Better::Less,
            level: Level::FIVE_PERCENT,
            effect: 0.01,
            quads_max: 40,
            has_losses_measured: false,
            guards: Vec::new(),
            noise: Vec::new(),
        };
        let why = promise(&Pilot::new(1), &rules, 0, 1).expect_err("no quad").to_string();
        assert!(why.ends_with("give more time (--time of tune ab, --within of tune sku)"), "{why}");
    }
}
