//! In which settings two results differ that are the same wherever controllers, builds or drivers are compared.

use crate::naming::{count, demand, round_time};
use crate::pairing::is_near;
use crate::result::Experiment;
use serde::Serialize;
use std::collections::BTreeSet;

/// A setting in which two results differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// Which: `scenario`, `service`, `arrivals`, `SLO`, `clients` or `demand`.
    pub setting: &'static str,
    /// What it is in the first, for people.
    pub first: String,
    /// What it is in the second.
    pub second: String,
}

/// Values of a setting that are named; of the others how many there are.
const NAMED_MAX: usize = 12;

/// What makes two results ones of different scenarios, in the order of a scenario file. Controllers, driver, seed, repetitions and
/// build are what results are compared for, and a title is words for people.
pub(crate) fn differences(first: &Experiment, second: &Experiment) -> Vec<Difference> {
    let of_texts = [
        ("scenario", &first.scenario, &second.scenario),
        ("service", &first.service, &second.service),
        ("arrivals", &first.arrivals, &second.arrivals),
    ];
    let differ =
        |(_, one, two): &(&str, &String, &String)| is_told(one) && is_told(two) && one != two;
    let told = |(setting, one, two): (&'static str, &String, &String)| Difference {
        setting,
        first: one.clone(),
        second: two.clone(),
    };
    let mut all: Vec<Difference> = of_texts.into_iter().filter(differ).map(told).collect();
    // A short version has fewer objectives, clients and demands, and says so itself.
    if first.short == second.short {
        let (one, two) = (Values::of(first), Values::of(second));
        let lists = [
            ("SLO", one.has_slos_of(&two), one.slos(), two.slos()),
            ("clients", one.has_clients_of(&two), one.counts(), two.counts()),
            ("demand", one.asks_as(&two), one.demands(), two.demands()),
        ];
        let differing = lists.into_iter().filter(|(_, alike, ..)| !*alike);
        all.extend(differing.map(|(setting, _, first, second)| Difference {
            setting,
            first,
            second,
        }));
    }
    all
}

/// Results of earlier versions tell less, and a scenario from standard input has no name.
fn is_told(text: &str) -> bool {
    !text.is_empty() && text != "-"
}

/// Whether it may lack values of its scenario. Medians alone lack what had no valid run.
fn is_part(of: &Experiment) -> bool {
    of.shard.is_some() || of.cut_short.is_some() || of.runs.is_empty()
}

/// The values of a result's configurations, each once and in order.
struct Values {
    is_part: bool,
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
        let medians = summary().filter_map(|one| one.of.get("asked_rps").map(|rate| rate.median));
        Self {
            is_part: is_part(result),
            clients: clients.collect(),
            slos_us: distinct(slos),
            ratios: distinct(ratios),
            asked_rps: distinct(runs().map(|run| run.rates.asked_rps).chain(medians)),
        }
    }

    fn knows_ratios(&self) -> bool {
        self.ratios.iter().any(|ratio| *ratio > 0.0)
    }

    /// Both have all values of each other; a part has none that the whole lacks.
    fn is_as(&self, other: &Self, is_within: impl Fn(&Self, &Self) -> bool) -> bool {
        match (self.is_part, other.is_part) {
            (false, false) => is_within(self, other) && is_within(other, self),
            (false, true) => is_within(other, self),
            (true, false) => is_within(self, other),
            // Two parts of one whole may have nothing in common.
            (true, true) => true,
        }
    }

    fn has_slos_of(&self, other: &Self) -> bool {
        self.is_as(other, |one, two| are_within(&one.slos_us, &two.slos_us))
    }

    fn has_clients_of(&self, other: &Self) -> bool {
        self.is_as(other, |one, two| one.clients.is_subset(&two.clients))
    }

    /// A demand is stated as a share of capacity or in requests per second, and what is stated is alike.
    fn asks_as(&self, other: &Self) -> bool {
        let by_share = self.is_as(other, |one, two| are_within(&one.ratios, &two.ratios));
        let by_rate = self.is_as(other, |one, two| are_within(&one.asked_rps, &two.asked_rps));
        if !self.knows_ratios() {
            return by_rate;
        }
        // Medians of earlier versions tell shares alone.
        let tell_rates = !self.asked_rps.is_empty() && !other.asked_rps.is_empty();
        by_share || (tell_rates && by_rate)
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

fn are_within(some: &[f64], all: &[f64]) -> bool {
    some.iter().all(|one| all.iter().any(|other| is_near(*one, *other)))
}

fn list(values: Vec<String>) -> String {
    let beyond = values.len().saturating_sub(NAMED_MAX);
    let named = values.into_iter().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
    if beyond == 0 { named } else { format!("{named} and {beyond} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{AskedRun, Rates, Run, ShardMark, Spread, Summary};

    fn run(controller: &str, clients: u32, demand_ratio: f64, asked_rps: f64) -> Run {
        let controller = controller.into();
        Run {
            asked: AskedRun {
                controller,
                clients,
                demand_ratio,
                slo_us: 400.0,
                ..AskedRun::default()
            },
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
        let piped = Experiment { scenario: "-".into(), ..first.clone() };
        assert_eq!(told(&first, &piped), [""; 0], "of standard input");
        let titled = |title: &str| Experiment { title: title.into(), ..first.clone() };
        assert_eq!(told(&titled("1 loops"), &titled("One loop")), [""; 0], "in other words");
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

    /// `clients-3700` on sockets, of which one demand has no valid run, was said to be another scenario than simulated.
    #[test]
    fn medians_alone_need_not_have_all_values() {
        let medians = |demand_ratio, asked_rps| {
            let summary = Summary {
                clients: 10,
                slo_us: 400.0,
                demand_ratio,
                of: [("asked_rps".to_owned(), Spread::of(&[asked_rps]))].into(),
                ..Summary::default()
            };
            Experiment { summary: vec![summary], ..result(Vec::new()) }
        };
        let whole = result(vec![run("a", 10, 1.0, 60_000.0), run("a", 10, 2.0, 120_000.0)]);
        assert_eq!(told(&medians(2.0, 90_000.0), &whole), [""; 0], "the same share");
        assert_eq!(told(&whole, &medians(1.1, 60_000.0)), [""; 0], "the same requests per second");
        assert_eq!(told(&medians(3.0, 90_000.0), &whole), ["demand: 3.0×; 1.0×, 2.0×"]);
        let mut earlier = medians(3.0, 90_000.0);
        earlier.summary[0].of.clear();
        assert_eq!(told(&earlier, &whole), ["demand: 3.0×; 1.0×, 2.0×"], "it told no rates");
    }

    #[test]
    fn a_short_version_need_not_have_all_values() {
        let whole = result(vec![run("a", 10, 1.0, 60_000.0), run("a", 1_000, 2.0, 120_000.0)]);
        let short = Experiment { short: true, ..result(vec![run("a", 10, 1.0, 60_000.0)]) };
        assert_eq!((told(&whole, &short), told(&short, &short)), (vec![], vec![]));
        let other = Experiment { short: true, ..result(vec![run("a", 10, 3.0, 180_000.0)]) };
        assert_eq!(told(&short, &other), ["demand: 1.0×; 3.0×"]);
    }

    #[test]
    fn many_values_are_counted() {
        let values = (1..=14).map(|value| value.to_string()).collect();
        assert_eq!(list(values), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 2 more");
    }
}
