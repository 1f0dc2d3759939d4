//! What a person reads of a comparison.

use super::super::bench::{AGAIN_MAX, Void};
use super::super::dial::to_keep;
use super::super::targets::Target;
use super::options::{AbOptions, QUADS_MAX};
use super::outcome::Outcome;
use crate::terminal::style;
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_core::duration::format_duration;
use tailwater_report::{grid_within, wrap};
use tailwater_stats::anytime::Level;
use tailwater_tune::ab::{Better, Comparison, ComparisonRules, Forecast, Further, Look, Verdict};

/// Where no terminal says how wide it is.
const WIDTH: u16 = 100;

/// A logarithm of a ratio as a change.
pub(in crate::tune) fn change(log_ratio: f64) -> String {
    format!("{:+.2} %", log_ratio.exp_m1() * 100.0)
}

pub(in crate::tune) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// What is fixed before the first block.
pub(super) fn rules(rules: &ComparisonRules, options: &AbOptions, target: &Target) -> String {
    let way = match rules.better {
        Better::Less => "less",
        Better::More => "more",
    };
    let mut lines = vec![
        format!(
            "Compared is {}, of which {way} is better. A difference of any size may be found; the test is sized for {}.",
            target.metric(),
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
    lines.push(format!(
        "A block whose generator says that it was later than {} (p99) is void, and made again {AGAIN_MAX} times at most.",
        format_duration(target.late_max())
    ));
    lines.join("\n")
}

pub(in crate::tune) fn forecast(
    forecast: &Forecast,
    rules: &ComparisonRules,
    quad: Duration,
) -> String {
    let smallest = match forecast.smallest_effect {
        Some(effect) => format!("{} would be found in four of five tests", change(effect)),
        None if forecast.quads < rules.level.quads_for_interval() => {
            let least = rules.level.quads_for_interval();
            format!("no gain can be claimed, as its interval takes {least}")
        }
        None => "no effect would be found in four of five tests".into(),
    };
    let median = forecast.median_quads.map_or_else(String::new, |quads| {
        let time = super::for_people(quad * quads);
        format!(" (half of them within {quads} quads, {time})")
    });
    format!(
        "with {} quads of {} {smallest}; {} in {:.0} % of them{median}",
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
    let sentences = [
        set_aside(outcome),
        void(outcome),
        cut_short(outcome),
        verdict(outcome),
        Some(next(outcome)),
    ];
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
        Verdict::Better => to_keep("B", &outcome.keeping),
        Verdict::Worse => to_keep("A", &outcome.keeping_a),
        Verdict::Alike => format!("Keep what is there. {}", closer(outcome)),
        Verdict::Alarm(_) => format!(
            "Where so much worse may be, type the same with a larger --tolerate. {}",
            to_keep("A", &outcome.keeping_a)
        ),
        Verdict::Noisy => {
            "Nothing is decided. Stop what else runs here, or type the same with a larger --steal-max.".into()
        }
        Verdict::CutShort if outcome.failed => {
            "Nothing is decided, so keep what is there. Mend what ended it, and type the same.".into()
        }
        Verdict::CutShort | Verdict::Open => {
            format!("Nothing is decided, so keep what is there. {}", again(outcome))
        }
    }
}

/// A test of half the effect, where one was shown to be none.
fn closer(outcome: &Outcome<'_>) -> String {
    let half = outcome.effect_that_matters / 2.0;
    let took = outcome.looks.last().map_or(0, |look| look.quads);
    // An interval shrinks with the root of the quads, too.
    larger(outcome, half, 4 * took).map_or_else(
        |why| why,
        |flags| {
            format!(
                "To look for less than {}, type the same with --effect {} {flags}",
                percent(outcome.effect_that_matters),
                percent(half).replace(' ', "")
            )
        },
    )
}

/// A new test of the effect that matters.
fn again(outcome: &Outcome<'_>) -> String {
    // A test that could have found the effect was short of luck.
    let twice = 2 * outcome.forecast.quads;
    larger(outcome, outcome.effect_that_matters, twice).map_or_else(
        |why| why,
        |flags| format!("For a new test, with a level of its own, type the same with {flags}"),
    )
}

/// The flags of a test that finds an effect in four of five cases, as the noise of the pilot has it. The error says that no
/// number of quads is enough, and what to do instead.
fn larger(outcome: &Outcome<'_>, effect: f64, quads_min: u32) -> Result<String, String> {
    // A gain is claimed with its interval only.
    let for_interval = Level::new(outcome.level).map_or(0, Level::quads_for_interval);
    let bounds = (quads_min.max(for_interval), QUADS_MAX);
    let (more, guess) = match outcome.forecast.further(effect.ln_1p(), bounds) {
        Further::Quads(more) => (more, ""),
        Further::Guess(more) => {
            (more, " The pilot did not say what can be found: so many may be too few.")
        }
        Further::TooMany(finds) => {
            return Err(format!(
                "To find {}, more than {QUADS_MAX} quads are needed, the most of --quads; so many find {} in four of five \
                 tests. Give longer blocks or a larger --effect.",
                percent(effect),
                change(finds)
            ));
        }
    };
    let measured = (outcome.pilot.len() + outcome.quads.len()).max(1);
    let each = outcome.seconds / measured as f64;
    let all = f64::from(more) + outcome.pilot.len() as f64;
    let minutes = (each * all / 60.0).ceil().max(1.0);
    Ok(format!(
        "--quads {more} --time {minutes:.0}min --accept-weak. Without the last, a pilot that is noisier than this one \
         ends it.{guess}"
    ))
}

/// The lines that keep what was found to be better.
fn kept<'a>(outcome: &'a Outcome<'_>) -> &'a [String] {
    match outcome.verdict {
        Verdict::Better => &outcome.keeping,
        Verdict::Worse | Verdict::Alarm(_) => &outcome.keeping_a,
        Verdict::Alike | Verdict::CutShort | Verdict::Noisy | Verdict::Open => &[],
    }
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
        Verdict::CutShort => {
            format!(
                "It was cut short before its interval, so nothing is claimed. Seen so far: {found}."
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

/// Blocks that were made again.
fn void(outcome: &Outcome<'_>) -> Option<String> {
    let (before, Void { a, b }) = (outcome.void_before, outcome.void);
    (before + a + b > 0).then(|| {
        format!(
            "Blocks that were void, as their generator was late: {a} of A, {b} of B, and {before} of trial and pilot."
        )
    })
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
    use tailwater_stats::result::Manifest;
    use tailwater_tune::ab::{Block, MeasuredQuad};

    #[test]
    fn changes_have_a_sign_and_shares_no_trailing_zeros() {
        assert_eq!(change(1.05_f64.ln()), "+5.00 %");
        assert_eq!(change(0.98_f64.ln()), "-2.00 %");
        assert_eq!(percent(0.05), "5 %");
        assert_eq!(percent(0.005), "0.5 %");
    }

    const BLOCK: Block =
        Block { metric: 1.0, guards: Vec::new(), noise: Vec::new(), invalid: None, void: 0 };
    const QUAD: MeasuredQuad = MeasuredQuad {
        order: "ABBA",
        blocks: [BLOCK; 4],
        effect: None,
        guards: Vec::new(),
        invalid: 0.0,
        set_aside: None,
    };
    static QUADS: [MeasuredQuad; 16] = [QUAD; 16];

    /// The effect that matters is 1 %. Four quads of the pilot and 16 of the test took ten seconds each.
    fn outcome(verdict: Verdict, smallest_of_wanted: Option<f64>, looks: &[Look]) -> Outcome<'_> {
        Outcome {
            manifest: Manifest::default(),
            target: "x".into(),
            metric: "/x".into(),
            better: Better::Less,
            a: BTreeMap::new(),
            b: BTreeMap::new(),
            seed: 1,
            level: 0.05,
            effect_that_matters: 0.01,
            quads_max: 16,
            verdict,
            cut_short: None,
            failed: false,
            void: Void::default(),
            void_before: 0,
            guards: Vec::new(),
            noise_rules: &[],
            forecast: Forecast {
                quads: 16,
                noise: 0.01,
                smallest_effect: smallest_of_wanted.map(|times| times * 0.01_f64.ln_1p()),
                power: 0.5,
                median_quads: None,
            },
            looks,
            look_seconds: &[],
            pilot: &QUADS[..4],
            quads: &QUADS,
            seconds: 200.0,
            keeping: vec!["b".into()],
            keeping_a: Vec::new(),
        }
    }

    #[test]
    fn a_new_test_is_as_long_as_the_pilot_says() {
        let next = |times| next(&outcome(Verdict::Open, times, &[]));
        let of = |quads, minutes| {
            format!(
                "Nothing is decided, so keep what is there. For a new test, with a level of its own, type the same with \
                 --quads {quads} --time {minutes}min --accept-weak. Without the last, a pilot that is noisier than this \
                 one ends it."
            )
        };
        // 2.9² × 16 = 134.6, and 139 with the pilot's at ten seconds each.
        assert_eq!(next(Some(2.9)), of(135, 24));
        assert_eq!(next(Some(0.5)), of(32, 6));
        let guess = " The pilot did not say what can be found: so many may be too few.";
        assert_eq!(next(None), of(64, 12) + guess);
        // 30² × 16 = 14,400; 30 × √(16 ÷ 10,000) = 1.2.
        assert_eq!(
            next(Some(30.0)),
            "Nothing is decided, so keep what is there. To find 1 %, more than 10000 quads are needed, the most of --quads; \
             so many find +1.20 % in four of five tests. Give longer blocks or a larger --effect."
        );
    }

    #[test]
    fn a_closer_look_has_quads_and_time_for_half_the_effect() {
        let look = Look { quads: 12, evidence: 1.0, p_value: 1.0, mean: 0.0, interval: None };
        let next = |times| next(&outcome(Verdict::Alike, times, std::slice::from_ref(&look)));
        let of = |quads, minutes| {
            format!(
                "Keep what is there. To look for less than 1 %, type the same with --effect 0.5% --quads {quads} --time \
                 {minutes}min --accept-weak. Without the last, a pilot that is noisier than this one ends it."
            )
        };
        // The logarithm of half an effect is a little more than half of its logarithm: 1.45 times is 2.893.
        assert_eq!(next(Some(1.45)), of(134, 23));
        // Four times the 12 that it took.
        assert_eq!(next(Some(0.3)), of(48, 9));
    }

    #[test]
    fn where_a_is_not_what_is_there_it_is_to_be_typed() {
        let there = |verdict| outcome(verdict, Some(1.0), &[]);
        let elsewhere = |verdict| Outcome { keeping_a: vec!["a".into()], ..there(verdict) };
        let nothing = "Keep A: nothing is to be typed, as every knob is what it was.";
        for verdict in [Verdict::Worse, Verdict::Alarm("/errors".into())] {
            assert!(next(&there(verdict.clone())).ends_with(nothing), "{verdict:?}");
            assert!(of(&elsewhere(verdict.clone())).ends_with("To keep A:\n  a"), "{verdict:?}");
        }
        assert!(of(&elsewhere(Verdict::Better)).ends_with("To keep B:\n  b"));
        for verdict in [Verdict::Alike, Verdict::CutShort, Verdict::Open, Verdict::Noisy] {
            assert!(!of(&elsewhere(verdict.clone())).contains("Keep A"), "{verdict:?}");
        }
    }
}
