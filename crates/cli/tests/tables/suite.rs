//! Chapter II of the thesis beside `tailwater suite traits --json`.

use super::{head, line};
use serde::Deserialize;
use std::collections::BTreeMap;
use tailwater_report::{count, time};

/// What the thesis says of a service: Fig. 2.9, the leaves' logical cores (Table 2.2), and the largest share of the mid-tier's
/// tail that is spent runnable (§2.5.4).
struct Stated {
    service: &'static str,
    name: &'static str,
    saturation_qps: f64,
    leaf_cores: f64,
    runnable_percent: f64,
}

const THESIS: [Stated; 4] = [
    stated("hdsearch", "HDSearch", 11_500.0, 72.0, 50.0),
    stated("router", "Router", 12_000.0, 64.0, 75.0),
    stated("setalgebra", "Set Algebra", 16_500.0, 72.0, 87.0),
    stated("recommend", "Recommend", 13_000.0, 72.0, 64.0),
];

const fn stated(
    service: &'static str,
    name: &'static str,
    saturation_qps: f64,
    leaf_cores: f64,
    runnable_percent: f64,
) -> Stated {
    Stated { service, name, saturation_qps, leaf_cores, runnable_percent }
}

#[derive(Deserialize)]
struct Found {
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
}

#[derive(Deserialize)]
struct Load {
    rps: f64,
    of_capacity: f64,
    runs: usize,
    valid: usize,
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
}

