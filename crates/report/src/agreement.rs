//! Two results held against each other, as tables and a sentence.

use crate::format::{ColumnUnit, NOTHING, demand, percent, printable, wrap};
use crate::grid::grid_within;
use tailwater_stats::Difference;
use tailwater_stats::agreement::{Agreement, KEEPS_UP, Onset, PairedPoint};
use tailwater_stats::result::Experiment;

/// Differences beyond this many points of capacity are marked, and rankings that hang on less are equal.
pub const TOLERANCE_POINTS: f64 = 5.0;

/// Headings and rows, of which the first column is text.
pub(crate) struct Rows {
    pub(crate) heads: Vec<String>,
    /// Places of the columns that a phone leaves out at first.
    pub(crate) dispensable: &'static [usize],
    pub(crate) rows: Vec<Vec<String>>,
}

/// Everything that a person reads of a comparison, in lines of at most `width` characters where words allow it.
#[must_use]
pub fn comparison_table(
    (first, second): (&Experiment, &Experiment),
    found: &Agreement,
    width: Option<u16>,
) -> String {
    let within = |text: String| width.map_or(text.clone(), |width| wrap(&text, width.into()));
    let grid = |table: Rows| grid_within(&table.heads, 1, &table.rows, width);
    format!(
        "{}\n{}\n{}\n\n{}\n\n{}\n\n{}",
        within(format!("first: {}", title(first))),
        within(format!("second: {}", title(second))),
        within(meaning()),
        grid(points(found)),
        grid(onsets(found)),
        within(sentence(found)),
    )
}

pub(crate) fn meaning() -> String {
    format!(
        "Goodput is in % of capacity, its difference in points of that; ! beyond {TOLERANCE_POINTS}."
    )
}

