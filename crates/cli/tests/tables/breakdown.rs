//! Where the CPU time of services goes: a line for each category, a column for each service.

use super::{head, line};
use serde_json::Value;

/// Functionalities of the thesis' Table 6.3, then leaves of its Table 6.2; with what its text states of its own fleet.
const CATEGORIES: [(&str, &str); 12] = [
    ("I/O", "52 (Cache; §5)"),
    ("I/O pre/post processing", "–"),
    ("compression", "–"),
    ("serialization", "–"),
    ("feature extraction", "–"),
    ("prediction/ranking", "33 to 58 (ML services)"),
    ("application logic", "18 (Web)"),
    ("logging", "23 (Web)"),
    ("thread pool management", "–"),
    ("memory", "–"),
    ("hashing", "–"),
    ("synchronization", "–"),
];

/// From the file that the bench `breakdown` writes.
pub(super) fn table(result: &str) -> String {
    let result: Value = serde_json::from_str(result).expect("what the bench found");
    let services = result["services"].as_array().expect("services");
    let name = |service: &Value| service["title"].as_str().expect("a title").to_owned();
    let mut heads = vec!["% of the CPU time".to_owned()];
    heads.extend(services.iter().map(name));
    heads.push("the thesis' text".into());
    let mut table = head(&heads);
    let mut row = |what: &str, of: &dyn Fn(&Value) -> String, stated: &str| {
        let cells = services.iter().map(of);
        table += &line(&[vec![what.to_owned()], cells.collect(), vec![stated.to_owned()]].concat());
    };
    for (category, stated) in CATEGORIES {
        row(category, &|service| share_of(&service["categories"], category), stated);
    }
    // Results of earlier versions do not tell it.
    if services.iter().any(|service| service["inherited"].is_number()) {
        row(
            "of these, by the category of a caller",
            &|service| service["inherited"].as_f64().map_or("?".into(), shown),
            "–",
        );
    }
    row(
        "no category",
        &|service| shown(number(service, "unknown") + number(service, "outside")),
        "–",
    );
    row(
        "all of it in the kernel",
        &|service| service["in_kernel"].as_f64().map_or("?".into(), whole),
        "–",
    );
    row("of that `net_rx`", &|service| share_of(&service["interrupts"], "softirq NET_RX"), "–");
    row(
        "ms of a core in a second",
        &|service| format!("{:.0}", number(service, "cpu_ns") / number(service, "seconds") / 1e6),
        "–",
    );
    row(
        "of the kernel's own account",
        &|service| {
            let each = number(service, "cpu_ns") / number(service, "seconds");
            shown(each / number(service, "accounted_ns_per_second"))
        },
        "–",
    );
    row("scanner away", &|service| shown(number(service, "scanner_away")), "–");
    table
}

fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().expect("a number")
}

/// The share of a name in a list; what is not there has none.
fn share_of(parts: &Value, name: &str) -> String {
    let parts = parts.as_array().expect("a list");
    let found = parts.iter().find(|part| part["name"] == name);
    found.map_or("–".into(), |part| shown(number(part, "share")))
}

fn shown(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn whole(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

#[test]
fn every_category_has_a_line_and_what_is_not_known_has_one() {
    let found = r#"{ "services": [{
        "title": "A store", "cpu_ns": 5e8, "seconds": 5.0, "accounted_ns_per_second": 1.25e8, "scanner_away": 0.001,
        "categories": [{ "name": "I/O", "share": 0.7 }, { "name": "hashing", "share": 0.25 }], "inherited": 0.3,
        "unknown": 0.04, "outside": 0.01, "in_kernel": 0.6, "interrupts": [{ "name": "softirq NET_RX", "share": 0.125 }]
    }] }"#;
    let table = table(found);
    for row in [
        "| % of the CPU time | A store | the thesis' text |",
        "| I/O | 70.0 | 52 (Cache; §5) |",
        "| compression | – | – |",
        "| hashing | 25.0 | – |",
        "| of these, by the category of a caller | 30.0 | – |",
        "| no category | 5.0 | – |",
        "| all of it in the kernel | 60 | – |",
        "| of that `net_rx` | 12.5 | – |",
        "| ms of a core in a second | 100 | – |",
        "| of the kernel's own account | 80.0 | – |",
        "| scanner away | 0.1 | – |",
    ] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    let earlier = found.replace("\"inherited\": 0.3,", "");
    assert!(!self::table(&earlier).contains("of a caller"));
}
