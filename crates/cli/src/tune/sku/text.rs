//! What a person reads of a search.

use super::super::ab::{QUADS_MAX, change, percent};
use super::super::bench::Void;
use super::super::dial::{Setting, keeping, to_keep};
use super::super::machine::Root;
use super::file::{LeftOut, Wanted};
use super::found::{Found, Guarded, Tested};
use super::screen::{Screened, Screening};
use super::trials::in_words;
use crate::terminal::style;
use std::time::Duration;
use tailwater_report::{grid_within, wrap};
use tailwater_tune::ab::{Choice, ComparisonRules, Conclusion, SetAside, Verdict};

/// Where no terminal says how wide it is.
const WIDTH: u16 = 100;

/// A line on what screening kept.
pub(super) fn screened(screening: &Screening) -> String {
    if let Some(why) = &screening.skipped {
        return format!("there is no screening, and every knob is tested: {why}");
    }
    let all = &screening.knobs;
    let kept: Vec<&str> = all.iter().filter(|of| of.kept).map(|of| of.knob.as_str()).collect();
    let said = match kept.as_slice() {
        [] => "screening kept no knob".into(),
        some => format!("screening kept {} of {}: {}", some.len(), all.len(), some.join(", ")),
    };
    let times = match screening.replicates {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let why = screening.cut_short.as_ref();
    said + &why.map_or_else(String::new, |why| format!("; played {times} and no more: {why}"))
}

/// A line on one test.
pub(super) fn tested(test: &Tested) -> String {
    let Void { a, b } = test.void;
    let void =
        if a + b > 0 { format!(" ({a} blocks of A and {b} of B void)") } else { String::new() };
    let set_aside = test.conclusion.set_aside.as_ref().map_or_else(String::new, set_aside);
    format!("{}: {}{void}{set_aside}", test.name, outcome(&test.conclusion))
}

fn set_aside(SetAside { quads, last }: &SetAside) -> String {
    let quads = if *quads == 1 { "1 quad was".into() } else { format!("{quads} quads were") };
    format!("; {quads} set aside, the last because {last}")
}

/// What was tested against what.
pub(super) fn title(test: &Tested, found: &Found) -> String {
    if found.confirmed.iter().any(|of| std::ptr::eq(of, test)) {
        let what = if found.sku == found.stock { "stock" } else { "the soft SKU" };
        format!("{what} against {}", test.name)
    } else {
        test.name.clone()
    }
}

fn outcome(test: &Conclusion) -> String {
    let verdict = match (&test.failed, &test.verdict) {
        (Some(why), Verdict::Open) => return format!("not measured to its end: {why}"),
        (_, Verdict::CutShort) => return cut_short(test),
        (_, Verdict::Better) => "better".to_owned(),
        (_, Verdict::Worse) => "worse".into(),
        (_, Verdict::Alike) => "alike".into(),
        (_, Verdict::Alarm(guard)) => format!("alarm of {guard}"),
        (_, Verdict::Noisy) => "too noisy".into(),
        (None, Verdict::Open) if test.timed_out => "open, its time was over".into(),
        (None, Verdict::Open) => "open".into(),
    };
    format!("{verdict}{}", size(test))
}

/// What was seen before the end, of which nothing is claimed.
fn cut_short(test: &Conclusion) -> String {
    let why = test.failed.as_deref().map_or_else(String::new, |why| format!(": {why}"));
    let ended = match test {
        Conclusion { noisy: true, .. } => ", most of its quads were set aside",
        Conclusion { timed_out: true, .. } => ", its time was over",
        _ => "",
    };
    let seen = size(test);
    format!("cut short before its interval{ended}; so far{}{why}", seen.trim_start_matches(','))
}

fn size(test: &Conclusion) -> String {
    let Some(look) = test.last else { return String::new() };
    // Of a claim that is shown at a larger level than its interval's, the interval has zero in it.
    let interval = look.interval.filter(|_| test.shown_at.is_none());
    let sure = ((1.0 - test.level) * 1e6).round() / 1e4;
    let interval = interval.map_or_else(String::new, |(low, high)| {
        format!(" ({sure} % interval from {} to {})", change(low), change(high))
    });
    format!(", {}{interval} after {} quads", change(look.mean), look.quads)
}

pub(super) fn of(wanted: &Wanted, found: &Found, root: &Root) -> String {
    let width = style().width.unwrap_or(WIDTH);
    let mut parts = vec![found.title.clone(), format!("{} of {}", found.metric, found.target)];
    parts.push(wrap(&guarded(found), width.into()));
    parts.push(left_out(found));
    parts.push(if found.screening.knobs.is_empty() {
        String::new()
    } else {
        table_of_screening(found, width)
    });
    let tests: Vec<String> = found.tested.iter().map(tested).collect();
    parts.push(tests.join("\n"));
    parts.push(wrap(&limits(found), width.into()));
    let conclusion = conclusion(wanted, found);
    parts.push(format!("{}\n{}", wrap(&conclusion, width.into()), next(wanted, found, root)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// What to do after the claim. A command is not wrapped, so that it can be copied.
fn next(wanted: &Wanted, found: &Found, root: &Root) -> String {
    let stocks = wanted.dials.iter().map(|dial| dial.stock.clone()).zip(&found.stock);
    // A word of the command is what the file says that it is.
    let there: Vec<Option<String>> =
        stocks.map(|(here, said)| here.or(Some(said.clone()))).collect();
    let keep = |what: &str, setting: &Setting| {
        let lines = keeping(&wanted.dials, (setting, &there), root);
        let text = to_keep(what, &lines);
        lines.iter().fold(text, |text, line| format!("{text}\n  {line}"))
    };
    let claims: Vec<&Conclusion> = found.confirmed.iter().map(|test| &test.conclusion).collect();
    let choice = match changed(wanted, found).is_empty() {
        true => Choice::of_rivals(&claims),
        false => Choice::of(&claims),
    };
    match choice {
        Choice::Tested => keep("it", &found.sku),
        Choice::Stock => keep("stock", &found.stock),
        Choice::Rival(at) => {
            let rival = &found.confirmed[at];
            let rival_is = "which is shown to be better; guards do not watch rivals";
            keep(&format!("the rival {}, {rival_is}", rival.name), &rival.a)
        }
        Choice::Longer => {
            let within = minutes(wanted.time.mul_f64(2.0));
            format!("Keep stock. To decide, type the same with --within {within}min.")
        }
        Choice::Larger => larger(&wanted.rules, wanted.time, 1 + wanted.rivals.len()),
        Choice::Quieter => {
            "Keep stock. To decide, stop what else runs here, or write a larger steal_max in the file."
                .into()
        }
        Choice::Again => "Keep stock. To decide, mend what ended it, and type the same.".into(),
    }
}

/// The quads of a further search of so many claims, and time for as many.
fn larger(rules: &ComparisonRules, time: Duration, claims: usize) -> String {
    let had = rules.quads_max;
    let Some(quads) = rules.further_quads(claims, QUADS_MAX) else {
        return format!(
            "Keep stock. {had} quads are the most, and they did not decide: write a longer block in the file."
        );
    };
    let within = minutes(time.mul_f64((f64::from(quads) / f64::from(had)).max(2.0)));
    format!(
        "Keep stock. To decide, write quads = {quads} in the file, and type the same with --within {within}min."
    )
}

/// Begun ones are whole.
fn minutes(time: Duration) -> u64 {
    (time.as_secs_f64() / 60.0).ceil().max(1.0) as u64
}

fn table_of_screening(found: &Found, width: u16) -> String {
    let of_all = &found.screening;
    let error = of_all.standard_error.map(|error| format!("±{:.2} %", error.exp_m1() * 100.0));
    let error = error.unwrap_or_else(|| "–".into());
    let row = |of: &Screened| {
        let kept = if of.kept { "tested" } else { "left out" };
        let effect = of.effect.map_or("–".into(), change);
        vec![of.knob.clone(), of.value.clone(), effect, error.clone(), kept.into()]
    };
    let rows: Vec<Vec<String>> = of_all.knobs.iter().map(row).collect();
    grid_within(&["screened", "value", "effect", "error", ""], 2, &rows, Some(width))
}

/// How much worse each guard may be before it ends a test.
fn guarded(found: &Found) -> String {
    let word = |of: &Guarded| format!("{} {}", of.name, percent(of.tolerated));
    let words: Vec<String> = found.guards.iter().map(word).collect();
    if words.is_empty() {
        return String::new();
    }
    format!("Guarded, and how much worse is tolerated: {}.", words.join(", "))
}

fn left_out(found: &Found) -> String {
    let line = |of: &LeftOut| format!("left out: {}={}: {}", of.knob, of.value, of.because);
    found.left_out.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The claim: what was confirmed, or what would have been found.
fn conclusion(wanted: &Wanted, found: &Found) -> String {
    let setting = changed(wanted, found);
    let against = |test: &Tested| format!("against {}: {}", test.name, outcome(&test.conclusion));
    let claims = found.confirmed.iter().map(against).collect::<Vec<_>>().join("; ");
    let against_stock = found.confirmed.first();
    let verdict = match against_stock.map(|test| &test.conclusion.verdict) {
        None if setting.is_empty() => return nothing(found),
        Some(_) if setting.is_empty() => {
            return format!("{} On fresh blocks stock is held {claims}.", nothing(found));
        }
        None => return format!("{setting} seems better and is not confirmed."),
        Some(Verdict::Better) => "The soft SKU is confirmed",
        Some(_) => "The soft SKU is not confirmed",
    };
    format!("{verdict}: {setting}. On fresh blocks, {claims}.")
}

/// Knobs and values of the composed setting that stock has otherwise.
fn changed(wanted: &Wanted, found: &Found) -> String {
    let changed = wanted.dials.iter().zip(&found.sku).zip(&found.stock);
    let changed = changed.filter(|((_, sku), stock)| sku != stock);
    let setting = changed.map(|((dial, value), _)| format!("{}={value}", dial.name));
    setting.collect::<Vec<_>>().join(", ")
}

/// What was looked for and not found, and how small it may be.
fn nothing(found: &Found) -> String {
    let mut parts = vec!["Nothing was found that is worth turning.".to_owned()];
    let effects: Vec<Option<f64>> = found.tested.iter().map(|test| test.smallest_effect).collect();
    let largest = effects.iter().flatten().copied().reduce(f64::max);
    parts.extend(largest.map(|effect| {
        format!(
            "Of what was tested, an effect of {} would have been found in four of five tests.",
            change(effect)
        )
    }));
    parts.extend(left_open(found.tested.iter().map(|test| &test.conclusion)));
    let blind = effects.iter().filter(|effect| effect.is_none()).count();
    if blind > 0 {
        parts.push(format!("{blind} of {} tests had too few quads to find any.", effects.len()));
    }
    parts.join(" ")
}

/// From where to where intervals go, each of which holds at its own level; without those of what is shown to be worse.
fn left_open<'t>(tests: impl Iterator<Item = &'t Conclusion>) -> Option<String> {
    let open = tests.filter(|test| test.verdict != Verdict::Worse);
    let wider = |(low, high): (f64, f64), (from, to): (f64, f64)| (low.min(from), high.max(to));
    let (low, high) = open.filter_map(|test| test.last?.interval).reduce(wider)?;
    let (low, high) = (change(low), change(high));
    Some(format!("Intervals of what was tested, each at its own level, go from {low} to {high}."))
}

/// What nothing is claimed of.
fn limits(found: &Found) -> String {
    let screening = &found.screening;
    let only = screening.knobs.iter().filter(|of| !of.kept);
    let only: Vec<String> = only.map(|of| format!("{}={}", of.knob, of.value)).collect();
    let mut parts = Vec::new();
    if screening.skipped.is_some() || screening.cut_short.is_some() {
        parts.push(format!("Of screening: {}.", screened(screening)));
    }
    if let (false, Some(smallest)) = (only.is_empty(), screening.smallest_kept) {
        parts.push(format!(
            "Screened and not tested: {}; a gain of {:.2} % of one is kept in four of five searches.",
            only.join(", "),
            smallest.exp_m1() * 100.0
        ));
    }
    if !found.deferred.is_empty() {
        parts.push(format!("Deferred to the last turns: {}.", in_words(&found.deferred)));
    }
    if !found.untried.is_empty() {
        parts.push(format!("Not tried: {}.", found.untried.join(", ")));
    }
    if found.void > 0 {
        let void = found.void;
        parts.push(format!("Blocks that were void, as their generator was late: {void}."));
    }
    parts.extend(found.cut_short.as_ref().map(|why| format!("It ended early: {why}.")));
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::anytime::Level;
    use tailwater_tune::ab::{Better, Look};

    /// A test that has ended with this verdict, after one look.
    fn ended(verdict: Verdict, interval: Option<(f64, f64)>) -> Conclusion {
        let mean = 0.98_f64.ln();
        let look = Look { quads: 20, evidence: 1.0, p_value: 0.5, mean, interval };
        Conclusion {
            level: 0.05,
            shown_at: None,
            verdict,
            timed_out: false,
            noisy: false,
            set_aside: None,
            failed: None,
            last: Some(look),
            strongest_mean: Some(mean),
        }
    }

    #[test]
    fn a_larger_test_has_quads_for_an_interval_and_time_for_its_quads() {
        let said = |quads_max, claims| {
            let rules = ComparisonRules {
                better: Better::Less,
                level: Level::FIVE_PERCENT,
                effect: 0.01,
                quads_max,
                has_losses_measured: false,
                guards: Vec::new(),
                noise: Vec::new(),
            };
            larger(&rules, Duration::from_secs(3_600), claims)
        };
        for (quads_max, claims, quads, minutes) in
            [(40, 1, 80, 120), (4, 1, 16, 240), (4, 2, 17, 255), (9_000, 1, QUADS_MAX, 120)]
        {
            let said = said(quads_max, claims);
            let wanted = format!(
                "quads = {quads} in the file, and type the same with --within {minutes}min."
            );
            assert!(said.ends_with(&wanted), "{said}");
        }
        let times = [(30_250, 1), (60_500, 2), (120_000, 2), (400, 1)];
        assert_eq!(times.map(|(ms, _)| minutes(Duration::from_millis(ms))), times.map(|it| it.1));
        let most = said(QUADS_MAX, 1);
        assert!(most.contains("are the most") && !most.contains("--within"), "{most}");
    }

    #[test]
    fn what_is_cut_short_says_what_was_seen() {
        let cut = || ended(Verdict::CutShort, None);
        let failed = Conclusion { failed: Some("exit status: 3".into()), ..cut() };
        let seen = "cut short before its interval; so far -2.00 % after 20 quads: exit status: 3";
        assert_eq!(outcome(&failed), seen);
        let late = Conclusion { timed_out: true, ..cut() };
        assert!(outcome(&late).starts_with("cut short before its interval, its time was over"));
        let noisy = Conclusion { noisy: true, ..cut() };
        assert!(outcome(&noisy).starts_with("cut short before its interval, most of its quads"));
    }

    #[test]
    fn what_tests_leave_open_is_the_hull_of_their_intervals_without_losses() {
        let tests = [
            ended(Verdict::Open, Some((0.95_f64.ln(), 1.02_f64.ln()))),
            ended(Verdict::Alike, Some((0.99_f64.ln(), 1.04_f64.ln()))),
            ended(Verdict::Worse, Some((1.5_f64.ln(), 2.0_f64.ln()))),
            ended(Verdict::Open, None),
        ];
        let told = left_open(tests.iter()).expect("there are intervals");
        assert_eq!(
            told,
            "Intervals of what was tested, each at its own level, go from -5.00 % to +4.00 %."
        );
        assert_eq!(left_open(tests[2..].iter()), None);
    }

    #[test]
    fn quads_that_were_set_aside_are_told_with_the_last_ones_reason() {
        let of = |quads| set_aside(&SetAside { quads, last: "block 2 cannot count: late".into() });
        assert_eq!(of(1), "; 1 quad was set aside, the last because block 2 cannot count: late");
        assert_eq!(of(9), "; 9 quads were set aside, the last because block 2 cannot count: late");
    }

    #[test]
    fn an_interval_of_a_smaller_level_than_it_is_shown_at_is_not_told() {
        let claim = ended(Verdict::Better, Some((-0.05, 0.01)));
        assert!(outcome(&claim).contains("from"), "{}", outcome(&claim));
        let shown = Conclusion { shown_at: Some(0.05), ..claim };
        assert!(!outcome(&shown).contains("from"), "{}", outcome(&shown));
    }
}
