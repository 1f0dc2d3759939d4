//! Where, when and with what an experiment was run, and on which data.

use serde::{Deserialize, Serialize};

/// Where, when and with what.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of tailwater.
    pub tailwater: String,
    /// The commit of the checkout that the program was built from; `unknown` where it was built outside of one or for
    /// tests, and empty in results of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// That checkout had changes of which no commit was made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// Seconds since 1970 at the start; 0 in simulation, whose output depends on program and seed alone: it is the same to
    /// the byte whenever it is made, and so are the shards that are merged.
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
    /// Version and commit, as far as they are known.
    #[must_use]
    pub fn build(&self) -> String {
        let changed = if self.dirty { ", changed since" } else { "" };
        match &*self.commit {
            "" => self.tailwater.clone(),
            commit => format!("{}, commit {commit}{changed}", self.tailwater),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_named_as_far_as_it_is_known() {
        let of = |commit: &str, dirty| Manifest {
            tailwater: "0.1.0".into(),
            commit: commit.into(),
            dirty,
            ..Manifest::default()
        };
        assert_eq!(of("", false).build(), "0.1.0");
        assert_eq!(of("1f2e", false).build(), "0.1.0, commit 1f2e");
        assert_eq!(of("1f2e", true).build(), "0.1.0, commit 1f2e, changed since");
    }

    /// Of earlier versions: they are read, and written as they were.
    #[test]
    fn a_file_without_a_commit_stays_without() {
        let text = r#"{"tailwater":"0.1.0","started_unix":0,"cpu":"","cpus":0,"kernel":""}"#;
        let manifest: Manifest = serde_json::from_str(text).expect("a manifest");
        assert_eq!(serde_json::to_string(&manifest).expect("text"), text);
    }
}
