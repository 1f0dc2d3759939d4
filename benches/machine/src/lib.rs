//! What numbers of a bench were taken on, how they are kept, where tailwater's program is, and how others are run.

#![forbid(unsafe_code)]

pub mod command;
pub mod result;

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A machine, as results name it. What cannot be read is empty, or zero.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct Machine {
    /// The processor's name, as it calls itself.
    pub cpu: String,
    /// Cores on which this process may run.
    pub cores: usize,
    /// The number of the kernel's release alone: what a builder appends names a machine's owner.
    pub kernel: String,
}

impl Machine {
    /// This one, now.
    #[must_use]
    pub fn here() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        Self {
            cpu: cpu(&read("/proc/cpuinfo")),
            cores,
            kernel: number(&read("/proc/sys/kernel/osrelease")),
        }
    }
}

/// Where, when and of what state of the checkout something is measured.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct Origin {
    #[serde(default)]
    machine: Machine,
    /// 0 in results of before it was kept.
    #[serde(default)]
    started_unix: u64,
    /// What the checkout stood at then. Programs that are measured may be older; scripts build them before.
    #[serde(flatten)]
    checkout: Option<Checkout>,
}

impl Origin {
    /// To be taken before anything is measured: a commit may come meanwhile.
    #[must_use]
    pub fn now() -> Self {
        let started_unix = result::now_unix();
        Self { machine: Machine::here(), started_unix, checkout: Checkout::here() }
    }

    /// The machine that it was taken on.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Seconds since 1970 at which it was taken.
    #[must_use]
    pub const fn started_unix(&self) -> u64 {
        self.started_unix
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
struct Checkout {
    commit: String,
    /// It had changes that are not of the commit, in what git knows.
    dirty: bool,
}

impl Checkout {
    /// `None` where it is none of git's.
    fn here() -> Option<Self> {
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["--no-optional-locks", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/../..")]);
            command::output(git.args(words)).ok()
        };
        let commit = git(&["rev-parse", "HEAD"])?.trim().to_owned();
        let changes =
            git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!results"])?;
        Some(Self { commit, dirty: !changes.is_empty() })
    }
}

/// tailwater's program, as `cargo xtask bench` builds it: in the folder that it names, or in that of the checkout.
///
/// # Errors
/// What to type where it was not built.
pub fn tailwater() -> Result<PathBuf, String> {
    let program = tailwater_target().join("release/tailwater");
    if program.exists() {
        return Ok(program);
    }
    let missing = program.display();
    Err(format!("found no {missing}; type: cargo build --release --package tailwater-cli"))
}

/// The folder of tailwater's own build: the one that is named, or that of the checkout.
#[must_use]
pub fn tailwater_target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(std::env::var_os("TAILWATER_TARGET").unwrap_or_else(|| "target".into()))
}

/// The name of the first processor in the text of `/proc/cpuinfo`.
fn cpu(text: &str) -> String {
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(String::new, |(_, model)| model.to_owned())
}

/// `6.1.0` of `6.1.0-18-cloud-amd64`.
fn number(release: &str) -> String {
    release.trim().split('-').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_and_nobody_who_built_the_kernel() {
        let text = "processor\t: 0\nmodel name\t: A CPU @ 2.00GHz\nprocessor\t: 1\n";
        assert_eq!(cpu(text), "A CPU @ 2.00GHz");
        assert_eq!(cpu(""), "");
        assert_eq!(number("6.1.0-18-acme-amd64\n"), "6.1.0");
        assert_eq!(number("6.1.0\n"), "6.1.0");
    }

    #[test]
    fn a_result_says_of_which_commit_it_is_where_there_is_one() {
        let origin = serde_json::to_value(Origin::now()).unwrap();
        let commit = origin.get("commit").and_then(|commit| commit.as_str());
        assert_eq!(commit.map(str::len), Checkout::here().map(|here| here.commit.len()));
        assert_eq!(origin["machine"], serde_json::to_value(Machine::here()).unwrap());
    }

    #[test]
    fn a_result_of_before_is_read_and_has_neither_time_nor_commit() {
        let of = |told| serde_json::from_value::<Origin>(told).unwrap();
        let machine = serde_json::json!({ "cpu": "A", "cores": 2, "kernel": "6.1.0" });
        let before = of(serde_json::json!({ "machine": machine }));
        assert_eq!((before.machine().cores, before.started_unix()), (2, 0));
        assert_eq!(before.checkout, None);
        let here = Origin::now();
        assert_eq!(of(serde_json::to_value(&here).unwrap()), here);
    }

    #[test]
    fn this_machine_has_a_core_and_a_kernel() {
        let here = Machine::here();
        assert!(here.cores > 0 && !here.kernel.is_empty(), "{here:?}");
    }
}
