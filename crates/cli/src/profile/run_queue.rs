//! How long requests waited in a run queue, from the kernel's file beside a trace.

use super::bounds::shown;
use super::companion::Companion;
use std::path::Path;
use tailwater_profile::requests::{Handlings, RunQueue, RunQueueSums, RunQueueTimes};
use tailwater_profile::trace::Header;
use tailwater_report::{count, grid, percent};

/// What was waited, if there is a file that says. Damage is told of by the accounts from the same file.
pub(super) fn read(trace: &Path, header: &Header, handlings: Handlings) -> Option<RunQueue> {
    let kernel = Companion::Kernel.open(trace, header)?;
    let mut times = RunQueueTimes::new(handlings);
    kernel.read(|item| {
        if let Ok(record) = item {
            times.add(record);
        }
    });
    times.finish()
}

/// The same as a table, and what is not in it.
pub(super) fn told(found: &RunQueue) -> String {
    let heads = [
        "run queue",
        "requests",
        "took at least",
        "p50",
        "p99",
        "of their time",
        "queued",
        "unknown",
        "no thread",
    ];
    let rows = [row("all", &found.all), row("slowest 1 %", &found.slowest)];
    let mut out = format!("\n{}\n", grid(&heads, 1, &rows));
    if found.all.threadless_ns > 0 {
        out.push_str(
            "In a part of their time no thread is known to have had them: pending, shed, in several queues at once, or \
             not recorded. Whose waits delayed them then is not known.\n",
        );
    }
    if found.states_left_out > 0 {
        let left_out = count(found.states_left_out);
        out.push_str(&format!(
            "{left_out} facts of the kernel are left out for want of memory: what they tell of is unknown.\n"
        ));
    }
    if found.left_out > 0 {
        let left_out = count(found.left_out);
        out.push_str(&format!("{left_out} later requests are left out for want of memory.\n"));
    }
    out
}

fn row(name: &str, of: &RunQueueSums) -> Vec<String> {
    let share = |ns: u64| format!("{} %", percent(ns as f64 / of.took_ns.max(1) as f64));
    let least = if of.is_least() { "≥ " } else { "" };
    let at_least = |text: String| format!("{least}{text}");
    let mut cells = vec![name.to_owned(), count(of.requests), shown(of.least_ns)];
    cells.extend([of.p50_ns, of.p99_ns].map(|ns| at_least(shown(ns))));
    cells.extend([of.waited_ns, of.queued_ns].map(|ns| at_least(share(ns))));
    cells.extend([of.unknown_ns, of.threadless_ns].map(share));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_of_the_same_requests_and_what_is_missing_is_said() {
        let all = RunQueueSums {
            requests: 200,
            least_ns: 30_000,
            took_ns: 10_000_000,
            waited_ns: 500_000,
            queued_ns: 200_000,
            unknown_ns: 0,
            threadless_ns: 0,
            p50_ns: 0,
            p99_ns: 5_000,
        };
        let slowest = RunQueueSums { requests: 2, took_ns: 1_000_000, ..all };
        let text = told(&RunQueue { all, slowest, left_out: 0, states_left_out: 0 });
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let tail = |row: &[&str]| row[row.len() - 8..].join(" ");
        assert_eq!(tail(&rows[3]), "5.0 % 2.0 % 0 % 0 %");
        assert_eq!(tail(&rows[4]), "50 % 20 % 0 % 0 %");
        assert_eq!(rows.len(), 5, "of what is not missing nothing is said: {text}");
        let pending = RunQueueSums { threadless_ns: 1, ..all };
        let text = told(&RunQueue { all: pending, slowest, left_out: 7, states_left_out: 9 });
        assert!(text.contains("no thread is known to have had them"), "{text}");
        assert!(text.contains("\n7 later requests are left out"), "{text}");
        assert!(text.contains("\n9 facts of the kernel are left out"), "{text}");
        // Of the slowest everything is known.
        assert!(text.contains("≥ 5.0 %") && !text.contains("≥ 50 %"), "{text}");
    }
}
