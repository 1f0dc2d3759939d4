//! What has moved, for people.

use super::verdict::{Change, Verdict};
use crate::profile::bounds::shown;
use crate::profile::footer::footer;
use tailwater_profile::blocks::FUNCTIONS_MAX;
use tailwater_profile::functions::Report;
use tailwater_profile::names::clipped_apart;
use tailwater_report::{count, grid};

/// Characters of a name.
const NAME_MAX: usize = 56;

/// Below a table with such rows.
const UNEVEN: &str = "* Parts of one trace have more than twice as many calls as those of the other: \
                      a 99th percentile of few calls is lower by that alone.\n";

pub(super) fn text(verdict: &Verdict, reports: [&Report; 2], limit: usize) -> String {
    let asked = verdict.asked;
    let compared = count(verdict.functions.len() as u64);
    let moved: Vec<_> = verdict.functions.iter().filter(|one| one.moved).collect();
    let mut out = format!(
        "{} of {compared} functions have moved by more than {}, at {} over all of them\n",
        count(moved.len() as u64),
        percent(asked.within),
        percent(asked.confidence),
    );
    let limit = if limit == 0 { moved.len() } else { limit };
    let listed = &moved[..moved.len().min(limit)];
    if !listed.is_empty() {
        let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
        let rows =
            clipped_apart(&names, NAME_MAX).into_iter().zip(listed).flat_map(|(name, one)| {
                let counts = [count(one.calls_before), count(one.calls_after)];
                let tail = if one.uneven { "p99 *" } else { "p99" };
                let changes = [("p50", &one.p50), (tail, &one.p99)];
                let told =
                    changes.into_iter().filter_map(|(what, change)| Some((what, change.as_ref()?)));
                let told = told.filter(|(_, change)| change.moved).enumerate();
                let row = move |(nth, (what, change)): (usize, (&str, &Change))| {
                    let first = nth == 0;
                    let mut cells = vec![if first { name.clone() } else { String::new() }];
                    cells.extend(
                        counts
                            .iter()
                            .map(|count| if first { count.clone() } else { String::new() }),
                    );
                    cells.extend(cells_of(what, change));
                    cells
                };
                told.map(row).collect::<Vec<_>>()
            });
        let rows: Vec<Vec<String>> = rows.collect();
        let heads = ["function", "calls A", "calls B", "of", "A", "B", "B/A", "between"];
        out.push_str(&format!("\n{}\n", grid(&heads, 1, &rows)));
    }
    if listed.iter().any(|one| one.uneven && one.p99.is_some_and(|change| change.moved)) {
        out.push_str(UNEVEN);
    }
    let more = moved.len() - listed.len();
    if more > 0 {
        out.push_str(&format!("and {} more; --limit 0 lists them\n", count(more as u64)));
    }
    out.push_str(&format!("\n{}\n", not_compared(verdict)));
    for (name, report) in ["A", "B"].into_iter().zip(reports) {
        let footer = footer(report.records, report.rate, &report.quality);
        out.push_str(&format!("{name}: {footer}\n"));
    }
    out.trim_end().to_owned()
}

fn cells_of(what: &str, change: &Change) -> [String; 5] {
    let side =
        |side: Option<f64>| side.map_or_else(|| "?".to_owned(), |ratio| format!("{ratio:.3}"));
    [
        what.to_owned(),
        shown(change.before_ns as u64),
        shown(change.after_ns as u64),
        format!("{:.3}", change.ratio),
        format!("{}–{}", side(change.low), side(change.high)),
    ]
}

/// What the verdict does not cover.
fn not_compared(verdict: &Verdict) -> String {
    let number = |names: &[String]| count(names.len() as u64);
    let chosen = &verdict.chosen;
    let mut parts = vec![
        format!(
            "{} functions with calls in too few parts to be sure of anything ({} more by their median alone)",
            number(&verdict.too_few),
            number(&verdict.median_only),
        ),
        format!(
            "{} of whose calls many are shorter than {} or were seen by one look alone",
            number(&verdict.too_short),
            shown(verdict.asked.resolution_ns),
        ),
    ];
    if !chosen.beyond.is_empty() {
        let compared = count(FUNCTIONS_MAX as u64);
        parts.push(format!(
            "{} called less often than the {compared} that are read (name some by --function)",
            number(&chosen.beyond),
        ));
    }
    parts.push(match chosen.unread {
        0 => format!(
            "{} with calls in A only, {} in B only",
            number(&chosen.only_before),
            number(&chosen.only_after),
        ),
        unread => format!(
            "{} calls and names beyond the bounds of a reading, so which functions are in one trace only is not known",
            count(unread)
        ),
    });
    format!(
        "Each quantile is compared over twenty parts of either recording. Not compared, and listed by --json: {}.",
        parts.join(", ")
    )
}

fn percent(share: f64) -> String {
    // Of 0.99 and its like no digit is a rounding's.
    let percent = (share * 1e6).round() / 1e4;
    format!("{percent} %")
}
