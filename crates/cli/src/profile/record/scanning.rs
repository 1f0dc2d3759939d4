//! How a program is scanned: what `record` and `attach` have in common.

use super::values::{SCANNERS_MAX, core_share, processor, share};
use crate::values::duration;
use clap::Args;
use std::process::Command;
use std::time::Duration;
use tailwater_profile::record::{Counter, Counters};

/// What the recorder reads of its environment, be it in the program or beside it.
#[derive(Args, Debug)]
pub(crate) struct Scanning {
    /// The scanner budget: the share of each thread's time that looking at its stack may take from it, from 0.1% to 100%.
    /// Less finds fewer short calls, more slows the program down.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    budget: f64,
    /// Threads that look, 16 at most. Each looks at its part of the program's threads: where these are many, more scanners
    /// come back to each sooner. Each wants a core that the program leaves free. With 0 none looks, and none wants a core: of calls,
    /// those of functions that time themselves (`build --clock`) are recorded alone, beside waits, marks and --lines.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = scanners())]
    scanners: u8,
    /// The share of a core that the scanners together may take, such as 25%; without it, a whole one each. Less leaves more
    /// to a program that has as many threads as there are cores, and makes the bounds of times wider.
    #[arg(long, value_name = "PERCENT", value_parser = core_share)]
    cpu: Option<f64>,
    /// The processor that the scanner runs on, by its number, as in `taskset -c`: one that the program does not
    /// use. Without it, any that the program may use. For several scanners, one each, such as 6,7.
    #[arg(long, value_name = "CPU", value_delimiter = ',', value_parser = processor)]
    scanner_cpu: Vec<usize>,
    /// The shortest wait for a lock that is recorded, about a second at most.
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = duration)]
    lock_threshold: Duration,
    /// Record also locks that were held for so long though nothing waited for them, 1us where no time is given, about a second at most:
    /// `report --locks` tells which, and which function took them. Each lock and each unlock then reads the clock. What is still held
    /// when the recording ends is not told.
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1us",
        value_parser = duration
    )]
    holds: Option<Duration>,
    /// Count in each call of a function that times itself (`build --clock`), four of these at most. Of the kernel: cpu (time on a
    /// core), faults (of pages, without a disk), major-faults (with one). Switches are times that its thread left the core by
    /// itself, preemptions that this was taken. Processors may have cycles, instructions, cache-misses and branch-misses, of the program's
    /// own code. Without a list cpu,faults,switches,preemptions. `report --counters` sets slow calls beside all, and --slowest tells
    /// of each. Each call then takes some microseconds more. For those of the
    /// kernel no right is needed.
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "cpu,faults,switches,preemptions"
    )]
    counters: Option<Counters>,
    /// Record only these functions, by the linker's names: globs separated by commas, such as
    /// 'handle*,!*_cold*'. !GLOB leaves out, and the last that matches decides. No rebuild is needed.
    #[arg(long, value_name = "GLOBS")]
    filter: Option<String>,
}

fn scanners() -> impl clap::builder::TypedValueParser<Value = u8> {
    clap::value_parser!(u8).range(0..=i64::from(SCANNERS_MAX))
}

impl Scanning {
    /// What calls are to count.
    pub(in crate::profile) fn counters(&self) -> Counters {
        self.counters.unwrap_or_default()
    }

    /// Has `command` scan so.
    pub(in crate::profile) fn tell(&self, command: &mut Command) {
        command.env("TAILWATER_PROFILE_BUDGET", self.budget.to_string());
        command.env("TAILWATER_PROFILE_LOCK_NS", self.lock_threshold.as_nanos().to_string());
        command.env("TAILWATER_PROFILE_SCANNERS", self.scanners.to_string());
        // Zero is none.
        let holds = self.holds.map_or(0, |holds| holds.as_nanos().max(1));
        command.env("TAILWATER_PROFILE_HOLD_NS", holds.to_string());
        let counters: Vec<&str> = self.counters().iter().map(Counter::name).collect();
        command.env("TAILWATER_PROFILE_COUNTERS", counters.join(","));
        if let Some(cpu) = self.cpu {
            command.env("TAILWATER_PROFILE_CPU", cpu.min(self.scanners.max(1).into()).to_string());
        }
        if !self.scanner_cpu.is_empty() {
            let cpus: Vec<String> = self.scanner_cpu.iter().map(usize::to_string).collect();
            command.env("TAILWATER_PROFILE_SCANNER_CPU", cpus.join(","));
        }
        if let Some(filter) = &self.filter {
            command.env("TAILWATER_PROFILE_FUNCTIONS", filter);
        }
    }
}