/// Which result it is, and why it is not the whole one.
pub(crate) fn title(of: &Experiment) -> String {
    let (valid, all) = (of.runs.iter().filter(|run| run.verdict.valid).count(), of.runs.len());
    let told = [
        Some(format!("{} on {} ({})", of.scenario, of.driver, of.manifest.tailwater)),
        of.short.then(|| "the short version, which is no result".to_owned()),
        of.shard.as_ref().map(|shard| format!("shard {}/{} alone", shard.index, shard.of)),
        of.cut_short.as_ref().map(|why| format!("cut short: {why}")),
        (valid < all).then(|| format!("{valid} of {all} runs are valid")),
    ];
    printable(&told.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Which settings make the two ones of different scenarios, in one line without a full stop; nothing where none does.
#[must_use]
pub fn different_settings(found: &Agreement) -> Option<String> {
    let in_both = |it: &Difference| {
        format!("{} is {} in the first and {} in the second", it.setting, it.first, it.second)
    };
    let all: Vec<String> = found.different.iter().map(in_both).collect();
    let text = format!(
        "the results are of different scenarios, so what differs may come of that: {}",
        all.join("; ")
    );
    (!all.is_empty()).then(|| printable(&text))
}

pub(crate) fn points(found: &Agreement) -> Rows {
    let unit = unit(found.points.iter().map(|point| point.slo_us));
    let in_unit = |head: &str| format!("{head}{}", unit.name());
    let heads = vec![
        "controller".into(),
        "clients".into(),
        in_unit("SLO\n"),
        "demand".into(),
        "goodput\nfirst".into(),
        "goodput\nsecond".into(),
        "differs\nby".into(),
        in_unit("p99\nfirst, "),
        in_unit("p99\nsecond, "),
    ];
    let row = |point: &PairedPoint| {
        let (one, two) = point.goodput_of_capacity;
        let difference = point.difference();
        let mark = if difference.abs() > TOLERANCE_POINTS { " !" } else { "" };
        vec![
            format!("{} ({})", point.controller, point.profile),
            point.clients.to_string(),
            unit.show(point.slo_us),
            demand(point.demand_ratio),
            percent(one),
            percent(two),
            format!("{difference:+.1}{mark}"),
            latency(point.p99_us.0, unit),
            latency(point.p99_us.1, unit),
        ]
    };
    // The second goodput is the first and the difference.
    let dispensable = &[2, 5, 7, 8];
    Rows { heads, dispensable, rows: found.points.iter().map(row).collect() }
}

/// The unit of a table's times: that of its tightest objective, in which no other loses a digit.
fn unit(slos_us: impl Iterator<Item = f64>) -> ColumnUnit {
    ColumnUnit::of(slos_us.fold(f64::INFINITY, f64::min))
}

/// Nothing was answered where it is zero.
fn latency(us: f64, unit: ColumnUnit) -> String {
    if us > 0.0 { unit.show(us) } else { NOTHING.to_owned() }
}

pub(crate) fn onsets(found: &Agreement) -> Rows {
    let unit = unit(found.onsets.iter().map(|onset| onset.slo_us));
    let at = |ratio: Option<f64>| ratio.map_or("never".into(), demand);
    let row = |onset: &Onset| {
        let (one, two) = onset.demand_ratio;
        vec![
            format!("{} ({})", onset.controller, onset.profile),
            onset.clients.to_string(),
            unit.show(onset.slo_us),
            at(one),
            at(two),
        ]
    };
    let heads = ["falls behind at", "clients", "SLO\n", "first", "second"].map(str::to_owned);
    let mut heads = Vec::from(heads);
    heads[2].push_str(unit.name());
    Rows { heads, dispensable: &[], rows: found.onsets.iter().map(row).collect() }
}

pub(crate) fn sentence(found: &Agreement) -> String {
    let is_near = |point: &&PairedPoint| point.difference().abs() <= TOLERANCE_POINTS;
    let near = found.points.iter().filter(is_near).count();
    let (alike, all) = found.ranked_alike;
    let same_onset = |onset: &&Onset| match onset.demand_ratio {
        (Some(one), Some(two)) => (one - two).abs() <= 0.1 * one.min(two),
        (None, None) => true,
        _ => false,
    };
    let onsets = found.onsets.iter().filter(same_onset).count();
    let unmatched = match found.unmatched {
        0 => String::new(),
        1 => " 1 configuration has no valid run in one of the two, or in both.".to_owned(),
        n => format!(" {n} configurations have no valid run in one of the two, or in both."),
    };
    format!(
        "Goodput agrees within {TOLERANCE_POINTS} points of capacity in {near} of {} configurations, the order \
         of the controllers at {alike} of {all} demands, and where they fall below {} % of what could \
         be served within 10 % for {onsets} of {}.{unmatched}",
        found.points.len(),
        percent(KEEPS_UP),
        found.onsets.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(slo_us: f64, p99_us: (f64, f64)) -> PairedPoint {
        PairedPoint {
            controller: "none".into(),
            profile: "default".into(),
            clients: 100,
            slo_us,
            demand_ratio: 0.85,
            goodput_of_capacity: (0.0, 0.84),
            p99_us,
        }
    }

    fn cells(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    /// It was shown as a 99th percentile of 0 µs, and 0.85 × as 0.8 ×.
    #[test]
    fn what_answered_nothing_has_no_percentile_and_demands_keep_their_digits() {
        let points = vec![point(400.0, (0.0, 213.0))];
        let found = Agreement { points, ..Agreement::default() };
        let nothing = Experiment::default();
        let text = comparison_table((&nothing, &nothing), &found, None);
        let row = text.lines().find(|line| line.contains("none (default)")).expect("a row");
        let expected = ["0.85×", "0", "84", "+84.0", "!", "–", "213"];
        assert!(cells(row).ends_with(&expected), "{text}");
        assert!(text.contains("Goodput is in % of capacity"), "{text}");
    }

    /// It said that 0 configurations, or 1 configurations, had no valid run.
    #[test]
    fn configurations_without_a_pair_are_counted_in_words_that_fit() {
        let said = |unmatched| sentence(&Agreement { unmatched, ..Agreement::default() });
        assert!(said(0).ends_with("of 0."), "{}", said(0));
        assert!(said(1).contains(" 1 configuration has no valid run"), "{}", said(1));
        assert!(said(2).contains(" 2 configurations have no valid run"), "{}", said(2));
    }

    /// Nothing but two titles said it.
    #[test]
    fn results_of_different_scenarios_are_told_by_what_differs() {
        let of = |setting, first: &str, second: &str| Difference {
            setting,
            first: first.into(),
            second: second.into(),
        };
        let different = vec![of("SLO", "400 µs", "1 ms"), of("clients", "10", "1\u{1b}1")];
        let found = Agreement { different, ..Agreement::default() };
        let text = "the results are of different scenarios, so what differs may come of that: SLO is 400 µs in the first and \
                    1 ms in the second; clients is 10 in the first and 1\u{fffd}1 in the second";
        assert_eq!(different_settings(&found).as_deref(), Some(text));
        assert_eq!(different_settings(&Agreement::default()), None);
    }

    /// A part of a result was compared as if it were all of it.
    #[test]
    fn what_is_no_whole_result_says_so() {
        use tailwater_stats::result::{Run, RunVerdict, ShardMark};
        let of = |driver: &str| Experiment { driver: driver.into(), ..Experiment::default() };
        let mark = ShardMark {
            index: 1,
            of: 4,
            pairs: 8,
            repetitions: 1,
            digest: String::new(),
            build: String::new(),
        };
        let part = Experiment {
            short: true,
            shard: Some(mark),
            cut_short: Some("ended by SIGTERM".into()),
            runs: vec![
                Run::default(),
                Run {
                    verdict: RunVerdict { valid: true, ..RunVerdict::default() },
                    ..Run::default()
                },
            ],
            ..of("sim")
        };
        let text = comparison_table((&of("loopback"), &part), &Agreement::default(), None);
        let lines: Vec<&str> = text.lines().take(2).collect();
        assert!(lines[0].starts_with("first: ") && lines[0].ends_with("on loopback ()"), "{text}");
        let caveats = "on sim (); the short version, which is no result; shard 1/4 alone; cut short: ended by SIGTERM; \
                       1 of 2 runs are valid";
        assert!(lines[1].starts_with("second: ") && lines[1].ends_with(caveats), "{text}");
    }

    /// Each cell had the unit that suited it, so that 900 µs stood above 1.00 ms.
    #[test]
    fn all_times_of_a_column_are_in_one_unit_and_each_heading_is_another() {
        let points = vec![point(400.0, (900.0, 1_000.0)), point(50_000.0, (25_000.0, 2e6))];
        let onset = |slo_us| Onset {
            controller: "none".into(),
            profile: "default".into(),
            clients: 100,
            slo_us,
            demand_ratio: (None, Some(1.2)),
        };
        let onsets = vec![onset(400.0), onset(50_000.0)];
        let found = Agreement { points, onsets, ..Agreement::default() };
        let table = super::points(&found);
        let column = |at: usize| table.rows.iter().map(|row| &*row[at]).collect::<Vec<_>>();
        assert_eq!(column(2), ["400", "50000"]);
        assert_eq!((column(7), column(8)), (vec!["900", "25000"], vec!["1000", "2000000"]));
        assert_eq!(table.heads[7..], ["p99\nfirst, µs", "p99\nsecond, µs"]);
        let all: std::collections::BTreeSet<_> = table.heads.iter().collect();
        assert_eq!(all.len(), table.heads.len(), "{all:?}");
        let onsets = super::onsets(&found);
        assert_eq!((&*onsets.heads[2], &*onsets.rows[1][2]), ("SLO\nµs", "50000"));
    }
}
