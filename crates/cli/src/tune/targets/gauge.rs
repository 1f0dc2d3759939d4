//! One number of what a block printed.

use crate::failure::Failure;
use serde_json::Value;
use tailwater_core::words::{clip, suggestion};
use tailwater_tune::ab::{Better, Guard};

/// Where a number stands, or how it is made of others.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Gauge {
    /// At a JSON pointer.
    At(String),
    /// A quantity of a scenario's run.
    Run(Quantity),
}

/// What a run of a scenario tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quantity {
    Cpu,
    P50,
    P99,
    P999,
    Goodput,
    LateOrRefused,
    Lost,
    Memory,
}

/// Those that can be compared, by the name that `--metric` takes.
const METRICS: [(&str, Quantity); 5] = [
    ("cpu", Quantity::Cpu),
    ("p50", Quantity::P50),
    ("p99", Quantity::P99),
    ("p999", Quantity::P999),
    ("goodput", Quantity::Goodput),
];

/// A gauge by pointer.
pub(super) fn at(pointer: &str) -> Result<Gauge, Failure> {
    if pointer.is_empty() || pointer.starts_with('/') {
        return Ok(Gauge::At(pointer.into()));
    }
    Err(Failure::usage(format!(
        "'{}' found, a JSON pointer such as /cpu_ns or /runs/0/p99_us is needed",
        clip(pointer)
    )))
}

/// A quantity of a scenario's run by its name, or any number of its result by pointer.
pub(super) fn of_scenario(name: &str) -> Result<Gauge, Failure> {
    if name.starts_with('/') {
        return at(name);
    }
    let found = METRICS.iter().find(|(known, _)| *known == name);
    found.map(|(_, quantity)| Gauge::Run(*quantity)).ok_or_else(|| {
        let known = METRICS.map(|(known, _)| known);
        let hint = suggestion(name, &known);
        let known = known.join(", ");
        Failure::usage(format!(
            "no quantity is called '{}'; {hint}: {known}, or a pointer",
            clip(name)
        ))
    })
}

/// What no setting may make worse in a scenario.
pub(super) fn guards(metric: &Gauge, tolerated: f64) -> Vec<(Guard, Gauge)> {
    let tolerated = tolerated.ln_1p();
    // Floors: a nanosecond; one request in a thousand and in ten thousand; a byte.
    let all = [
        (Quantity::P999, 1e-3, tolerated),
        (Quantity::LateOrRefused, 1e-3, tolerated),
        (Quantity::Lost, 1e-4, 0.0),
        (Quantity::Memory, 1.0, tolerated),
    ];
    let guard = |(quantity, floor, tolerated)| {
        let gauge = Gauge::Run(quantity);
        (Guard { name: gauge.name().to_owned(), floor, tolerated }, gauge)
    };
    all.into_iter().map(guard).filter(|(_, gauge)| gauge != metric).collect()
}

/// What a block printed: JSON, or a last line that is.
pub(super) fn json(text: &str) -> Result<Value, String> {
    let whole = serde_json::from_str(text.trim());
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    whole.or_else(|_| serde_json::from_str(last.trim())).map_err(|error| {
        format!(
            "'{}' is no JSON ({error}), and JSON with the quantity is needed",
            clip(last.trim())
        )
    })
}

impl Gauge {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::At(pointer) if pointer.is_empty() => "the printed number",
            Self::At(pointer) => pointer,
            Self::Run(quantity) => match quantity {
                Quantity::Cpu => "server CPU per request",
                Quantity::P50 => "p50",
                Quantity::P99 => "p99",
                Quantity::P999 => "p99.9",
                Quantity::Goodput => "goodput",
                Quantity::LateOrRefused => "requests late or refused",
                Quantity::Lost => "lost requests",
                Quantity::Memory => "memory",
            },
        }
    }

    /// Which way is better where nothing is said.
    pub(super) fn usual(&self) -> Better {
        if *self == Self::Run(Quantity::Goodput) { Better::More } else { Better::Less }
    }

    /// The number.
    pub(super) fn read(&self, json: &Value) -> Result<f64, String> {
        match self {
            Self::At(pointer) => number(json, pointer),
            Self::Run(quantity) => of_run(json, *quantity),
        }
    }
}

