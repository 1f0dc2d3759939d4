//! What has moved, for people.

use super::sides::Build;
use crate::profile::bounds::shown;
use crate::profile::footer::{UNSCANNED, footer};
use crate::terminal::{style, wrapped};
use tailwater_profile::blocks::FUNCTIONS_MAX;
use tailwater_profile::diff::{Change, Moved, Quantile, Recording, UNITS_MIN, Verdict};
use tailwater_profile::names::clipped_apart;
use tailwater_report::{count, grid_within};

/// Characters of a name.
const NAME_MAX: usize = 56;
/// Recordings of a side of which is told what they lack.
const FLAWED_MAX: usize = 4;

const HEADS: [&str; 8] = ["function", "calls A", "calls B", "of", "A", "B", "change", "between"];

/// Below a table with rows of functions themselves.
const SELF: &str = "self: in the function itself, and in calls too short to be seen; its change is a share of the whole call.";

/// Below a table with such rows.
const UNEVEN: &str = "* Recordings, or parts, of one side have more than twice as many calls as those of the other: \
                      a 99th percentile of few calls is lower by that alone.";

pub(super) fn text(verdict: &Verdict, builds: &[Build; 2], limit: usize) -> String {
    let asked = verdict.asked;
    let (itself, with): (Vec<_>, Vec<_>) =
        (verdict.by_themselves().collect(), verdict.with_others().collect());
    let alone: Vec<_> = verdict.in_themselves().collect();
    let mut out = line(&format!(
        "{} of {} functions have moved by themselves by more than {}, {} with what they call, at {} over all of them",
        count(itself.len() as u64),
        count(verdict.functions.len() as u64),
        percent(asked.within),
        count(with.len() as u64),
        percent(asked.confidence),
    ));
    out.push_str(&table(&itself, limit));
    if !with.is_empty() {
        let head = line("With what they call, or by themselves by so little that it is not sure:");
        out.push_str(&format!("\n{head}"));
        out.push_str(&table(&with, limit));
    }
    if !alone.is_empty() {
        let head = line(
            "In themselves, while whole calls vary too much to tell. Not named: what was seen within, or how often, may be why:",
        );
        out.push_str(&format!("\n{head}"));
        out.push_str(&table(&alone, limit));
    }
    out.push_str(&format!("\n{}", line(&not_compared(verdict))));
    if asked.recordings == [1, 1] {
        out.push_str(&line(&format!(
            "Processes of one build may differ by more than parts of one process tell. To tell builds apart, record each \
             {UNITS_MIN} times or more, best 20, by turns, and type: tailwater profile diff FOLDER-OF-A FOLDER-OF-B"
        )));
    }
    for (name, build) in ["A", "B"].into_iter().zip(builds) {
        out.push_str(&recorded(name, build));
    }
    out.trim_end().to_owned()
}

/// Words of a person's width, with the end of a line.
fn line(text: &str) -> String {
    format!("{}\n", wrapped(text))
}

/// Nothing of no functions.
fn table(moved: &[&Moved], limit: usize) -> String {
    let limit = if limit == 0 { moved.len() } else { limit };
    let listed = &moved[..moved.len().min(limit)];
    if listed.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    let names = clipped_apart(&names, NAME_MAX);
    let rows: Vec<Vec<String>> =
        names.into_iter().zip(listed).flat_map(|(name, one)| rows(name, one)).collect();
    let mut out = format!("\n{}\n", grid_within(&HEADS, 1, &rows, style().width));
    if listed.iter().any(|one| one.by_itself || !one.moved) {
        out.push_str(&line(SELF));
    }
    if listed.iter().any(|one| one.uneven && one.p99.is_some_and(|p99| is_told(one, &p99))) {
        out.push_str(&line(UNEVEN));
    }
    let more = moved.len() - listed.len();
    if more > 0 {
        out.push_str(&format!("and {} more; --limit 0 lists them\n", count(more as u64)));
    }
    out
}

/// Whether the quantile has moved, or the function is named for it. Of a function that has not moved, whether that itself has.
fn is_told(one: &Moved, quantile: &Quantile) -> bool {
    if one.moved { quantile.whole.moved || quantile.by_itself } else { quantile.is_itself_alone() }
}

