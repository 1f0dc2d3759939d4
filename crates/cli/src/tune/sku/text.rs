//! What a person reads of a search.

use super::super::ab::change;
use super::super::dial::keeping;
use super::super::machine::Root;
use super::file::{LeftOut, Wanted};
use super::found::{Found, Tested};
use super::screen::{Screened, Screening};
use crate::terminal::style;
use tailwater_report::{grid_within, wrap};
use tailwater_tune::ab::Verdict;

/// Where no terminal says how wide it is.
const WIDTH: u16 = 100;

/// A line on what screening kept.
pub(super) fn screened(screening: &Screening) -> String {
    if let Some(why) = &screening.skipped {
        return format!("there is no screening, and every knob is tested: {why}");
    }
    let all = &screening.knobs;
    let kept: Vec<&str> = all.iter().filter(|of| of.kept).map(|of| of.knob.as_str()).collect();
    match kept.as_slice() {
        [] => "screening kept no knob".into(),
        some => format!("screening kept {} of {}: {}", some.len(), all.len(), some.join(", ")),
    }
}

/// A line on one test.
pub(super) fn tested(test: &Tested) -> String {
    format!("{}: {}", test.name, outcome(test))
}

/// What was tested against what.
pub(super) fn title(test: &Tested, found: &Found) -> String {
    if found.confirmed.iter().any(|of| std::ptr::eq(of, test)) {
        format!("the soft SKU against {}", test.name)
    } else {
        test.name.clone()
    }
}

fn outcome(test: &Tested) -> String {
    let verdict = match (&test.failed, &test.verdict) {
        (Some(why), Verdict::Open) => return format!("not measured to its end: {why}"),
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

fn size(test: &Tested) -> String {
    let Some(look) = test.looks.last() else { return String::new() };
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
    let setting = changed(wanted, found);
    if setting.is_empty() {
        return "Keep stock: nothing is to be typed, as every knob is what it was.".into();
    }
    if found.confirmed.first().is_some_and(|test| test.verdict == Verdict::Better) {
        let lines = keeping(&wanted.dials, (&found.sku, &found.stock), root);
        let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
        return format!("To keep it:{lines}");
    }
    let minutes = (wanted.time.as_secs_f64() * 2.0 / 60.0).ceil();
    format!("Keep stock. To decide, type the same with --within {minutes:.0}min.")
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

fn left_out(found: &Found) -> String {
    let line = |of: &LeftOut| format!("left out: {}={}: {}", of.knob, of.value, of.because);
    found.left_out.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The claim: what was confirmed, or what would have been found.
fn conclusion(wanted: &Wanted, found: &Found) -> String {
    let setting = changed(wanted, found);
    let claims =
        found.confirmed.iter().map(|test| format!("against {}: {}", test.name, outcome(test)));
    let claims = claims.collect::<Vec<_>>().join("; ");
    let verdict = match found.confirmed.first().map(|against_stock| &against_stock.verdict) {
        None if setting.is_empty() => return nothing(found),
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
    let blind = effects.iter().filter(|effect| effect.is_none()).count();
    if blind > 0 {
        parts.push(format!("{blind} of {} tests had too few quads to find any.", effects.len()));
    }
    parts.join(" ")
}

/// What nothing is claimed of.
fn limits(found: &Found) -> String {
    let screening = &found.screening;
    let only = screening.knobs.iter().filter(|of| !of.kept);
    let only: Vec<String> = only.map(|of| format!("{}={}", of.knob, of.value)).collect();
    let mut parts = Vec::new();
    if let (false, Some(smallest)) = (only.is_empty(), screening.smallest_kept) {
        parts.push(format!(
            "Screened and not tested: {}; a gain of {:.2} % of one is kept in four of five searches.",
            only.join(", "),
            smallest.exp_m1() * 100.0
        ));
    }
    if !found.untried.is_empty() {
        parts.push(format!("Not tried: {}.", found.untried.join(", ")));
    }
    parts.extend(found.cut_short.as_ref().map(|why| format!("It ended early: {why}.")));
    parts.join(" ")
}
