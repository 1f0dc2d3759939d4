//! What a person reads of a comparison.

use super::options::{AbOptions, QUADS_MAX};
use super::outcome::Outcome;
use crate::terminal::style;
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_report::{grid_within, wrap};
use tailwater_tune::ab::{Better, Comparison, ComparisonRules, Forecast, Look, Verdict};

/// Where no terminal says how wide it is.
const WIDTH: u16 = 100;

/// A logarithm of a ratio as a change.
pub(in crate::tune) fn change(log_ratio: f64) -> String {
    format!("{:+.2} %", log_ratio.exp_m1() * 100.0)
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// What is fixed before the first block.
pub(super) fn rules(rules: &ComparisonRules, options: &AbOptions, metric: &str) -> String {
    let way = match rules.better {
        Better::Less => "less",
        Better::More => "more",
    };
    let mut lines = vec![
        format!(
            "Compared is {metric}, of which {way} is better. A difference of any size may be found; the test is sized for {}.",
            percent(options.effect)
        ),
        format!(
            "One block of B on trial, a pilot of {} quads, then at most {} quads within {}; four blocks each, their order by \
             coin.",
            options.pilot,
            rules.quads_max,
            super::for_people(options.time)
        ),
        format!(
            "A difference that is none is found in {} of all tests at most, whenever they end.",
            percent(options.level)
        ),
    ];
    for guard in &rules.guards {
        let tolerated = percent(guard.tolerated.exp_m1());
        lines.push(format!(
            "It ends when {} is shown to be more than {tolerated} worse.",
            guard.name
        ));
    }
    for rule in &rules.noise {
        lines.push(format!(
            "A quad is set aside when {} of one block is above {}.",
            rule.name,
            percent(rule.max)
        ));
    }
    lines.join("\n")
}

/// Whether the effect that matters would hardly be found.
pub(super) fn is_weak(forecast: &Forecast, rules: &ComparisonRules) -> bool {
    forecast.smallest_effect.is_none_or(|smallest| smallest > rules.effect)
}

pub(super) fn forecast(forecast: &Forecast, rules: &ComparisonRules, quad: Duration) -> String {
    let smallest = match forecast.smallest_effect {
        Some(effect) => format!("{} would be found in four of five tests", change(effect)),
        None => "no effect would be found in four of five tests".into(),
    };
    let median = forecast.median_quads.map_or_else(String::new, |quads| {
        let time = super::for_people(quad * quads);
        format!(" (half of them within {quads} quads, {time})")
    });
    format!(
        "the pilot says: with {} quads of {} {smallest}; {} in {:.0} % of them{median}",
        forecast.quads,
        super::for_people(quad),
        change(rules.effect),
        forecast.power * 100.0
    )
}

/// For the progress bar.
pub(super) fn standing(comparison: &Comparison) -> String {
    comparison.looks().last().map_or_else(String::new, |look| {
        format!("{} so far, p = {:.3}", change(look.mean), look.p_value)
    })
}

/// Where a test stood when it ended too soon.
pub(super) fn so_far(comparison: &Comparison) -> String {
    match comparison.looks().last() {
        Some(look) => format!("the result holds the {} quads before", look.quads),
        None => "no quad was measured".into(),
    }
}

pub(super) fn of(outcome: &Outcome<'_>) -> String {
    let width = style().width.unwrap_or(WIDTH);
    let sentences = [set_aside(outcome), cut_short(outcome), verdict(outcome), Some(next(outcome))];
    let sentences = sentences.into_iter().flatten().map(|text| wrap(&text, width.into()));
    let sentences: Vec<String> = sentences.collect();
    // A command is not wrapped, so that it can be copied.
    let keeping: String = kept(outcome).iter().map(|line| format!("\n  {line}")).collect();
    let guards = guards(outcome, width);
    format!("{}\n\n{guards}\n\n{}{keeping}", arms(outcome), sentences.join("\n"))
}

/// What to do after the verdict.
fn next(outcome: &Outcome<'_>) -> String {
    match &outcome.verdict {
        Verdict::Better if outcome.keeping.is_empty() => {
            "To keep B, start the program without the knobs.".into()
        }
        Verdict::Better => "To keep B:".into(),
        Verdict::Worse => "Keep A: nothing is to be typed, as every knob is what it was.".into(),
        Verdict::Alike => format!(
            "Keep A. To look for less than {}, type the same with a smaller --effect and four times the --quads for each \
             half of it.",
            percent(outcome.effect_that_matters)
        ),
        Verdict::Alarm(_) => {
            "Keep A. Where so much worse may be, type the same with a larger --tolerate.".into()
        }
        Verdict::Noisy => {
            "Nothing is decided. Stop what else runs here, or type the same with a larger --steal-max.".into()
        }
        Verdict::Open => format!(
            "Nothing is decided, so keep A. For a new test, with a level of its own, type the same with {}.",
            larger(outcome)
        ),
    }
}

/// The flags of a test that finds the effect that matters in four of five cases, as the noise of the pilot has it.
fn larger(outcome: &Outcome<'_>) -> String {
    let Forecast { quads, smallest_effect, .. } = outcome.forecast;
    let wanted = outcome.effect_that_matters.ln_1p();
    // What can be found shrinks with the root of the quads. A test that found as little already was short of luck.
    let times = smallest_effect.map_or(4.0, |smallest| (smallest / wanted).powi(2).max(2.0));
    let more = (f64::from(quads) * times).ceil().min(f64::from(QUADS_MAX));
    let measured = (outcome.pilot.len() + outcome.quads.len()).max(1);
    let each = outcome.seconds / measured as f64;
    let all = each * (more + outcome.pilot.len() as f64);
    format!("--quads {more:.0} --time {:.0}min", (all / 60.0).ceil().max(1.0))
}

/// The lines that keep what was found to be better.
fn kept<'a>(outcome: &'a Outcome<'_>) -> &'a [String] {
    if outcome.verdict == Verdict::Better { &outcome.keeping } else { &[] }
}

fn arms(outcome: &Outcome<'_>) -> String {
    let setting = |of: &BTreeMap<String, String>| {
        of.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    };
    format!(
        "A: {}\nB: {}\n{} of {}",
        setting(&outcome.a),
        setting(&outcome.b),
        outcome.metric,
        outcome.target
    )
}

pub(super) fn verdict(outcome: &Outcome<'_>) -> Option<String> {
    let found = outcome.looks.last().map(|look| size(outcome, look));
    // Guards and noise may end it before a quad counts.
    let found = match (&outcome.verdict, found) {
        (_, Some(found)) => found,
        (Verdict::Alarm(_) | Verdict::Noisy, None) => "unknown, as no quad counts".into(),
        _ => return Some("No quad counts, so nothing is known.".into()),
    };
    Some(match &outcome.verdict {
        Verdict::Better => format!("B is better: {found}."),
        Verdict::Worse => format!("B is worse: {found}."),
        Verdict::Alike => format!(
            "They differ by less than {}, the effect that matters: {found}.",
            percent(outcome.effect_that_matters)
        ),
        Verdict::Alarm(guard) => {
            format!(
                "A guard ended it: {guard} of B is worse than tolerated. The quantity: {found}."
            )
        }
        Verdict::Noisy => "Most quads were set aside: the machine is too noisy.".into(),
        Verdict::Open => format!(
            "Nothing is shown, which is no proof that they are alike: {found}.{}",
            could_have_found(outcome)
        ),
    })
}

fn size(outcome: &Outcome<'_>, look: &Look) -> String {
    let Look { quads, p_value, mean, interval, .. } = look;
    let sure = percent(1.0 - outcome.level);
    let interval = interval.map_or_else(
        || "no interval after so few quads".to_owned(),
        |(low, high)| format!("{sure} interval from {} to {}", change(low), change(high)),
    );
    format!(
        "{} {} ({interval}), p = {p_value:.4} after {quads} quads",
        outcome.metric,
        change(*mean)
    )
}

fn could_have_found(outcome: &Outcome<'_>) -> String {
    match outcome.forecast.smallest_effect {
        Some(effect) => {
            let quads = outcome.forecast.quads;
            format!(
                " An effect of {} would have been found in four of five tests of {quads} quads.",
                change(effect)
            )
        }
        None => String::new(),
    }
}

fn set_aside(outcome: &Outcome<'_>) -> Option<String> {
    let aside: Vec<&str> =
        outcome.quads.iter().filter_map(|quad| quad.set_aside.as_deref()).collect();
    let last = aside.last()?;
    let (count, all) = (aside.len(), outcome.quads.len());
    Some(format!("{count} of {all} quads were set aside whole, the last because {last}."))
}

fn cut_short(outcome: &Outcome<'_>) -> Option<String> {
    outcome.cut_short.as_ref().map(|why| format!("It ended early: {why}."))
}

fn guards(outcome: &Outcome<'_>, width: u16) -> String {
    let row = |guard: &super::outcome::GuardOutcome| {
        vec![
            guard.name.clone(),
            change(guard.mean),
            percent(guard.tolerated),
            format!("{:.3}", guard.p_value),
        ]
    };
    let rows: Vec<Vec<String>> = outcome.guards.iter().map(row).collect();
    let heads = ["guard", "B to A", "tolerated", "p that it is worse"];
    grid_within(&heads, 1, &rows, Some(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_and_shares_no_trailing_zeros() {
        assert_eq!(change(1.05_f64.ln()), "+5.00 %");
        assert_eq!(change(0.98_f64.ln()), "-2.00 %");
        assert_eq!(percent(0.05), "5 %");
        assert_eq!(percent(0.005), "0.5 %");
    }
}
