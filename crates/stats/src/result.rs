//! What one experiment found: the object that `tailwater run --json` prints.
//!
//! Field names carry their unit. Both drivers fill it; tables, plots and pages only read it.

mod run;
mod asked;
mod yardstick;
mod rates;
mod fates;
mod latency;
mod refusals;
mod series;
mod generator;
mod server;
mod answers;
mod replicas;
mod verdict;
mod noise;
mod readings;
mod manifest;
mod skip;

pub use answers::AnswerReading;
pub use asked::AskedRun;
pub use fates::Fates;
pub use generator::GeneratorReading;
pub use latency::LatencyReading;
pub use manifest::{DataUsed, Manifest, StallReading};
pub use noise::Noise;
pub use rates::Rates;
pub use readings::{
    ChangeReading, ClassReading, FaultReading, HedgeReading, LockReading, RetryReport, TierReading,
};
pub use refusals::RefusalReading;
pub use replicas::{ReplicaReading, ReplicasCompared};
pub use run::Run;
pub use series::Series;
pub use server::ServerReading;
pub use verdict::RunVerdict;
pub use yardstick::Yardstick;

use crate::rules::Rules;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

// Parts of the model; modules of their own, since recoveries and comparisons, which are parts too, are made with spreads.
pub use crate::connections::ConnectionReading;
pub use crate::spread::Spread;

/// A whole experiment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Experiment {
    /// Name of the scenario file without its ending.
    pub scenario: String,
    /// What its file is about, for people; empty where the file has no title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// `loopback` or `sim`.
    pub driver: String,
    /// How requests were spread in time, as scenario files say it, with commas where there were several; empty in results
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arrivals: String,
    /// What serves, as scenario files say it: a distribution and its mean, an application, or the names of paths. Empty in
    /// results of earlier versions and of loads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub service: String,
    /// The seed that decided schedule and service times.
    pub seed: u64,
    /// Plateau of the closed-loop sweep, median over all blocks of the first configuration.
    pub capacity_rps: f64,
    /// (largest − smallest) ÷ median of the capacity measurements of the first configuration.
    pub capacity_drift: f64,
    /// The objective of the first configuration.
    pub slo_us: f64,
    /// Every run that took place, also the invalid.
    pub runs: Vec<Run>,
    /// Medians and spread over the valid repetitions of each configuration.
    pub summary: Vec<Summary>,
    /// How fast each controller was back after each step that changes demand, for stepped scenarios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<StepRecovery>,
    /// What control costs the server, where `none` ran beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostOfControl>,
    /// Every measurement of capacity, for the drift.
    #[serde(default)]
    pub capacities: Vec<CapacityReading>,
    /// The rules that runs were judged by, where the scenario departs from the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// Why it ended before all its runs took place, or before its one load was over, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// Its runs are of the scenario's short version, whose numbers are too few to quote. Not told in results of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
    /// Which part of an experiment it is, where machines shared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardMark>,
    /// By what it is put together with others, where it is one load on a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadMark>,
    /// What the server's application worked on, where it works on data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataUsed>,
    /// Runs that a rule on noise set aside, with the rule's reading.
    pub discarded: Vec<Discard>,
    /// Where, when and with what it was run.
    pub manifest: Manifest,
}

/// A part of an experiment, by which the whole is put together again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShardMark {
    /// Which it is, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
    /// Pairs of configuration and controller of all shards together.
    pub pairs: u32,
    /// Runs of each pair.
    pub repetitions: u32,
    /// Of the scenario and the flags that change it: the same in all shards.
    pub digest: String,
    /// Of the program that made it: the same in all shards.
    pub build: String,
}

/// One load, of several on a server at the same time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LoadMark {
    /// When its measured window began, in milliseconds since 1970, by its machine's clock.
    pub measured_from_unix_ms: u64,
    /// How long that window was.
    pub measured_ms: f64,
    /// What its requests asked for, by name.
    pub asks: BTreeMap<String, String>,
}

/// Server CPU per request of a controller against `none`, in pairs of the same repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CostOfControl {
    /// As in [`AskedRun`].
    pub controller: String,
    /// As in [`AskedRun`].
    pub profile: String,
    /// As in [`AskedRun`].
    pub clients: u32,
    /// As in [`AskedRun`].
    pub slo_us: f64,
    /// As in [`AskedRun`].
    pub demand_ratio: f64,
    /// Controller ÷ none.
    pub ratio: crate::compare::PairedRatio,
}

/// One measurement of capacity.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CapacityReading {
    /// Logical clients.
    pub clients: u32,
    /// Before which repetition, or between runs of which; the last is after all.
    pub repetition: u32,
    /// Requests in flight and answers per second of each point of the sweep.
    pub points: Vec<(u32, f64)>,
    /// Height of the plateau.
    pub plateau_rps: f64,
}

/// A step of demand, all its repetitions laid over one another.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StepRecovery {
    /// As in [`AskedRun`].
    pub controller: String,
    /// As in [`AskedRun`].
    pub profile: String,
    /// As in [`AskedRun`].
    pub clients: u32,
    /// As in [`AskedRun`].
    pub slo_us: f64,
    /// Which step of the cycle it is, from 0.
    #[serde(default)]
    pub step: usize,
    /// Demand ÷ capacity before the step.
    pub from_ratio: f64,
    /// Demand ÷ capacity after it.
    pub to_ratio: f64,
    /// What was found.
    pub recovery: crate::recovery::Recovery,
}

/// Median and spread over repetitions of one configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// As in [`AskedRun`].
    pub controller: String,
    /// As in [`AskedRun`].
    pub profile: String,
    /// As in [`AskedRun`].
    pub clients: u32,
    /// As in [`AskedRun`].
    pub slo_us: f64,
    /// As in [`AskedRun`].
    pub demand_ratio: f64,
    /// Valid repetitions behind the numbers.
    pub repetitions: u32,
    /// Each quantity of [`Run`] that varies, by its field name.
    pub of: BTreeMap<String, Spread>,
}

/// A run set aside by a rule on noise, never by its result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Discard {
    /// Which run: the text of its [`RunName`](crate::naming::RunName).
    pub what: String,
    /// The rule and its reading.
    pub why: String,
}
