//! How long requests waited in a run queue, as a table: of one trace, or of several that are read together.

use super::bounds::shown;
use tailwater_profile::requests::{RunQueue, RunQueueSums};
use tailwater_report::{count, grid, percent};

/// What stands in both tables, behind what tells rows apart.
const HEADS: [&str; 8] =
    ["requests", "took at least", "p50", "p99", "of their time", "queued", "unknown", "no thread"];

/// Of one trace, with what is not in it.
pub(super) fn told(found: &RunQueue) -> String {
    let heads = [&["run queue"][..], &HEADS[..]].concat();
    let table = grid(&heads, 1, &rows(found));
    format!("\n{table}\n{}{}", threadless(&[found]), left_out("", found))
}

/// The same of several, each by its name.
pub(super) fn told_of_each(traces: &[(&str, &RunQueue)]) -> String {
    let heads = [&["trace", "run queue"][..], &HEADS[..]].concat();
    let named = |(name, found): &(&str, &RunQueue)| {
        rows(found).map(|row| [vec![(*name).to_owned()], row].concat())
    };
    let rows: Vec<Vec<String>> = traces.iter().flat_map(named).collect();
    let all: Vec<&RunQueue> = traces.iter().map(|(_, found)| *found).collect();
    let mut out = format!("\n{}\n{}", grid(&heads, 2, &rows), threadless(&all));
    for (name, found) in traces {
        out.push_str(&left_out(&format!("{name}: "), found));
    }
    out
}

/// What a part without a thread means, where there is one.
fn threadless(all: &[&RunQueue]) -> &'static str {
    if all.iter().all(|found| found.all.threadless_ns == 0) {
        return "";
    }
    "In a part of their time no thread is known to have had them: pending, shed, in several queues at once, or not \
     recorded. Whose waits delayed them then is not known.\n"
}

/// What found no room, in lines that begin with whose that is.
fn left_out(whose: &str, found: &RunQueue) -> String {
    let mut out = String::new();
    if found.states_left_out > 0 {
        let left_out = count(found.states_left_out);
        out.push_str(&format!(
            "{whose}{left_out} facts of the kernel are left out for want of memory: what they tell of is unknown.\n"
        ));
    }
    if found.left_out > 0 {
        let left_out = count(found.left_out);
        out.push_str(&format!(
            "{whose}{left_out} later requests are left out for want of memory.\n"
        ));
    }
    out
}

fn rows(found: &RunQueue) -> [Vec<String>; 2] {
    [row("all", &found.all), row("slowest 1 %", &found.slowest)]
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
        let found = RunQueue { all, slowest, left_out: 0, states_left_out: 0 };
        let short = RunQueue { all: pending, left_out: 7, ..found };
        let text = told_of_each(&[("front", &found), ("leaf", &short)]);
        let rows: Vec<&str> = text.lines().skip(3).take(4).collect();
        for (row, begin) in rows.iter().zip(["front", "front", "leaf", "leaf"]) {
            assert!(row.starts_with(begin), "{text}");
        }
        assert!(rows[1].contains("slowest 1 %") && rows[2].contains("≥ 5.0 %"), "{text}");
        assert_eq!(text.matches("no thread is known to have had them").count(), 1, "{text}");
        assert!(text.contains("\nleaf: 7 later requests are left out"), "{text}");
        assert!(!text.contains("front: "), "of it nothing is left out: {text}");
    }
}