#[derive(Deserialize)]
struct Cost {
    #[serde(flatten)]
    whole: Ratios,
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
        "thesis allows, leaf core-ms",
        "here, leaf core-ms",
        "thesis ÷ here",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        let bound_ms = 1e3 * stated.leaf_cores / stated.saturation_qps;
        let highest = service.loads.iter().rev().find(|load| load.valid > 0);
        let leaves = || highest?.tiers.get(1)?.per_query.get("core_ms").copied();
        let ours = leaves();
        table += &line(&[
            stated.name.into(),
            rate(stated.saturation_qps),
            rate(service.capacity.plateau_rps),
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
        "p50",
        "p99",
        "p99.9",
        "p50 ÷ that of the middle load",
        "runs that count",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        let middle = service.loads.get(1).map(|load| load.p50_us);
        for load in &service.loads {
            let ratio = middle.map_or_else(dash, |us| format!("{:.2}", load.p50_us / us));
            table += &line(&[
                stated.name.into(),
                rate(load.rps),
                format!("{:.0} %", 100.0 * load.of_capacity),
                time(load.p50_us),
                time(load.p99_us),
                time(load.p999_us),
                ratio,
                format!("{} of {}", load.valid, load.runs),
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
    const TIMES: [(&str, &str); 7] = [
        ("runqueue_us", "run queue, all of a query"),
        ("wait_p50_us", "one wait, p50"),
        ("wait_p99_us", "p99"),
        ("wait_p999_us", "p99.9"),
        ("net_rx_p99_us", "net_rx, p99"),
        ("sched_p99_us", "sched, p99"),
        ("rcu_p99_us", "rcu, p99"),
    ];
    per_tier(result, &TIMES, Tier::time_of)
}

/// The thesis' Active-Exe beside the share of the mean query that its mid-tier waits for a core.
pub(super) fn shares(result: &str) -> String {
    let heads = [
        "service",
        "thesis: Active-Exe, of the mid-tier's tail",
        "load, queries/s",
        "here: waiting for a core, of the mean query",
        "running",
        "elsewhere",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        for load in &service.loads {
            let share = |key: &str| {
                let front = load.tiers.first();
                front.map_or_else(dash, |tier| match tier.shown(key, 0) {
                    none if none == dash() => none,
                    percent => format!("{percent} %"),
                })
            };
            table += &line(&[
                stated.name.into(),
                format!("≤ {:.0} %", stated.runnable_percent),
                rate(load.rps),
                share("runnable_percent"),
                share("running_percent"),
                share("blocked_percent"),
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
            for (number, tier) in load.tiers.iter().enumerate() {
                // It is no tier's: once for each load.
                let again = match number {
                    0 => load.retransmissions.map_or_else(dash, |it| format!("{:.0}", 1e6 * it)),
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

/// What the watch takes, where the files have it, in their order: the watch as it is, then each of its parts all the time.
pub(super) fn cost(results: &[String]) -> String {
    let whole = ["service", "pairs", "CPU per query", "goal", "p50", "p99"];
    let heads: Vec<String> = whole.iter().chain(&PARTS).map(|head| (*head).into()).collect();
    let mut table = head(&heads);
    for (stated, service) in results.iter().flat_map(|result| each(result)) {
        let Some(cost) = service.cost else { continue };
        let pairs = cost.whole.cpu.as_ref().map_or_else(dash, |it| it.pairs.to_string());
        let Ratios { cpu, p50, p99 } = &cost.whole;
        let mut cells =
            vec![stated.name.into(), pairs, shown(cpu), verdict(cpu), shown(p50), shown(p99)];
        cells.extend(
            PARTS.iter().map(|part| cost.parts.get(*part).map_or_else(dash, |it| shown(&it.cpu))),
        );
        table += &line(&cells);
    }
    table
}

/// Of CPU per query, as `suite traits --cost` judges it.
const GOAL: f64 = 1.05;

fn verdict(cpu: &Option<Compared>) -> String {
    match cpu {
        Some(cpu) if cpu.high <= GOAL => "met".into(),
        Some(cpu) if cpu.low > GOAL => "missed".into(),
        _ => "not told".into(),
    }
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
        for (load, tier) in
            service.loads.iter().flat_map(|load| load.tiers.iter().map(move |tier| (load, tier)))
        {
            let mut cells = vec![stated.name.into(), rate(load.rps), tier.name().into()];
            cells.extend(quantities.iter().map(|(key, _)| shown(tier, key)));
            table += &line(&cells);
        }
    }
    table
}

#[test]
fn the_thesis_numbers_stand_beside_those_of_the_file() {
    let result = r#"{"services":[
        {"service":"setalgebra","capacity":{"plateau_rps":40000.4},
         "loads":[{"rps":100,"of_capacity":0.0025,"runs":3,"valid":2,"p50_us":150,"p99_us":400,"p999_us":900,
          "tiers":[{"tier":"","per_query":{"futex":0.5,"runnable_percent":12.4}},
                   {"tier":"leaf","per_query":{"core_ms":0.05,"wait_p99_us":70}}]}]}]}"#;
    assert!(
        saturation(result).ends_with("| Set Algebra | 16,500 | 40,000 | ≤ 4.36 | 0.050 | 87 × |\n")
    );
    assert!(latency(result).contains("| 100 | 0 % | 150 µs | 400 µs | 900 µs | – | 2 of 3 |"));
    assert!(calls(result).contains("| mid-tier | – | 0.50 |"), "{}", calls(result));
    assert!(waits(result).contains("| leaf | – | – | 70.0 µs |"), "{}", waits(result));
    assert!(shares(result).contains("| ≤ 87 % | 100 | 12 % | – | – |"), "{}", shares(result));
    assert!(switches(result).contains("| mid-tier | – | – | – |"), "not known is not none");
    assert!(switches(result).contains("| leaf | – | – |  |"), "it stands once for each load");
    assert_eq!(cost(&[result.to_owned()]).lines().count(), 2, "nothing was compared");
}

#[test]
fn each_file_has_its_line_of_what_the_watch_takes_with_the_verdict_of_its_interval() {
    let of = |low: f64, high: f64, pairs: u32| {
        format!(
            r#"{{"services":[{{"service":"recommend","capacity":{{"plateau_rps":1}},"loads":[],
                "cost":{{"cpu":{{"ratio":1.04,"low":{low},"high":{high},"pairs":{pairs}}},"p50":null,"p99":null}}}}]}}"#
        )
    };
    let table = cost(&[of(1.01, 1.06, 6), of(1.03, 1.05, 16), of(1.051, 1.07, 4)]);
    let lines: Vec<&str> = table.lines().skip(2).collect();
    let wanted = [
        "| Recommend | 6 | × 1.040 (1.010 to 1.060) | not told | – | – | – | – | – |",
        "| Recommend | 16 | × 1.040 (1.030 to 1.050) | met | – | – | – | – | – |",
        "| Recommend | 4 | × 1.040 (1.051 to 1.070) | missed | – | – | – | – | – |",
    ];
    assert_eq!(lines, wanted);
}
