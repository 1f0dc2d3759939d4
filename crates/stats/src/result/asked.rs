//! What a run was asked for, and how it is told from others.

use serde::{Deserialize, Serialize};

/// The controller, the demand on it and its objective; and which repetition it is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AskedRun {
    /// Name in the catalog.
    pub controller: String,
    /// Its profile, with overrides in brackets.
    pub profile: String,
    /// How its requests were spread in time, as scenario files say it; empty in results of earlier versions. Where a
    /// scenario has several, the profile ends in it, too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arrivals: String,
    /// The server refused at start what was past its deadline, whatever the controller.
    #[serde(default)]
    pub deadlines_enforced: bool,
    /// Logical clients, each with a connection and control state of its own.
    pub clients: u32,
    /// The objective that goodput counts against.
    pub slo_us: f64,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// Demand ÷ capacity; for stepped scenarios the mean.
    pub demand_ratio: f64,
}
