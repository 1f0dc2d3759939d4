//! What became of replicas of data.

use super::skip::is_none_counted;
use serde::{Deserialize, Serialize};

/// How often a service lost replicas of its data, and whether those that it has hold the same.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReplicaReading {
    /// How often the service lost a replica of its data since its start, as its answers told.
    #[serde(rename = "replicas_lost", default, skip_serializing_if = "is_none_counted")]
    pub lost: u64,
    /// How often one of these came back.
    #[serde(rename = "replicas_returned", default, skip_serializing_if = "is_none_counted")]
    pub returned: u64,
    /// Whether replicas held the same after the run, where the application was asked that. A difference counts as a wrong answer.
    #[serde(rename = "replicas_compared", default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ReplicasCompared>,
}

/// Keys whose replicas were compared after a run.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct ReplicasCompared {
    /// A sample of the keys that were written.
    pub keys: u64,
    /// Of these, those of which fewer than two replicas could be asked.
    pub untold: u64,
    /// Those whose replicas did not hold the same.
    pub differ: u64,
    /// How many reads the replicas have answered, in the order in which a key has them. None in results of before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gets: Vec<u64>,
}

impl ReplicasCompared {
    /// Of two generators.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let at = |gets: &[u64], place: usize| gets.get(place).copied().unwrap_or(0);
        let places = self.gets.len().max(other.gets.len());
        Self {
            keys: self.keys + other.keys,
            untold: self.untold + other.untold,
            differ: self.differ + other.differ,
            gets: (0..places).map(|it| at(&self.gets, it) + at(&other.gets, it)).collect(),
        }
    }
}