/// A row for each quantile that has moved, and below it one of the function itself where that has moved with it or alone.
fn rows(name: String, one: &Moved) -> Vec<Vec<String>> {
    let tail = if one.uneven { "p99 *" } else { "p99" };
    let quantiles = [("p50", &one.p50), (tail, &one.p99)];
    let told = quantiles.into_iter().filter_map(|(what, found)| Some((what, found.as_ref()?)));
    let cells = told.filter(|(_, found)| is_told(one, found)).flat_map(|(what, found)| {
        let is_itself = found.by_itself || !one.moved;
        let itself = is_itself.then(|| cells("  self", &found.itself));
        std::iter::once(cells(what, &found.whole)).chain(itself)
    });
    let first = [name, count(one.calls_before), count(one.calls_after)];
    let firsts = std::iter::once(first).chain(std::iter::repeat_with(Default::default));
    firsts.zip(cells).map(|(first, cells)| first.into_iter().chain(cells).collect()).collect()
}

fn cells(what: &str, change: &Change) -> [String; 5] {
    let side = |side: Option<f64>| side.map_or_else(|| "?".to_owned(), more);
    [
        what.to_owned(),
        shown(change.before_ns as u64),
        shown(change.after_ns as u64),
        format!("{} %", more(change.ratio)),
        format!("{} to {} %", side(change.low), side(change.high)),
    ]
}

/// By how many percent something has grown, with its sign.
fn more(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}

/// What the verdict does not cover.
fn not_compared(verdict: &Verdict) -> String {
    let number = |names: &[String]| count(names.len() as u64);
    let chosen = &verdict.chosen;
    let (over, few) = match verdict.asked.recordings {
        [1, 1] => ("twenty parts of either recording".to_owned(), "parts"),
        [a, b] => (format!("{a} recordings of A and {b} of B"), "recordings"),
    };
    let mut parts = vec![
        format!(
            "{} functions with calls in too few {few} to be sure of anything ({} more by their median alone)",
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
            "{} calls and names beyond the bounds of a reading, so which functions are on one side only is not known",
            count(unread)
        ),
    });
    format!(
        "Each quantile is compared over {over}. Not compared, and listed by --json: {}.",
        parts.join(", ")
    )
}

/// What a build's recordings do not tell.
fn recorded(name: &str, build: &Build) -> String {
    let side = &build.side;
    if let [one] = &side.recordings[..] {
        return line(&format!("{name}: {}", what_is_lost(one)));
    }
    let sum =
        |of: fn(&Recording) -> u64| side.recordings.iter().map(of).fold(0, u64::saturating_add);
    let (recordings, records) = (side.recordings.len(), count(sum(|one| one.records)));
    let head = format!("{name}: {recordings} recordings, {records} records.");
    let unscanned = side.unscanned();
    let lost = if unscanned == recordings {
        UNSCANNED.to_owned()
    } else {
        format!(
            "Lost: {} calls at most (too short to be seen). Scanner away: {} times, {} in all.",
            count(sum(|one| one.quality.lost_calls)),
            count(sum(|one| one.quality.gaps)),
            shown(sum(|one| one.quality.gap_ns)),
        )
    };
    let mut out = line(&format!("{head} {lost}"));
    let flawed = side.flawed();
    for at in flawed.iter().take(FLAWED_MAX) {
        let (path, one) = (&build.paths[*at], &side.recordings[*at]);
        out.push_str(&line(&format!("{}: {}", path.display(), what_is_lost(one))));
    }
    if flawed.len() > FLAWED_MAX {
        let more = flawed.len() - FLAWED_MAX;
        out.push_str(&line(&format!(
            "and {more} more that are not whole; `report` tells what each lacks"
        )));
    }
    out
}

fn what_is_lost(one: &Recording) -> String {
    footer(one.records, one.first.rate, &one.quality)
}

fn percent(share: f64) -> String {
    // Of 0.99 and its like no digit is a rounding's.
    let percent = (share * 1e6).round() / 1e4;
    format!("{percent} %")
}
