//! What a trace does not tell, below every table.

use tailwater_profile::clock::TickRate;
use tailwater_profile::quality::{FileEnd, Quality};
use tailwater_report::{count, time};

/// Said of recordings in which no scanner looked.
pub(super) const UNSCANNED: &str =
    "No scanner looked: of calls, those of functions that time themselves are told alone.";

/// A mean time between looks from which on a scanner is taken for one without a core: one that has a core comes back within a few
/// microseconds, and one that shares its only core naps for half a millisecond (`docs/profiling-limits.md`).
const SELDOM_NS: f64 = 100e3;

/// Said of recordings in which looks came so seldom.
const SELDOM: &str = "The scanner came so seldom that short calls are missing and bounds are wide. It takes a core of its own \
    (--scanner-cpu), more of one (--cpu) or several scanners for many threads (--scanners). Functions built with --clock tell all \
    their calls without.";

/// Sentences, each on a line of its own; the first is always there.
pub(crate) fn footer(records: u64, rate: TickRate, quality: &Quality) -> String {
    let mut lines = vec![lost(records, quality)];
    lines.extend(looks(quality));
    if !rate.measured {
        lines
            .push("The trace holds no two clock readings: a tick is shown as a nanosecond.".into());
    }
    lines.extend(unseen(quality));
    lines.extend(forked(quality));
    lines.extend(kept(quality));
    lines.extend(ending(quality.ending));
    if quality.beyond_bounds > 0 {
        let beyond = count(quality.beyond_bounds);
        lines.push(format!("{beyond} facts were left out for want of memory."));
    }
    lines.extend(damaged(quality));
    lines.join("\n")
}

/// How much was read, and how much is surely missing.
fn lost(records: u64, quality: &Quality) -> String {
    let [records, waits, marks] = [records, quality.lost_waits, quality.lost_marks].map(count);
    if quality.unscanned {
        return format!("{records} records. {UNSCANNED} Lost: {waits} waits, {marks} marks.");
    }
    format!(
        "{records} records. Lost: {} calls at most (too short to be seen), {waits} waits, {marks} marks. Scanner away: {} \
         times, {} in all.",
        count(quality.lost_calls),
        count(quality.gaps),
        time(quality.gap_ns as f64 / 1e3),
    )
}

/// How often the scanner looked, and what helps where that was seldom.
fn looks(quality: &Quality) -> Vec<String> {
    if quality.looks == 0 {
        return vec![];
    }
    let told = format!(
        "Looks at a thread: {} after one another on average, 99.9 % of them within {}.",
        time(quality.look_ns / 1e3),
        time(quality.look_p999_ns as f64 / 1e3),
    );
    let seldom = (quality.look_ns >= SELDOM_NS).then(|| SELDOM.to_owned());
    std::iter::once(told).chain(seldom).collect()
}

/// What the recorder could not watch, or mixed up.
fn unseen(quality: &Quality) -> Vec<String> {
    let mut lines = vec![];
    if quality.lost_clocked > 0 {
        lines.push(format!(
            "{} calls of clocked functions are missing: the recorder came too late for them, or they were more than 384 deep \
             within each other.",
            count(quality.lost_clocked)
        ));
    }
    if quality.overflowed_frames > 0 {
        let frames = count(quality.overflowed_frames);
        lines.push(format!("{frames} frames lay beyond the end of a shadow stack: not recorded."));
    }
    if quality.lost_threads > 0 {
        lines.push(format!("{} threads were not watched.", count(quality.lost_threads)));
    }
    if quality.mixed_stacks > 0 {
        lines.push(format!(
            "{} looks found frames of several machine stacks mixed: the program switches between stacks \
             that it does not announce, and what is said above of its calls may be wrong. Build all of it by \
             `tailwater profile build --fibers`.",
            count(quality.mixed_stacks)
        ));
    }
    lines
}

fn forked(quality: &Quality) -> Option<String> {
    let forked = match quality.children {
        0 => return None,
        1 => "1 process was".to_owned(),
        more => format!("{} processes were", count(more)),
    };
    Some(format!(
        "{forked} forked: at least the first 20 ms of each are not recorded. One that lived longer has a \
         trace of its own, with its number after this one's name, or has said on standard error why not; `attach` \
         records none of them."
    ))
}

/// Of which requests alone the trace is.
fn kept(quality: &Quality) -> Vec<String> {
    let Some(kept) = quality.kept else { return vec![] };
    let (requests, above) = (count(kept.requests), time(kept.above_ns as f64 / 1e3));
    let told = format!(
        "Kept: of {requests} requests those of {above} and longer, with what happened meanwhile. Other calls, waits \
         and marks are not in this trace."
    );
    let incomplete = (kept.incomplete > 0).then(|| {
        let incomplete = count(kept.incomplete);
        format!(
            "{incomplete} of these lack something: told of more than a second late, lost, or given up when too many were open."
        )
    });
    std::iter::once(told).chain(incomplete).collect()
}

fn ending(ending: FileEnd) -> Option<String> {
    let told = match ending {
        FileEnd::Finished => return None,
        FileEnd::Unfinished => {
            "The recording did not come to its end: its last moments are missing."
        }
        FileEnd::Cut => "The file is cut: its last moments are missing.",
    };
    Some(told.to_owned())
}

fn damaged(quality: &Quality) -> Vec<String> {
    if quality.damages == 0 {
        return vec![];
    }
    let told = format!(
        "Damaged parts: {}; {} bytes with {} known records passed over.",
        count(quality.damages),
        count(quality.damaged_bytes),
        count(quality.damaged_records)
    );
    let each = quality.damage.iter().map(|one| format!("  {one}"));
    std::iter::once(told).chain(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scanner_that_comes_seldom_says_what_to_type() {
        let said = |look_ns| {
            let mut quality = Quality::default();
            quality.looks = 1;
            quality.look_ns = look_ns;
            footer(0, TickRate { ns_per_tick: 1.0, measured: true }, &quality)
        };
        assert!(said(SELDOM_NS).contains("--scanner-cpu"), "{}", said(SELDOM_NS));
        assert!(!said(SELDOM_NS - 1.0).contains("--scanner-cpu"), "a scanner that has a core");
    }
}
