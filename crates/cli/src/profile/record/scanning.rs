//! How a program is scanned: what `record` and `attach` have in common.

use super::values::{core_share, duration, processor, share};
use clap::Args;
use std::process::Command;
use std::time::Duration;

/// What the recorder reads of its environment, be it in the program or beside it.
#[derive(Args, Debug)]
pub(crate) struct Scanning {
    /// The scanner budget: the share of each thread's time that looking at its stack may take from it, from 0.1% to 100%.
    /// Less finds fewer short calls, more slows the program down.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    budget: f64,
    /// The share of a core that the scanner itself may take, such as 25%: less leaves more to a program that has
    /// as many threads as there are cores, and makes the bounds of times wider.
    #[arg(long, value_name = "PERCENT", default_value = "100%", value_parser = core_share)]
    cpu: f64,
    /// The processor that the scanner runs on, by its number, as in `taskset -c`: one that the program does not
    /// use. Without it, any that the program may use.
    #[arg(long, value_name = "CPU", value_parser = processor)]
    scanner_cpu: Option<usize>,
    /// The shortest wait for a lock that is recorded, about a second at most.
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = duration)]
    lock_threshold: Duration,
    /// Record only these functions, by the linker's names: globs separated by commas, such as
    /// 'handle*,!*_cold*'. !GLOB leaves out, and the last that matches decides. No rebuild is needed.
    #[arg(long, value_name = "GLOBS")]
    filter: Option<String>,
}

impl Scanning {
    /// Has `command` scan so.
    pub(in crate::profile) fn tell(&self, command: &mut Command) {
        command.env("TAILWATER_PROFILE_BUDGET", self.budget.to_string());
        command.env("TAILWATER_PROFILE_LOCK_NS", self.lock_threshold.as_nanos().to_string());
        command.env("TAILWATER_PROFILE_CPU", self.cpu.to_string());
        if let Some(cpu) = self.scanner_cpu {
            command.env("TAILWATER_PROFILE_SCANNER_CPU", cpu.to_string());
        }
        if let Some(filter) = &self.filter {
            command.env("TAILWATER_PROFILE_FUNCTIONS", filter);
        }
    }
}
