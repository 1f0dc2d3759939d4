//! What was found, and what a person reads of it.

use crate::Result;
use crate::service::Service;
use crate::usage::Used;
use machine::Origin;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// The share of the time without a category that rules may leave.
const UNKNOWN_MAX: f64 = 0.1;
/// By how much the sum of a trace may differ from the kernel's own account: the recording begins and ends within what that
/// covers.
const STRAYS_MAX: f64 = 0.1;

/// The share of the recording in which the scanner may have been away: meanwhile all time is the outermost functions'.
const AWAY_MAX: f64 = 0.05;

/// All of it.
#[derive(Serialize)]
pub(crate) struct Found {
    #[serde(flatten)]
    origin: Origin,
    seconds: u64,
    pub(crate) services: Vec<Broken>,
}

/// One service's time, broken down. Shares are of the time that its threads had a core.
#[derive(Serialize)]
pub(crate) struct Broken {
    name: &'static str,
    title: &'static str,
    rules: &'static str,
    requests_per_second: u32,
    /// By the trace, of the whole recording.
    cpu_ns: f64,
    seconds: f64,
    /// The same for each second, by the kernel's own account (`schedstat`).
    accounted_ns_per_second: f64,
    categories: Vec<Part>,
    /// Of these, in functions that no rule knows: theirs is the category of a caller.
    inherited: f64,
    /// In calls, without a category.
    unknown: f64,
    /// On a core in no call that was seen.
    outside: f64,
    most_unknown: Vec<Part>,
    /// In the kernel, by the clock's ticks.
    in_kernel: Option<f64>,
    /// In interrupts and softirqs, which are a part of that.
    interrupts: Vec<Part>,
    /// Of the threads' time, awake or not: what the kernel's events do not tell.
    untold: f64,
    /// Of the kernel's events, those that found no room: time on a core is missing with them.
    lost_events: u64,
    /// Calls too short to be seen, at most: they count for their callers.
    calls_unseen: u64,
    /// Of the recording, in which the scanner did not look.
    scanner_away: f64,
}

/// A name with its share.
#[derive(Serialize)]
struct Part {
    name: String,
    share: f64,
}

impl Found {
    pub(crate) fn begin(length: Duration) -> Self {
        Self { origin: Origin::now(), seconds: length.as_secs(), services: Vec::new() }
    }

    pub(crate) fn is_good(&self) -> bool {
        self.services.iter().all(Broken::is_good)
    }
}

impl Broken {
    /// From what `tailwater accelerate measure --json` says.
    pub(crate) fn of(service: &Service, told: &Value, used: Used) -> Result<Self> {
        let number = |pointer: &str| {
            told.pointer(pointer)
                .and_then(Value::as_f64)
                .ok_or_else(|| format!("{}: no {pointer} was measured", service.name))
        };
        if told["on_core"] != true {
            return Err(format!(
                "{}: the kernel's events are missing; `tailwater profile attach --kernel` says why",
                service.name
            ));
        }
        let total = number("/total_ns")?;
        let parts = |pointer: &str| -> Vec<Part> {
            let rows = told.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
            let part = |row: &Value| {
                let name = row["name"].as_str()?.to_owned();
                Some(Part { name, share: row["ns"].as_f64()? / total })
            };
            rows.filter_map(part).collect()
        };
        let found = Self {
            name: service.name,
            title: service.title,
            rules: service.rules,
            requests_per_second: service.rate,
            cpu_ns: total,
            seconds: number("/length_ns")? / 1e9,
            accounted_ns_per_second: used.ns_per_second,
            categories: parts("/breakdown/categories"),
            inherited: number("/breakdown/inherited_ns")? / total,
            unknown: number("/breakdown/unknown_ns")? / total,
            outside: number("/breakdown/outside_ns")? / total,
            most_unknown: parts("/breakdown/unknown"),
            in_kernel: used.in_kernel,
            interrupts: parts("/account/interrupts"),
            untold: number("/account/unknown_ns")? / number("/account/total_ns")?,
            lost_events: number("/lost_kernel")? as u64,
            scanner_away: number("/quality/gap_ns")? / number("/length_ns")?,
            calls_unseen: told["quality"]["lost_calls"].as_u64().unwrap_or(0),
        };
        found.adds_up()?;
        Ok(found)
    }

    /// Nothing is told twice or left out.
    fn adds_up(&self) -> Result {
        let categories: f64 = self.categories.iter().map(|part| part.share).sum();
        let all = categories + self.unknown + self.outside;
        if (all - 1.0).abs() < 1e-3 {
            return Ok(());
        }
        Err(format!("{}: the parts add up to {:.1} % of the time", self.name, all * 100.0))
    }

    /// The time of the trace over that of the kernel's own account.
    fn strays(&self) -> f64 {
        self.cpu_ns / self.seconds / self.accounted_ns_per_second
    }

    /// Whether all of the kernel's events came, and their sum is that of the kernel's own account.
    pub(crate) fn is_whole(&self) -> bool {
        self.lost_events == 0 && (self.strays() - 1.0).abs() <= STRAYS_MAX
    }

