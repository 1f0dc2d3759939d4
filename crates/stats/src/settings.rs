//! In which settings two results differ that are the same wherever controllers, builds or drivers are compared.

use crate::naming::{count, demand, round_time};
use crate::pairing::is_near;
use crate::result::Experiment;
use serde::Serialize;
use std::collections::BTreeSet;

/// A setting in which two results differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// Which: `scenario`, `title`, `service`, `arrivals`, `SLO`, `clients` or `demand`.
    pub setting: &'static str,
    /// What it is in the first, for people.
    pub first: String,
    /// What it is in the second.
    pub second: String,
}

/// Values of a setting that are named; of the others how many there are.
const NAMED_MAX: usize = 12;

/// What makes two results ones of different scenarios, in the order of a scenario file. Controllers, driver, seed, repetitions and
/// build are what results are compared for.
pub(crate) fn differences(first: &Experiment, second: &Experiment) -> Vec<Difference> {
    let of_texts = [
        ("scenario", &first.scenario, &second.scenario),
        ("title", &first.title, &second.title),
        ("service", &first.service, &second.service),
        ("arrivals", &first.arrivals, &second.arrivals),
    ];
    // A title that is the name is left out, and results of earlier versions tell less.
    let differ =
        |(_, one, two): &(&str, &String, &String)| !one.is_empty() && !two.is_empty() && one != two;
    let told = |(setting, one, two): (&'static str, &String, &String)| Difference {
        setting,
        first: one.clone(),
        second: two.clone(),
    };
    let mut all: Vec<Difference> = of_texts.into_iter().filter(differ).map(told).collect();
    // A part has not all values of its scenario, and says so itself.
    let is_part = |of: &Experiment| of.shard.is_some() || of.cut_short.is_some();
    if !is_part(first) && !is_part(second) {
        let (one, two) = (Values::of(first), Values::of(second));
        let lists = [
            ("SLO", !are_near(&one.slos_us, &two.slos_us), one.slos(), two.slos()),
            ("clients", one.clients != two.clients, one.counts(), two.counts()),
            ("demand", !one.asks_as(&two), one.demands(), two.demands()),
        ];
        let differing = lists.into_iter().filter(|(_, differ, ..)| *differ);
        all.extend(differing.map(|(setting, _, first, second)| Difference {
            setting,
            first,
            second,
        }));
    }
    all
}

/// The values of a result's configurations, each once and in order.
struct Values {
    clients: BTreeSet<u32>,
    slos_us: Vec<f64>,
    /// Demand ÷ capacity; 0 where no capacity is known.
    ratios: Vec<f64>,
    asked_rps: Vec<f64>,
}

impl Values {
    fn of(result: &Experiment) -> Self {
        let runs = || result.runs.iter();
        let summary = || result.summary.iter();
        let slos = runs().map(|run| run.asked.slo_us).chain(summary().map(|one| one.slo_us));
        let ratios =
            runs().map(|run| run.asked.demand_ratio).chain(summary().map(|one| one.demand_ratio));
        let clients = runs().map(|run| run.asked.clients).chain(summary().map(|one| one.clients));
        Self {
            clients: clients.collect(),
            slos_us: distinct(slos),
            ratios: distinct(ratios),
            asked_rps: distinct(runs().map(|run| run.rates.asked_rps)),
        }
    }

    fn knows_ratios(&self) -> bool {
        self.ratios.iter().any(|ratio| *ratio > 0.0)
    }

    /// A demand is stated as a share of capacity or in requests per second, and what is stated is alike.
    fn asks_as(&self, other: &Self) -> bool {
        let by_share = self.knows_ratios() && are_near(&self.ratios, &other.ratios);
        by_share || are_near(&self.asked_rps, &other.asked_rps)
    }

    fn slos(&self) -> String {
        list(self.slos_us.iter().map(|us| round_time(*us)).collect())
    }

    fn counts(&self) -> String {
        list(self.clients.iter().map(|clients| count(u64::from(*clients))).collect())
    }

    fn demands(&self) -> String {
        if self.knows_ratios() {
            return list(self.ratios.iter().map(|ratio| demand(*ratio)).collect());
        }
        let rates = self.asked_rps.iter().map(|rate| count(rate.round() as u64));
        format!("{} requests/s", list(rates.collect()))
    }
}

