//! Chapter II of the thesis beside `tailwater suite traits --json`.

mod text;
mod utilisation;

pub(super) use text::text;
pub(super) use utilisation::utilisation;

use super::{head, line};
use serde::Deserialize;
use std::collections::BTreeMap;
use tailwater_experiment::capacity;
use tailwater_report::{count, time};

/// What the thesis says of a service: Fig. 2.9, and the leaves' logical cores (Table 2.2).
struct Stated {
    service: &'static str,
    name: &'static str,
    saturation_qps: f64,
    leaf_cores: f64,
}

const THESIS: [Stated; 4] = [
    stated("hdsearch", "HDSearch", 11_500.0, 72.0),
    stated("router", "Router", 12_000.0, 64.0),
    stated("setalgebra", "Set Algebra", 16_500.0, 72.0),
    stated("recommend", "Recommend", 13_000.0, 72.0),
];

const fn stated(
    service: &'static str,
    name: &'static str,
    saturation_qps: f64,
    leaf_cores: f64,
) -> Stated {
    Stated { service, name, saturation_qps, leaf_cores }
}

/// From … to, by where the cost of a switch comes from.
type BySource = BTreeMap<String, (f64, f64)>;

#[derive(Deserialize)]
struct Found {
    /// None in files of before it was measured.
    #[serde(default)]
    switch_us: BySource,
    services: Vec<Service>,
}

#[derive(Deserialize)]
struct Service {
    service: String,
    capacity: Capacity,
    loads: Vec<Load>,
    cost: Option<Cost>,
}

#[derive(Deserialize)]
struct Capacity {
    plateau_rps: f64,
    /// Requests in flight and answers per second.
    points: Vec<(u32, f64)>,
}

impl Capacity {
    /// A plateau is one only where the last step of the sweep adds little.
    fn last_step(&self) -> String {
        let [.., (from, _), (to, _)] = &self.points[..] else { return dash() };
        let rise = capacity::last_rise(&self.points).unwrap_or_default();
        let mark = if capacity::still_rises(&self.points) { ", **still rising**" } else { "" };
        format!("{from} → {to}: {:+.0} %{mark}", 100.0 * rise)
    }
}

#[derive(Deserialize)]
struct Load {
    rps: f64,
    of_capacity: f64,
    /// Without the watch.
    plain: Runs,
    /// With it.
    watched: Runs,
}

#[derive(Deserialize)]
struct Runs {
    runs: usize,
    valid: usize,
    answered: f64,
    throughput_rps: f64,
    /// How many requests ended in which way, of all runs that count; none in files of before it was told.
    #[serde(default)]
    fates: BTreeMap<String, f64>,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    retransmissions: Option<f64>,
    tiers: Vec<Tier>,
}

#[derive(Deserialize)]
struct Tier {
    tier: String,
    per_query: BTreeMap<String, f64>,
    #[serde(default)]
    switching_percent: BySource,
}

#[derive(Deserialize)]
struct Cost {
    #[serde(flatten)]
    whole: Ratios,
    /// The least share of its requests that a run answered; none in files of before it was told.
    answered: Option<f64>,
    /// None in files of before each was measured by itself.
    #[serde(default)]
    parts: BTreeMap<String, Ratios>,
}

#[derive(Deserialize)]
struct Ratios {
    cpu: Option<Compared>,
    p50: Option<Compared>,
    p99: Option<Compared>,
}

#[derive(Deserialize)]
struct Compared {
    ratio: f64,
    low: f64,
    high: f64,
    pairs: usize,
}

/// Those of the thesis, in its order, that the file has.
fn each(result: &str) -> Vec<(&'static Stated, Service)> {
    let found: Found = serde_json::from_str(result).expect("what suite traits --json writes");
    let mut services = found.services;
    let mut take = |stated: &'static Stated| {
        let at = services.iter().position(|one| one.service == stated.service)?;
        Some((stated, services.swap_remove(at)))
    };
    THESIS.iter().filter_map(&mut take).collect()
}

impl Load {
    /// What both kinds of runs tell of each tier; no key is told by both.
    fn tiers(&self) -> Vec<Tier> {
        let both = self.plain.tiers.iter().zip(&self.watched.tiers);
        let tier = |(plain, watched): (&Tier, &Tier)| Tier {
            tier: plain.tier.clone(),
            switching_percent: plain.switching_percent.clone(),
            per_query: plain
                .per_query
                .clone()
                .into_iter()
                .chain(watched.per_query.clone())
                .collect(),
        };
        both.map(tier).collect()
    }
}

impl Tier {
    fn name(&self) -> &str {
        if self.tier.is_empty() { "mid-tier" } else { &self.tier }
    }

    fn shown(&self, key: &str, digits: usize) -> String {
        self.per_query.get(key).map_or_else(dash, |value| format!("{value:.digits$}"))
    }