    fn is_good(&self) -> bool {
        self.is_whole()
            && self.unknown + self.outside <= UNKNOWN_MAX
            && self.scanner_away <= AWAY_MAX
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |parts: &[Part]| {
            let each =
                parts.iter().map(|part| format!("{} {:.1} %", part.name, part.share * 100.0));
            each.collect::<Vec<_>>().join(", ")
        };
        writeln!(f, "{}: {}", self.title, shown(&self.categories))?;
        let without = self.unknown + self.outside;
        writeln!(
            f,
            "  by the category of a caller {:.1} %; without a category {:.1} %, of which in no call that was seen {:.1} %: {}",
            self.inherited * 100.0,
            without * 100.0,
            self.outside * 100.0,
            shown(&self.most_unknown)
        )?;
        let in_kernel =
            self.in_kernel.map_or_else(|| "?".into(), |share| format!("{:.0} %", share * 100.0));
        write!(
            f,
            "  in the kernel {in_kernel}, of it interrupts: {}; {:.0} ms of a core in a second, {:.3} of the kernel's account; the \
             scanner was away for {:.1} %; {} of the kernel's events were lost",
            shown(&self.interrupts),
            self.cpu_ns / self.seconds / 1e6,
            self.strays(),
            self.scanner_away * 100.0,
            self.lost_events
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service;
    use serde_json::json;

    /// A second of which the service had a core for 200 ms.
    fn told() -> Value {
        json!({
            "on_core": true, "total_ns": 2e8, "length_ns": 1e9, "lost_kernel": 0,
            "breakdown": {
                "categories": [{ "name": "I/O", "ns": 1.5e8 }, { "name": "hashing", "ns": 0.3e8 }],
                "inherited_ns": 0.5e8, "unknown_ns": 0.15e8, "outside_ns": 0.05e8,
                "unknown": [{ "name": "strange", "ns": 0.1e8 }],
            },
            "account": {
                "interrupts": [{ "name": "softirq NET_RX", "ns": 0.2e8 }],
                "unknown_ns": 1e7, "total_ns": 1e9,
            },
            "quality": { "gap_ns": 2e7, "lost_calls": 3 },
        })
    }

    fn broken(told: &Value, ns_per_second: f64) -> Result<Broken> {
        Broken::of(&service::ALL[0], told, Used { ns_per_second, in_kernel: Some(0.6) })
    }

    fn good() -> Broken {
        broken(&told(), 2e8).expect("it adds up")
    }

    #[test]
    fn shares_are_of_the_time_on_a_core_and_what_passes_is_of_the_recording() {
        let found = good();
        let parts = |parts: &[Part]| -> Vec<(String, f64)> {
            parts.iter().map(|part| (part.name.clone(), part.share)).collect()
        };
        let categories = [("I/O".to_owned(), 0.75), ("hashing".to_owned(), 0.15)];
        assert_eq!(parts(&found.categories), categories);
        assert_eq!((found.inherited, found.unknown, found.outside), (0.25, 0.075, 0.025));
        assert_eq!(parts(&found.most_unknown), [("strange".to_owned(), 0.05)]);
        assert_eq!(parts(&found.interrupts), [("softirq NET_RX".to_owned(), 0.1)]);
        assert_eq!((found.seconds, found.untold, found.scanner_away), (1.0, 0.01, 0.02));
        assert_eq!(found.calls_unseen, 3);
        let text = found.to_string();
        for wanted in [
            "I/O 75.0 %, hashing 15.0 %",
            "category of a caller 25.0 %",
            "category 10.0 %",
            "200 ms",
            "1.000",
        ] {
            assert!(text.contains(wanted), "no {wanted} in {text}");
        }
    }

    #[test]
    fn what_is_told_twice_or_left_out_or_not_measured_is_refused() {
        let mut twice = told();
        twice["breakdown"]["unknown_ns"] = json!(0.35e8);
        let error = broken(&twice, 2e8).err().unwrap_or_default();
        assert!(error.contains("add up to 110.0 %"), "{error}");
        let mut silent = told();
        silent["breakdown"]["outside_ns"] = Value::Null;
        let error = broken(&silent, 2e8).err().unwrap_or_default();
        assert!(error.contains("no /breakdown/outside_ns"), "{error}");
        silent["on_core"] = json!(false);
        let error = broken(&silent, 2e8).err().unwrap_or_default();
        assert!(error.contains("events are missing"), "{error}");
    }

    #[test]
    fn each_goal_is_missed_alone() {
        assert!(good().is_good());
        assert!(broken(&told(), 1.9e8).is_ok_and(|found| found.is_good()), "within a tenth");
        for accounted in [1.8e8, 2.3e8] {
            assert!(broken(&told(), accounted).is_ok_and(|found| !found.is_good()), "{accounted}");
        }
        assert!(!Broken { unknown: 0.08, ..good() }.is_good());
        assert!(!Broken { outside: 0.03, ..good() }.is_good());
        assert!(!Broken { scanner_away: 0.051, ..good() }.is_good());
        assert!(!Broken { lost_events: 1, ..good() }.is_good());
    }
}