fn number(json: &Value, pointer: &str) -> Result<f64, String> {
    let found = json.pointer(pointer);
    found.and_then(Value::as_f64).ok_or_else(|| {
        let found = found.map_or("nothing".into(), |value| clip(&value.to_string()));
        let keys = json.as_object().map(|object| {
            let keys: Vec<&str> = object.keys().take(20).map(String::as_str).collect();
            format!(" (it has {})", keys.join(", "))
        });
        let keys = keys.unwrap_or_default();
        let place =
            if pointer.is_empty() { "what it printed".into() } else { format!("at {pointer}") };
        format!("a number is needed, and {place} is {found}{keys}")
    })
}

fn of_run(json: &Value, quantity: Quantity) -> Result<f64, String> {
    let of = |key: &str| number(json, &format!("/runs/0/{key}"));
    match quantity {
        Quantity::Cpu => of("server_cpu_ns_per_request"),
        Quantity::P50 => of("p50_us"),
        Quantity::P99 => of("p99_us"),
        Quantity::P999 => of("p999_us"),
        Quantity::Goodput => of("goodput_rps"),
        Quantity::LateOrRefused | Quantity::Lost => {
            let fates = ["ok", "late", "expired", "shed", "lost"];
            let fates = fates.map(|fate| of(&format!("fates/{fate}")));
            let [ok, late, expired, shed, lost] = fates;
            let (ok, refused, lost) = (ok?, late? + expired? + shed?, lost?);
            let part = if quantity == Quantity::Lost { lost } else { refused };
            Ok(part / (ok + refused + lost).max(1.0))
        }
        Quantity::Memory => {
            // Where there are tiers, the first of them is the server.
            match json.pointer("/runs/0/tiers").and_then(Value::as_array) {
                Some(tiers) => {
                    Ok(tiers.iter().filter_map(|tier| tier.get("memory_bytes")?.as_f64()).sum())
                }
                // Of a server that a fault takes away nothing is read.
                None => Ok(of("server_memory_bytes").unwrap_or(0.0)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_pointer_in_all_or_in_the_last_line() {
        let all = json(" {\"a\": {\"b\": 2.5}}\n").expect("JSON");
        assert_eq!(at("/a/b").expect("a pointer").read(&all), Ok(2.5));
        let last = json("warming up\nmeasuring\n17\n\n").expect("the last line");
        assert_eq!(at("").expect("a pointer").read(&last), Ok(17.0));
        assert!(json("done\n").unwrap_err().contains("'done' is no JSON"));
    }

    #[test]
    fn what_is_missing_is_told_with_what_there_is() {
        let value = json("{\"cpu\": \"much\", \"p99\": 3}").expect("JSON");
        let error = at("/latency").expect("a pointer").read(&value).unwrap_err();
        assert!(error.contains("at /latency is nothing (it has cpu, p99)"), "{error}");
        assert!(at("/cpu").expect("a pointer").read(&value).is_err());
        assert!(at("cpu").is_err() && of_scenario("cpus").is_err());
    }

    #[test]
    fn fates_become_shares() {
        let text = r#"{"runs":[{"fates":{"ok":90,"late":4,"expired":1,"shed":3,"lost":2}}]}"#;
        let value = json(text).expect("JSON");
        assert_eq!(Gauge::Run(Quantity::LateOrRefused).read(&value), Ok(0.08));
        assert_eq!(Gauge::Run(Quantity::Lost).read(&value), Ok(0.02));
    }

    #[test]
    fn the_compared_quantity_is_no_guard() {
        let names = |metric: &str| {
            let metric = of_scenario(metric).expect("known");
            guards(&metric, 0.05).into_iter().map(|(guard, _)| guard.name).collect::<Vec<_>>()
        };
        assert_eq!(names("p999"), ["requests late or refused", "lost requests", "memory"]);
        assert_eq!(names("cpu").len(), 4);
    }

    #[test]
    fn memory_is_that_of_all_tiers_or_of_the_server_alone() {
        let read = |text: &str| {
            Gauge::Run(Quantity::Memory).read(&serde_json::from_str(text).expect("JSON"))
        };
        let alone = r#"{"runs":[{"server_memory_bytes":500}]}"#;
        assert_eq!(read(alone), Ok(500.0));
        let tiers = r#"{"runs":[{"server_memory_bytes":5,"tiers":[{"memory_bytes":5},{"memory_bytes":7}]}]}"#;
        assert_eq!(read(tiers), Ok(12.0));
        assert_eq!(read(r#"{"runs":[{}]}"#), Ok(0.0));
    }
}
