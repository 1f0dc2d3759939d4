//! The variants of scenarios with one number of clients, below each other, at each demand.

use super::{ENOUGH, Variant, called, head, label, line, of_repetitions, ranged, variant};
use std::collections::BTreeSet;
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Summary};

/// What the others are compared with.
const OURS: &str = "tailwater";
/// Where no repetition is valid, or a scenario lacks it.
const NOTHING: &str = "–";

/// A demand of a column.
type Head = fn(&Experiment, f64) -> String;

/// Goodput of capacity with its range; p99; drops.
pub(super) fn results(results: &[String]) -> String {
    table(&parse(results), of_capacity, |summary| {
        let goodput = ranged(summary.of["goodput_of_capacity"]);
        let p99 = time(summary.of["p99_us"].median);
        format!("{goodput}; {p99}; {}", percent(summary.of["drop_ratio"].median))
    })
}

/// Thousands of requests in time per second; p99; drops: by requests offered per second, where these are what a page speaks of.
pub(super) fn by_rate(result: &str) -> String {
    let parsed = parse(&[result.to_owned()]);
    table(&parsed, in_thousands, |summary| {
        let median = |name: &str| summary.of[name].median;
        let goodput = median("goodput_of_capacity") * parsed[0].capacity_rps / 1e3;
        let [p99, drops] = [time(median("p99_us")), percent(median("drop_ratio"))];
        format!("{goodput:.1}; {p99}; {drops}")
    })
}

/// Messages that the server receives and sends for each answer.
pub(super) fn messages(result: &str) -> String {
    table(&parse(&[result.to_owned()]), of_capacity, |summary| {
        let median = |name: &str| summary.of[name].median;
        format!("{:.2}, {:.2}", median("rx_per_request"), median("tx_per_request"))
    })
}

/// Goodput of tailwater over each other's at the highest demand; a line for each scenario.
pub(super) fn over(results: &[String]) -> String {
    let results = parse(results);
    let all = variants(&results);
    let others: Vec<Variant<'_>> = all.iter().copied().filter(|&it| label(it) != OURS).collect();
    let mut heads = vec!["goodput over that of".to_owned()];
    heads.extend(others.iter().map(|&other| called(other, &all)));
    let mut text = head(&heads);
    for result in &results {
        let of_it = std::slice::from_ref(result);
        let highest = *demands(of_it).last().expect("a demand");
        let ours = ours(&variants(of_it));
        let goodput = |it: Variant<'_>| {
            find(result, it, highest).map(|found| found.of["goodput_of_capacity"].median)
        };
        let mut cells = vec![format!("{}, {highest:.1} ×", result.scenario)];
        cells.extend(others.iter().map(|&other| match (ours.and_then(goodput), goodput(other)) {
            (Some(ours), Some(theirs)) if theirs > 0.0 => format!("{:.2} ×", ours / theirs),
            _ => NOTHING.into(),
        }));
        text += &line(&cells);
    }
    text
}

/// The one of this label.
fn ours<'a>(all: &[Variant<'a>]) -> Option<Variant<'a>> {
    let ours: Vec<Variant<'a>> = all.iter().copied().filter(|&it| label(it) == OURS).collect();
    assert!(ours.len() <= 1, "{ours:?} are all called {OURS}");
    ours.first().copied()
}

fn of_capacity(_: &Experiment, demand: f64) -> String {
    format!("{demand:.1} ×")
}

fn in_thousands(result: &Experiment, demand: f64) -> String {
    format!("{:.0} k/s", demand * result.capacity_rps / 1e3)
}

/// A line for each variant of each scenario; a column for each demand.
fn table(results: &[Experiment], column: Head, cell: impl Fn(&Summary) -> String) -> String {
    let (demands, all) = (demands(results), variants(results));
    let mut heads = ["scenario", "controller"].map(String::from).to_vec();
    heads.extend(demands.iter().map(|&demand| column(&results[0], demand)));
    let mut text = head(&heads);
    for result in results {
        // What all cells have in common is said once.
        let counts: BTreeSet<u32> = result.summary.iter().map(|it| it.repetitions).collect();
        let are_alike = counts.len() == 1;
        let mut first = described(result);
        if let (true, Some(count)) = (are_alike, counts.first()) {
            first = of_repetitions(first, *count as usize);
        }
        for it in variants(std::slice::from_ref(result)) {
            let mut cells = vec![std::mem::take(&mut first), called(it, &all)];
            cells.extend(demands.iter().map(|&demand| {
                find(result, it, demand).map_or(NOTHING.into(), |found| {
                    let count = if are_alike { ENOUGH } else { found.repetitions as usize };
                    of_repetitions(cell(found), count)
                })
            }));
            text += &line(&cells);
        }
    }
    text
}

fn parse(results: &[String]) -> Vec<Experiment> {
    let parse = |text: &String| -> Experiment {
        let result: Experiment = serde_json::from_str(text).expect("a result of tailwater run");
        let clients = |summary: &Summary| summary.clients == result.summary[0].clients;
        assert!(result.summary.iter().all(clients), "{} has several clients", result.scenario);
        result
    };
    results.iter().map(parse).collect()
}

fn described(result: &Experiment) -> String {
    let thousands = result.capacity_rps / 1e3;
    format!("{}, {thousands:.1} k/s, SLO {}", result.scenario, time(result.slo_us))
}