    fn time_of(&self, key: &str) -> String {
        self.per_query.get(key).map_or_else(dash, |us| time(*us))
    }
}

fn dash() -> String {
    "–".into()
}

fn rate(rps: f64) -> String {
    count(rps.round().max(0.0) as u64)
}

/// Fig. 2.9, and what its numbers allow a leaf to take of a core for a query, beside what ours take.
pub(super) fn saturation(result: &str) -> String {
    let heads = [
        "service",
        "thesis, queries/s",
        "here, queries/s",
        "last step of the sweep, in flight",
        "thesis allows, leaf core-ms",
        "here, leaf core-ms",
        "thesis ÷ here",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        let bound_ms = 1e3 * stated.leaf_cores / stated.saturation_qps;
        // Requests without an answer take CPU time, too.
        let tells = |runs: &&Runs| runs.valid > 0 && runs.answered >= 0.99;
        let highest = service.loads.iter().map(|load| &load.plain).rev().find(tells);
        let leaves = || highest?.tiers.get(1)?.per_query.get("core_ms").copied();
        let ours = leaves();
        table += &line(&[
            stated.name.into(),
            rate(stated.saturation_qps),
            rate(service.capacity.plateau_rps),
            service.capacity.last_step(),
            format!("≤ {bound_ms:.2}"),
            ours.map_or_else(dash, |ms| format!("{ms:.3}")),
            ours.map_or_else(dash, |ms| format!("{:.0} ×", bound_ms / ms)),
        ]);
    }
    table
}

/// Fig. 2.10. The thesis prints two numbers of it: up to 1.45 × the median at 1,000, and tails of 22 ms at most.
pub(super) fn latency(result: &str) -> String {
    let heads = [
        "service",
        "load, queries/s",
        "of capacity",
        "answered",
        "p50",
        "p99",
        "p99.9",
        "p50 ÷ that of the middle load",
        "runs that count",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        let middle = service.loads.get(1).map(|load| load.plain.p50_us);
        for load in &service.loads {
            let ratio = middle.map_or_else(dash, |us| format!("{:.2}", load.plain.p50_us / us));
            table += &line(&[
                stated.name.into(),
                rate(load.rps),
                format!("{:.0} %", 100.0 * load.of_capacity),
                format!("{:.1} %", 100.0 * load.plain.answered),
                time(load.plain.p50_us),
                time(load.plain.p99_us),
                time(load.plain.p999_us),
                ratio,
                format!("{} of {}", load.plain.valid, load.plain.runs),
            ]);
        }
    }
    table
}

/// Figs 2.11 to 2.14: system calls per query.
pub(super) fn calls(result: &str) -> String {
    const KINDS: [(&str, &str); 7] = [
        ("syscalls", "all"),
        ("futex", "futex"),
        ("send", "send, write"),
        ("receive", "receive, read"),
        ("poll", "poll"),
        ("epoll_ctl", "epoll_ctl"),
        ("other_calls", "others"),
    ];
    per_tier(result, &KINDS, |tier, key| tier.shown(key, 2))
}

/// Figs 2.15 to 2.18: waits for a core, softirqs, and of the mid-tier the parts of a mean query's latency.
pub(super) fn waits(result: &str) -> String {
    const TIMES: [(&str, &str); 8] = [
        ("runqueue_us", "run queue, all of a query"),
        ("queued_us", "a request waits for its handler, mean"),
        ("wait_p50_us", "one wait, p50"),
        ("wait_p99_us", "p99"),
        ("wait_p999_us", "p99.9"),
        ("net_rx_p99_us", "net_rx, p99"),
        ("sched_p99_us", "sched, p99"),
        ("rcu_p99_us", "rcu, p99"),
    ];
    per_tier(result, &TIMES, Tier::time_of)
}

/// Fig. 4.2 of the mid-tier: the parts of the mean query.
pub(super) fn shares(result: &str) -> String {
    let heads = [
        "service",
        "load, queries/s",
        "waiting for a core",
        "running",
        "elsewhere",
        "of it queued in the mid-tier",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        for load in &service.loads {
            let share = |key: &str| {
                let front = load.plain.tiers.first();
                front.map_or_else(dash, |tier| match tier.shown(key, 0) {
                    none if none == dash() => none,
                    percent => format!("{percent} %"),
                })
            };
            table += &line(&[
                stated.name.into(),
                rate(load.rps),
                share("runnable_percent"),
                share("running_percent"),
                share("blocked_percent"),
                share("queued_percent"),
            ]);
        }
    }
    table
}