/// In order; of those within a hundredth of one another the least.
fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by(|next, kept| is_near(*next, *kept));
    all
}

fn are_near(one: &[f64], two: &[f64]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_near(*one, *two))
}

fn list(values: Vec<String>) -> String {
    let beyond = values.len().saturating_sub(NAMED_MAX);
    let named = values.into_iter().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
    if beyond == 0 { named } else { format!("{named} and {beyond} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Asked, Rates, Run, ShardMark};

    fn run(controller: &str, clients: u32, demand_ratio: f64, asked_rps: f64) -> Run {
        let controller = controller.into();
        Run {
            asked: Asked { controller, clients, demand_ratio, slo_us: 400.0, ..Asked::default() },
            rates: Rates { asked_rps, ..Rates::default() },
            ..Run::default()
        }
    }

    fn result(runs: Vec<Run>) -> Experiment {
        let (scenario, service) = ("day".to_owned(), "constant, mean 10us".to_owned());
        Experiment { scenario, service, runs, ..Experiment::default() }
    }

    /// Each as `setting: first; second`.
    fn told(first: &Experiment, second: &Experiment) -> Vec<String> {
        let all = differences(first, second).into_iter();
        all.map(|it| format!("{}: {}; {}", it.setting, it.first, it.second)).collect()
    }

    #[test]
    fn what_results_are_compared_for_is_no_difference() {
        let first = result(vec![run("a", 10, 1.0, 60_000.0), run("a", 10, 2.0, 120_000.0)]);
        let second = Experiment {
            driver: "sim".into(),
            seed: 9,
            ..result(vec![run("b", 10, 1.0, 30_000.0), run("b", 10, 2.0, 60_000.0)])
        };
        assert_eq!(told(&first, &second), [""; 0], "shares of two capacities");
        let rates = result(vec![run("a", 10, 1.1, 60_000.0), run("a", 10, 2.2, 120_300.0)]);
        assert_eq!(told(&first, &rates), [""; 0], "the same requests per second");
        let earlier = Experiment { service: String::new(), ..first.clone() };
        assert_eq!(told(&first, &earlier), [""; 0], "it did not tell");
    }

    #[test]
    fn what_makes_another_scenario_of_it_is_named() {
        let first = result(vec![run("a", 10, 1.0, 60_000.0)]);
        let mut second = result(vec![run("a", 1_000, 1.0, 60_000.0)]);
        second.runs.push(run("a", 1_000, 3.0, 180_000.0));
        second.runs.iter_mut().for_each(|run| run.asked.slo_us = 1_500.0);
        second.scenario = "night".into();
        second.service = "exponential, mean 90us".into();
        let expected = [
            "scenario: day; night",
            "service: constant, mean 10us; exponential, mean 90us",
            "SLO: 400 µs; 1.5 ms",
            "clients: 10; 1,000",
            "demand: 1.0×; 1.0×, 3.0×",
        ];
        assert_eq!(told(&first, &second), expected);
        let titled = |title: &str| Experiment { title: title.into(), ..first.clone() };
        assert_eq!(told(&titled("A day"), &titled("Its night")), ["title: A day; Its night"]);
        let by_hand = |rate| result(vec![run("a", 10, 0.0, rate)]);
        let rates = ["demand: 1,000 requests/s; 2,000 requests/s"];
        assert_eq!(told(&by_hand(1_000.0), &by_hand(2_000.0)), rates);
    }

    #[test]
    fn a_part_of_a_result_need_not_have_all_values() {
        let whole = result(vec![run("a", 10, 1.0, 60_000.0), run("a", 10, 2.0, 120_000.0)]);
        let mut part = result(vec![run("a", 10, 1.0, 60_000.0)]);
        assert_eq!(told(&whole, &part), ["demand: 1.0×, 2.0×; 1.0×"]);
        part.cut_short = Some("ended by SIGTERM".into());
        assert_eq!(told(&whole, &part), [""; 0]);
        let mark = ShardMark {
            index: 0,
            of: 2,
            pairs: 2,
            repetitions: 1,
            digest: String::new(),
            build: String::new(),
        };
        (part.cut_short, part.shard) = (None, Some(mark));
        assert_eq!(told(&whole, &part), [""; 0]);
    }

    #[test]
    fn many_values_are_counted() {
        let values = (1..=14).map(|value| value.to_string()).collect();
        assert_eq!(list(values), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 2 more");
    }
}