/// Those of the scenarios, each once.
fn variants(results: &[Experiment]) -> Vec<Variant<'_>> {
    let mut seen = Vec::new();
    for summary in results.iter().flat_map(|result| &result.summary) {
        if !seen.contains(&variant(summary)) {
            seen.push(variant(summary));
        }
    }
    seen
}

fn demands(results: &[Experiment]) -> Vec<f64> {
    let all = results.iter().flat_map(|result| &result.summary);
    let mut demands: Vec<f64> = all.map(|summary| summary.demand_ratio).collect();
    demands.sort_by(f64::total_cmp);
    demands.dedup();
    demands
}

fn find<'a>(result: &'a Experiment, it: Variant<'_>, demand: f64) -> Option<&'a Summary> {
    let is_it = |of: &&Summary| variant(of) == it && of.demand_ratio.total_cmp(&demand).is_eq();
    result.summary.iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::Spread;

    fn summary(profile: &str, demand_ratio: f64, repetitions: u32, goodput: [f64; 3]) -> Summary {
        of_controller("none", (profile, demand_ratio), repetitions, goodput)
    }

    fn of_controller(
        controller: &str,
        (profile, demand_ratio): (&str, f64),
        repetitions: u32,
        goodput: [f64; 3],
    ) -> Summary {
        let alike = |value| Spread { min: value, median: value, max: value };
        let [min, median, max] = goodput;
        let of = [
            ("goodput_of_capacity", Spread { min, median, max }),
            ("p99_us", alike(1_710.0)),
            ("drop_ratio", alike(0.18)),
            ("rx_per_request", alike(1.6)),
            ("tx_per_request", alike(1.034)),
        ];
        Summary {
            controller: controller.into(),
            profile: profile.into(),
            demand_ratio,
            repetitions,
            of: of.map(|(name, spread)| (name.to_owned(), spread)).into(),
            ..Summary::default()
        }
    }

    fn result(scenario: &str, summary: Vec<Summary>) -> String {
        let scenario = scenario.to_owned();
        let result = Experiment {
            scenario,
            summary,
            capacity_rps: 11_640.0,
            slo_us: 2_000.0,
            ..Experiment::default()
        };
        serde_json::to_string(&result).expect("JSON")
    }

    fn two() -> [String; 2] {
        let locks = vec![
            summary("default", 1.5, 5, [0.22, 0.25, 0.28]),
            summary(OURS, 1.0, 1, [0.9; 3]),
            summary(OURS, 1.5, 3, [0.98, 1.0, 1.02]),
        ];
        [result("locks", locks), result("keys", vec![summary(OURS, 1.5, 3, [0.5; 3])])]
    }

    #[test]
    fn each_variant_has_a_line_and_what_is_not_valid_a_dash() {
        let found = results(&two());
        for row in [
            "| scenario | controller | 1.0 × | 1.5 × |\n",
            "| locks, 11.6 k/s, SLO 2.00 ms | none | – | 25 [22–28]; 1.71 ms; 18 |\n",
            "|  | tailwater | 90; 1.71 ms; 18 (n = 1) | 100 [98–102]; 1.71 ms; 18 |\n",
            "| keys, 11.6 k/s, SLO 2.00 ms | tailwater | – | 50; 1.71 ms; 18 |\n",
        ] {
            assert!(found.contains(row), "{row} is not in\n{found}");
        }
    }

    #[test]
    fn a_rate_stands_for_its_share_of_capacity() {
        let found = by_rate(&two()[0]);
        for row in [
            "| scenario | controller | 12 k/s | 17 k/s |\n",
            "|  | tailwater | 10.5; 1.71 ms; 18 (n = 1) | 11.6; 1.71 ms; 18 |\n",
        ] {
            assert!(found.contains(row), "{row} is not in\n{found}");
        }
    }

    #[test]
    fn repetitions_that_all_cells_have_are_told_once() {
        let once = [0.5, 1.5].map(|demand| summary("default", demand, 1, [0.5; 3]));
        let found = results(&[result("locks", once.into())]);
        assert!(found.contains("SLO 2.00 ms (n = 1) | none | 50; 1.71 ms; 18 | 50;"), "{found}");
    }

    #[test]
    fn messages_are_those_for_each_answer() {
        let found = messages(&two()[1]);
        assert!(found.ends_with("| tailwater | 1.60, 1.03 |\n"), "{found}");
    }

    #[test]
    fn ours_is_compared_at_the_highest_demand() {
        let found = over(&two());
        let rows = "| locks, 1.5 × | 4.00 × |\n| keys, 1.5 × | – |\n";
        assert!(found.ends_with(rows), "{found}");
    }

    #[test]
    fn two_controllers_with_one_profile_are_told_apart() {
        let paper =
            |controller, goodput| of_controller(controller, ("paper", 1.5), 3, [goodput; 3]);
        let both =
            vec![paper("breakwater", 0.8), paper("dagor", 0.5), summary(OURS, 1.5, 3, [1.0; 3])];
        let both = [result("locks", both)];
        let found = results(&both);
        for row in
            ["| breakwater, paper | 80; 1.71 ms; 18 |", "|  | dagor, paper | 50; 1.71 ms; 18 |"]
        {
            assert!(found.contains(row), "{row} is not in\n{found}");
        }
        let found = over(&both);
        let rows = "| goodput over that of | breakwater, paper | dagor, paper |\n|---|---|---|\n\
                    | locks, 1.5 × | 1.25 × | 2.00 × |\n";
        assert_eq!(found, rows);
    }
}