/// Fig. 2.19 without its contention: context switches per query, and segments that TCP sent again, by all programs of the machine.
pub(super) fn switches(result: &str) -> String {
    let heads = [
        "service",
        "load, queries/s",
        "tier",
        "voluntary",
        "involuntary",
        "resent by the machine, per million queries",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        for load in &service.loads {
            for (number, tier) in load.tiers().iter().enumerate() {
                // It is no tier's: once for each load.
                let again = load.watched.retransmissions;
                let again = match number {
                    0 => again.map_or_else(dash, |it| format!("{:.0}", 1e6 * it)),
                    _ => String::new(),
                };
                table += &line(&[
                    stated.name.into(),
                    rate(load.rps),
                    tier.name().into(),
                    tier.shown("voluntary", 2),
                    tier.shown("involuntary", 2),
                    again,
                ]);
            }
        }
    }
    table
}

/// Fig. 4.4: switches times what one costs, as a share of the CPU time of the tier.
pub(super) fn switching(result: &str) -> String {
    const SOURCES: [&str; 2] = ["measured", "published"];
    let Found { switch_us, .. } =
        serde_json::from_str(result).expect("what suite traits --json writes");
    let head_of = |source: &&str| match switch_us.get(*source) {
        Some((low, high)) => format!("of CPU, % at {low:.1} to {high:.1} µs ({source})"),
        None => format!("of CPU, % ({source})"),
    };
    let heads = ["service", "load, queries/s", "tier", "switches of a query"].map(str::to_owned);
    let mut table = head(&heads.into_iter().chain(SOURCES.iter().map(head_of)).collect::<Vec<_>>());
    for (stated, service) in each(result) {
        for load in &service.loads {
            for tier in &load.plain.tiers {
                let of = |key: &str| tier.per_query.get(key).copied();
                let both = of("voluntary").zip(of("involuntary"));
                let both = both.map_or_else(dash, |(one, other)| format!("{:.2}", one + other));
                let share = |source: &&str| match tier.switching_percent.get(*source) {
                    Some((low, high)) => format!("{low:.0} to {high:.0}"),
                    None => dash(),
                };
                let mut cells = vec![stated.name.into(), rate(load.rps), tier.name().into(), both];
                cells.extend(SOURCES.iter().map(share));
                table += &line(&cells);
            }
        }
    }
    table
}

/// What the watch takes, where the files have it, in their order: the watch as it is, then each of its parts all the time.
pub(super) fn cost(results: &[String]) -> String {
    let whole = ["service", "pairs", "CPU per answer", "CPU goal", "p50", "p99"];
    let heads: Vec<String> = whole.iter().chain(&PARTS).map(|head| (*head).into()).collect();
    let mut table = head(&heads);
    for (stated, service) in results.iter().flat_map(|result| each(result)) {
        let Some(cost) = service.cost else { continue };
        let pairs = cost.whole.cpu.as_ref().map_or_else(dash, |it| it.pairs.to_string());
        let Ratios { cpu, p50, p99 } = &cost.whole;
        let mut cells =
            vec![stated.name.into(), pairs, shown(cpu), verdict(&cost), shown(p50), shown(p99)];
        cells.extend(
            PARTS.iter().map(|part| cost.parts.get(*part).map_or_else(dash, |it| shown(&it.cpu))),
        );
        table += &line(&cells);
    }
    table
}

/// Of CPU per answer, as `suite traits --cost` judges it.
const GOAL: f64 = 1.05;

/// CPU per answer has nothing of the watch's own thread: what that takes of the generator's core may show in latency.
fn verdict(Cost { whole: Ratios { cpu, p50, p99 }, answered, .. }: &Cost) -> String {
    let told = match cpu {
        _ if answered.is_some_and(|share| share < 0.99) => "not told: requests were lost",
        Some(cpu) if cpu.high <= GOAL => "met",
        Some(cpu) if cpu.low > GOAL => "missed",
        _ => "not told",
    };
    let rises = |of: &Option<Compared>| of.as_ref().is_some_and(|it| it.low > 1.0);
    let rising = [("p50", p50), ("p99", p99)].into_iter().filter(|(_, of)| rises(of));
    let rising = rising.map(|(name, _)| format!("; {name} rises"));
    std::iter::once(told.to_owned()).chain(rising).collect()
}

/// As the file has them.
const PARTS: [&str; 3] = ["system calls", "waits", "softirqs"];

fn shown(of: &Option<Compared>) -> String {
    of.as_ref()
        .map_or_else(dash, |it| format!("× {:.3} ({:.3} to {:.3})", it.ratio, it.low, it.high))
}

/// A line for each service, load and tier, and a column for each quantity.
fn per_tier(
    result: &str,
    quantities: &[(&str, &str)],
    shown: impl Fn(&Tier, &str) -> String,
) -> String {
    let names = quantities.iter().map(|(_, name)| (*name).to_owned());
    let heads = ["service", "load, queries/s", "tier"].map(str::to_owned);
    let mut table = head(&heads.into_iter().chain(names).collect::<Vec<_>>());
    for (stated, service) in each(result) {
        for load in &service.loads {
            for tier in load.tiers() {
                let mut cells = vec![stated.name.into(), rate(load.rps), tier.name().into()];
                cells.extend(quantities.iter().map(|(key, _)| shown(&tier, key)));
                table += &line(&cells);
            }
        }
    }
    table
}

