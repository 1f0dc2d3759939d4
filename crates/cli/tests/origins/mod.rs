//! Results that name the commit and the time of what was measured, and the older ones that do not.
//!
//! A result names them once for the whole, or once for each part that is measured apart: then in all that name a machine,
//! a commit or a time. A part with none of these is not seen.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Those of before their programs named a commit, or of programs that name none yet. It only shrinks.
const WITHOUT_COMMIT: &str = "
    ablation-target-loopback ablations-departures accelerate-aes accelerate-leaf
    accelerate-software accelerate-zstd attached-memcached attached-redis baselines-sim
    bimodal-loopback breakdown breakdown-loopback chain-loopback chain-sim classes-loopback
    clients-10k-connections-sim clients-10k-loopback clients-10k-sim clients-3700-loopback
    constant-loopback controllers-coalescing-sim controllers-loopback crowds
    crowds-million-1.5 crowds-million-1.87 figures-breakwater figures-protego fleet
    hdsearch-frontier hdsearch-glove hostile kept-memcached key-value-usr key-value-var
    locks loops-1-loopback loops-10-sim loops-4-loopback neighbours options-memcached
    options-memcached-bursts options-redis options-redis-bursts overload-again-loopback
    overload-before-sim overload-loopback overload-versions-loopback profile ready ready-hot
    recommend recorded-memcached-held recorded-redis-held router-failover search-one-segment
    search-wordnet service-100us-loopback setalgebra spike-loopback suite-cost-hdsearch
    tantivy-million tantivy-wordnet threads-16-cores tiers-cache tiers-failures tiers-hedge
    tiers-models tiers-replicas tls tuning two-mutexes-20-100us two-mutexes-20-10us
    two-mutexes-50-100us two-mutexes-50-10us two-mutexes-breakdown two-mutexes-threshold
    unix-loopback
";

/// The same of the time, simulations apart. It only shrinks.
const WITHOUT_TIME: &str = "
    attached-memcached attached-redis figures-breakwater figures-protego hdsearch-frontier
    hdsearch-glove hostile kept-memcached mutants ready ready-hot recommend
    recorded-memcached-held recorded-redis-held router-failover threads-16-cores tls
";

/// The fewest digits of a commit that git shows.
const DIGITS_MIN: usize = 7;

/// What a result names of what was measured.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    commit: bool,
    time: bool,
}

impl Named {
    pub(crate) fn by(result: &Value) -> Self {
        let origins = origins(result);
        let all = |names: fn(&Map<String, Value>) -> bool| {
            !origins.is_empty() && origins.iter().all(|origin| names(origin))
        };
        // By one build a simulation is the same to the byte whenever it is made, so it has no time.
        let is_simulated = result["driver"] == "sim";
        Self { commit: all(names_commit), time: is_simulated || all(names_time) }
    }
}

/// The objects that say of which commit or when something was measured.
fn origins(result: &Value) -> Vec<&Map<String, Value>> {
    match result {
        Value::Object(fields) => {
            let is_origin = fields.contains_key("started_unix")
                || fields.get("machine").is_some_and(Value::is_object)
                || fields.get("commit").is_some_and(Value::is_string);
            let own = is_origin.then_some(fields);
            own.into_iter().chain(fields.values().flat_map(origins)).collect()
        }
        Value::Array(items) => items.iter().flat_map(origins).collect(),
        _ => Vec::new(),
    }
}

/// A program that was built outside of a checkout says `unknown`.
fn names_commit(origin: &Map<String, Value>) -> bool {
    let commit = origin.get("commit").and_then(Value::as_str).unwrap_or_default();
    commit.chars().take_while(char::is_ascii_hexdigit).count() >= DIGITS_MIN
}

/// `cargo xtask models` and `miri` name a day.
fn names_time(origin: &Map<String, Value>) -> bool {
    let seconds = origin.get("started_unix").and_then(Value::as_u64).unwrap_or_default();
    let day = origin.get("date").and_then(Value::as_str).unwrap_or_default();
    let parts: Vec<&str> = day.split('-').collect();
    let is_day = parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok());
    seconds > 0 || is_day
}

/// A sentence for each result, by its name without `.json`, that lacks something unlisted, or is listed without need.
pub(crate) fn problems(results: &BTreeMap<String, Named>) -> Vec<String> {
    beside(results, [WITHOUT_COMMIT, WITHOUT_TIME])
}

fn beside(results: &BTreeMap<String, Named>, older: [&str; 2]) -> Vec<String> {
    let mut problems = Vec::new();
    for (what, older) in ["commit", "time"].into_iter().zip(older) {
        let is_named = |named: &Named| if what == "commit" { named.commit } else { named.time };
        let listed: BTreeSet<&str> = older.split_whitespace().collect();
        let lacking: BTreeSet<&str> = (results.iter())
            .filter(|(_, named)| !is_named(named))
            .map(|(name, _)| name.as_str())
            .collect();
        for name in lacking.difference(&listed) {
            problems.push(format!(
                "results/{name}.json names no {what}: its program must write an `Origin` or a manifest"
            ));
        }
        for name in listed.difference(&lacking) {
            problems.push(format!(
                "results/{name}.json names its {what}, or is gone: take it off the list"
            ));
        }
    }
    problems
}

#[test]
fn what_lacks_something_must_be_listed_and_nothing_else_may_be() {
    let both = Named { commit: true, time: true };
    let results = [
        ("whole", both),
        ("dated", Named { commit: false, ..both }),
        ("bare", Named { commit: false, time: false }),
    ];
    let results = BTreeMap::from(results.map(|(name, named)| (name.to_owned(), named)));
    assert_eq!(beside(&results, ["bare dated", "bare"]), [""; 0]);
    assert_eq!(
        beside(&results, ["bare gone", "bare whole"]),
        [
            "results/dated.json names no commit: its program must write an `Origin` or a manifest",
            "results/gone.json names its commit, or is gone: take it off the list",
            "results/whole.json names its time, or is gone: take it off the list",
        ]
    );
}

#[test]
fn each_part_that_is_measured_apart_names_both() {
    let named = |result: Value| {
        let Named { commit, time } = Named::by(&result);
        [commit, time]
    };
    let part = json!({ "commit": "1f2e3d4", "started_unix": 7 });
    assert_eq!(named(json!({ "manifest": part })), [true, true]);
    assert_eq!(named(json!({ "parts": [part, part] })), [true, true]);
    assert_eq!(named(json!({ "parts": [part, { "started_unix": 7 }] })), [false, true]);
    assert_eq!(named(json!({ "parts": [part, { "commit": "1f2e3d4" }] })), [true, false]);
    assert_eq!(named(json!({ "commit": "1f2e3d4-dirty", "date": "2026-11-29" })), [true, true]);
    assert_eq!(named(json!({ "commit": "unknown", "started_unix": 7 })), [false, true]);
    assert_eq!(named(json!([{ "rows": 1 }])), [false, false]);
    let simulated = json!({ "commit": "1f2e3d4", "started_unix": 0 });
    assert_eq!(named(json!({ "driver": "sim", "manifest": simulated })), [true, true]);
    assert_eq!(named(json!({ "driver": "loopback", "manifest": simulated })), [true, false]);
}
