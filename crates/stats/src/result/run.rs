//! One run: what was asked, what came of it, and whether it counts.

use super::answers::AnswerReading;
use super::asked::AskedRun;
use super::fates::Fates;
use super::generator::GeneratorReading;
use super::latency::LatencyReading;
use super::noise::Noise;
use super::rates::Rates;
use super::readings::{
    ChangeReading, ClassReading, FaultReading, LockReading, RetryReport, TierReading,
};
use super::refusals::RefusalReading;
use super::replicas::ReplicaReading;
use super::series::Series;
use super::server::ServerReading;
use super::skip::is_zero;
use super::verdict::RunVerdict;
use super::yardstick::Yardstick;
use crate::connections::ConnectionReading;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of one controller at one demand. In JSON, the fields of its parts stand among its own.
// A map by numbers cannot be in a part: serde reads parts by way of values whose keys are text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// What was asked for.
    #[serde(flatten)]
    pub asked: AskedRun,
    /// What its goodput is quoted against.
    #[serde(flatten)]
    pub yardstick: Yardstick,
    /// Requests and answers per second.
    #[serde(flatten)]
    pub rates: Rates,
    /// Where every intended request of the window went.
    pub fates: Fates,
    /// How many of the lost the generator could not even hand to a client.
    pub unsent: u64,
    /// Sheds by reason.
    pub shed_by_reason: BTreeMap<String, u64>,
    /// How long served requests took.
    #[serde(flatten)]
    pub latency: LatencyReading,
    /// How much was refused, and how soon.
    #[serde(flatten)]
    pub refusals: RefusalReading,
    /// How the generator kept to its schedule.
    #[serde(flatten)]
    pub generator: GeneratorReading,
    /// What the server spent on its requests.
    #[serde(flatten)]
    pub server: ServerReading,
    /// Whether it counts.
    #[serde(flatten)]
    pub verdict: RunVerdict,
    /// Answers that were not whole, or not right.
    #[serde(flatten)]
    pub answers: AnswerReading,
    /// What became of the service's replicas of its data.
    #[serde(flatten)]
    pub replicas: ReplicaReading,
    /// The generator's connections, where one was lost. Such a run does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionReading>,
    /// The generator's audit of itself: whether the gaps that it really sent are exponential. Told, and
    /// not judged by: its turns of a few µs show in it before they matter. `None` for steps.
    #[serde(default)]
    pub audit: Option<crate::audit::Audit>,
    /// What clients of several replicas did when one refused; `None` where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryReport>,
    /// What went wrong, as the scenario asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultReading>,
    /// Threading models that the server changed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeReading>,
    /// Machine noise during the window.
    pub noise: Noise,
    /// Per-bin series, for stepped scenarios.
    pub series: Option<Series>,
    /// What was waited at named locks; empty where there are none. On loopback in the measured window,
    /// in simulation in the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockReading>,
    /// The front and each tier, where there are tiers; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierReading>,
    /// What became of each class, the cheapest first; empty where all requests call one method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassReading>,
    /// The most requests per second that a server could serve which knows their costs and serves the cheapest first.
    /// It refuses for nothing and has all the time in the world; 0 where they have no classes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub known_bound_rps: f64,
    /// What it showed of itself and of the operating system, where it was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traits: Option<crate::traits::Traits>,
    /// How many served requests had which latency, in ns. `tailwater load` alone tells them: by these, loads of several
    /// machines become one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_counts_ns: BTreeMap<u64, u64>,
}

#[cfg(test)]
mod tests {
    use super::super::ReplicasCompared;
    use super::*;

    /// All that a run always has, and what is left out where there is none.
    const KEYS: [&str; 50] = [
        "controller",
        "profile",
        "arrivals",
        "deadlines_enforced",
        "clients",
        "slo_us",
        "repetition",
        "demand_ratio",
        "capacity_rps",
        "capacity_drift",
        "bound_rps",
        "bound_error",
        "asked_rps",
        "offered_rps",
        "throughput_rps",
        "goodput_rps",
        "goodput_of_capacity",
        "goodput_of_bound",
        "fates",
        "unsent",
        "shed_by_reason",
        "p50_us",
        "p99_us",
        "p999_us",
        "drop_ratio",
        "reject_p50_us",
        "lateness_p50_us",
        "lateness_p95_us",
        "lateness_p99_us",
        "slipped_us",
        "server_cpu_ns_per_request",
        "server_memory_bytes",
        "rx_per_request",
        "tx_per_request",
        "explicit_credits_rps",
        "valid",
        "invalid_because",
        "in_doubt",
        "wrong_answers",
        "partial_answers",
        "replicas_lost",
        "replicas_returned",
        "replicas_compared",
        "audit",
        "noise",
        "series",
        "locks",
        "classes",
        "known_bound_rps",
        "latency_counts_ns",
    ];

    fn full() -> Run {
        Run {
            asked: AskedRun { arrivals: "poisson".into(), ..AskedRun::default() },
            yardstick: Yardstick { bound_error: 0.1, ..Yardstick::default() },
            generator: GeneratorReading { slipped_us: 0.3, ..GeneratorReading::default() },
            server: ServerReading { memory_bytes: u64::MAX, ..ServerReading::default() },
            verdict: RunVerdict { in_doubt: Some("above it".into()), ..RunVerdict::default() },
            answers: AnswerReading { wrong: 1, partial: u64::MAX },
            replicas: ReplicaReading {
                lost: 2,
                returned: 1,
                compared: Some(ReplicasCompared { gets: vec![5], ..ReplicasCompared::default() }),
            },
            locks: vec![LockReading::default()],
            classes: vec![ClassReading::default()],
            known_bound_rps: 1e300,
            latency_counts_ns: [(7, u64::MAX)].into(),
            ..Run::default()
        }
    }

    #[test]
    fn parts_do_not_show_in_the_json() {
        let json = serde_json::to_string(&full()).expect("JSON");
        let places = KEYS.map(|key| json.find(&format!("\"{key}\":")));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{json}");
        // A part that was nested would have them in the same order.
        let all = serde_json::to_value(full()).expect("JSON");
        let fields = all.as_object().expect("an object");
        assert!(KEYS.iter().all(|key| fields.contains_key(*key)), "{json}");
        assert_eq!(fields.len(), KEYS.len(), "{json}");
    }

    /// Parts are read by way of values of any kind, which know no numbers as keys.
    #[test]
    fn what_was_written_is_read_to_the_last_digit() {
        let json = serde_json::to_string(&full()).expect("JSON");
        let read: Run = serde_json::from_str(&json).expect("a run");
        assert_eq!(serde_json::to_string(&read).expect("JSON"), json);
    }

    #[test]
    fn parts_of_earlier_versions_lack_fields() {
        let mut json = serde_json::to_value(full()).expect("JSON");
        let fields = json.as_object_mut().expect("an object");
        for key in ["lateness_p95_us", "slipped_us", "server_memory_bytes", "replicas_compared"] {
            assert!(fields.remove(key).is_some(), "{key}");
        }
        let read: Run = serde_json::from_value(json).expect("a run");
        assert_eq!((read.generator.slipped_us, read.server.memory_bytes), (0.0, 0));
        assert_eq!((read.replicas.lost, read.replicas.compared), (2, None));
    }
}
