//! Where, when and with what an experiment was run, and on which data.

use serde::{Deserialize, Serialize};

/// Where, when and with what.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Version and commit of tailwater.
    pub tailwater: String,
    /// Seconds since 1970 at the start; 0 in simulation, whose output depends on the seed alone.
    pub started_unix: u64,
    /// CPU model; empty in simulation.
    pub cpu: String,
    /// CPUs the process may use; 0 in simulation.
    pub cpus: u32,
    /// How the generator's threads waited and were scheduled, as scenario files say it; empty in simulation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub generator: String,
    /// Kernel release; empty in simulation.
    pub kernel: String,
    /// The stalls of the machine that were simulated, per core; empty for a machine without, and on
    /// loopback, where the machine has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<StallReading>,
}

impl Manifest {
    /// The share of a core's time that the simulated stalls take.
    #[must_use]
    pub fn stalled_share(&self) -> f64 {
        let us_per_second = |kind: &StallReading| {
            let total_us: f64 = kind.lengths_us.iter().sum();
            kind.per_second * total_us / kind.lengths_us.len().max(1) as f64
        };
        self.stalls.iter().map(us_per_second).sum::<f64>() / 1e6
    }
}

/// Stalls of similar length.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StallReading {
    /// How many begin per second of one core.
    pub per_second: f64,
    /// Lengths, each as likely as the others.
    pub lengths_us: Vec<f64>,
}

/// Data that an application works on, prepared before the runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DataUsed {
    /// The name of its file in the folder of prepared data, without the ending.
    pub name: String,
    /// For people: which set, how many, and what was done to it.
    pub about: String,
    /// Where it was taken from: files, a package, or a generator with its seed.
    pub source: String,
    /// Under which terms the source may be used.
    pub licence: String,
    /// Of all its contents, in hexadecimal digits.
    pub sha256: String,
    /// Their length.
    pub bytes: u64,
}