#[test]
fn the_thesis_numbers_stand_beside_those_of_the_file() {
    let result = r#"{"switch_us":{"measured":[1.26,2.04]},"services":[
        {"service":"setalgebra","capacity":{"plateau_rps":40000.4,"points":[[4,9000],[16,30000.0],[64,40000.4]]},
         "loads":[{"rps":100,"of_capacity":0.0025,
          "plain":{"runs":3,"valid":2,"answered":0.994,"throughput_rps":100,"p50_us":150,"p99_us":400,"p999_us":900,
           "tiers":[{"tier":"","per_query":{"runnable_percent":12.4,"voluntary":2.5,"involuntary":0.5},
                     "switching_percent":{"measured":[3.8,6.1]}},
                    {"tier":"leaf","per_query":{"core_ms":0.05}}]},
          "watched":{"runs":3,"valid":3,"answered":1,"throughput_rps":100,"p50_us":190,"p99_us":700,"p999_us":999,"retransmissions":0.00002,
           "tiers":[{"tier":"","per_query":{"futex":0.5}},
                    {"tier":"leaf","per_query":{"wait_p99_us":70}}]}}]}]}"#;
    assert!(
        saturation(result).ends_with("| Set Algebra | 16,500 | 40,000 | 16 → 64: +33 %, **still rising** | ≤ 4.36 | 0.050 | 87 × |\n")
    );
    let flat = result.replace("30000.0", "39000.0");
    assert!(saturation(&flat).contains("| 40,000 | 16 → 64: +3 % |"), "it is a plateau");
    let lost = result.replace("0.994", "0.98");
    assert!(
        saturation(&lost).ends_with("| ≤ 4.36 | – | – |\n"),
        "its CPU time is of lost requests, too"
    );
    let table = latency(result);
    assert!(
        table.contains("| 100 | 0 % | 99.4 % | 150 µs | 400 µs | 900 µs | – | 2 of 3 |"),
        "{table}"
    );
    assert!(calls(result).contains("| mid-tier | – | 0.50 |"), "{}", calls(result));
    assert!(waits(result).contains("| leaf | – | – | – | 70.0 µs |"), "{}", waits(result));
    assert!(
        shares(result).contains("| Set Algebra | 100 | 12 % | – | – | – |"),
        "{}",
        shares(result)
    );
    assert!(switches(result).contains(" 20 |"), "{}", switches(result));
    assert!(switches(result).contains("| leaf | – | – |  |"), "it stands once for each load");
    let table = switching(result);
    assert!(
        table.contains("| of CPU, % at 1.3 to 2.0 µs (measured) | of CPU, % (published) |"),
        "{table}"
    );
    assert!(table.contains("| mid-tier | 3.00 | 4 to 6 | – |"), "{table}");
    assert!(table.contains("| leaf | – | – | – |"), "{table}");
    assert_eq!(cost(&[result.to_owned()]).lines().count(), 2, "nothing was compared");
}

#[test]
fn each_file_has_its_line_of_what_the_watch_takes_with_the_verdict_of_its_interval() {
    let of = |low: f64, high: f64, p99: &str| {
        format!(
            r#"{{"services":[{{"service":"recommend","capacity":{{"plateau_rps":1,"points":[]}},"loads":[],
                "cost":{{"cpu":{{"ratio":1.04,"low":{low},"high":{high},"pairs":6}},"p50":null,"p99":{p99}}}}}]}}"#
        )
    };
    let p99 = |low: f64| format!(r#"{{"ratio":1.3,"low":{low},"high":2.0,"pairs":6}}"#);
    let results = [of(1.01, 1.06, "null"), of(1.03, 1.05, &p99(0.9)), of(1.051, 1.07, &p99(1.1))];
    let table = cost(&results);
    let lines: Vec<&str> = table.lines().skip(2).collect();
    let wanted = [
        "| Recommend | 6 | × 1.040 (1.010 to 1.060) | not told | – | – | – | – | – |",
        "| Recommend | 6 | × 1.040 (1.030 to 1.050) | met | – | × 1.300 (0.900 to 2.000) | – | – | – |",
        "| Recommend | 6 | × 1.040 (1.051 to 1.070) | missed; p99 rises | – | × 1.300 (1.100 to 2.000) | – | – | – |",
    ];
    assert_eq!(lines, wanted);
    let lost = results[1].replace("\"cost\":{", "\"cost\":{\"answered\":0.9,");
    assert!(cost(&[lost]).contains("| not told: requests were lost |"));
}
