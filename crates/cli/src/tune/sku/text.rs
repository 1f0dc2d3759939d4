//! What a person reads of a search.

use super::super::ab::change;
use super::file::Wanted;
use super::screen::Screened;
use super::{Found, Tested};
use crate::terminal::style;
use tailwater_report::{grid_within, wrap};
use tailwater_tune::ab::Verdict;

/// Where no terminal says how wide it is.
const WIDTH: u16 = 100;

/// A line on what screening kept.
pub(super) fn screened(screened: &[Screened]) -> String {
    let kept: Vec<&str> = screened.iter().filter(|of| of.kept).map(|of| of.knob.as_str()).collect();
    match kept.as_slice() {
        [] => "screening kept no knob".into(),
        some => format!("screening kept {} of {}: {}", some.len(), screened.len(), some.join(", ")),
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
    let verdict = match &test.verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".into(),
        Verdict::Alike => "alike".into(),
        Verdict::Alarm(guard) => format!("alarm of {guard}"),
        Verdict::Noisy => "too noisy".into(),
        Verdict::Open if test.timed_out => "open, its time was over".into(),
        Verdict::Open => "open".into(),
    };
    format!("{verdict}{}", size(test))
}

fn size(test: &Tested) -> String {
    let Some(look) = test.looks.last() else { return String::new() };
    let interval = look.interval.map_or_else(String::new, |(low, high)| {
        format!(" (from {} to {})", change(low), change(high))
    });
    format!(", {}{interval} after {} quads", change(look.mean), look.quads)
}

pub(super) fn of(wanted: &Wanted, found: &Found) -> String {
    let width = style().width.unwrap_or(WIDTH);
    let mut parts = vec![found.title.clone(), format!("{} of {}", found.metric, found.target)];
    parts.push(table_of_screening(found, width));
    let tests: Vec<String> = found.tested.iter().map(tested).collect();
    parts.push(tests.join("\n"));
    parts.push(wrap(&conclusion(wanted, found), width.into()));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn table_of_screening(found: &Found, width: u16) -> String {
    let row = |of: &Screened| {
        let kept = if of.kept { "tested" } else { "left out" };
        let error = format!("±{:.2} %", of.standard_error.exp_m1() * 100.0);
        vec![of.knob.clone(), of.value.clone(), change(of.effect), error, kept.into()]
    };
    let rows: Vec<Vec<String>> = found.screened.iter().map(row).collect();
    grid_within(&["screened", "value", "effect", "error", ""], 2, &rows, Some(width))
}

/// The claim: what was confirmed, or what would have been found.
fn conclusion(wanted: &Wanted, found: &Found) -> String {
    let Some(against_stock) = found.confirmed.first() else {
        let within = found.forecast.smallest_effect;
        let within = within.map_or_else(String::new, |effect| {
            format!(": an effect of {} would have been found in four of five tests", change(effect))
        });
        return format!("Nothing is worth turning{within}.");
    };
    let changed = wanted.dials.iter().zip(&found.sku).zip(&found.stock);
    let changed = changed.filter(|((_, sku), stock)| sku != stock);
    let setting: Vec<String> =
        changed.map(|((dial, value), _)| format!("{}={value}", dial.name)).collect();
    let claims =
        found.confirmed.iter().map(|test| format!("against {}: {}", test.name, outcome(test)));
    let claims: Vec<String> = claims.collect();
    let verdict = match against_stock.verdict {
        Verdict::Better => "The soft SKU is confirmed",
        _ => "The soft SKU is not confirmed",
    };
    format!("{verdict}: {}. On fresh blocks, {}.", setting.join(", "), claims.join("; "))
}
