//! Cores and what a process used of them.

use rustix::thread::CpuSet;
use std::time::Duration;

/// Pins the calling thread to `core`.
///
/// # Errors
/// When this process may not use that core; the message says so.
pub fn pin(core: usize) -> Result<(), String> {
    if core >= CpuSet::MAX_CPU {
        return Err(format!("core {core} found, at most {} is possible", CpuSet::MAX_CPU - 1));
    }
    let mut set = CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
        format!("cannot pin to core {core}: {error}; this machine has {} cores", count())
    })
}

/// Cores that this process may use.
#[must_use]
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// CPU time and involuntary context switches of a process, all threads together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Time on a core, exact to the nanosecond (schedstat).
    pub cpu: Duration,
    /// Time runnable but not running.
    pub run_delay: Duration,
    /// Involuntary context switches.
    pub involuntary: u64,
}

impl Usage {
    /// Of the process `pid`; `None` when it is gone.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let mut usage = Self::default();
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let read = |name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let schedstat = read("schedstat");
            let mut numbers = schedstat.split_whitespace().map(|word| word.parse().unwrap_or(0));
            usage.cpu += Duration::from_nanos(numbers.next().unwrap_or(0));
            usage.run_delay += Duration::from_nanos(numbers.next().unwrap_or(0));
            usage.involuntary += read("status")
                .lines()
                .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))
                .and_then(|count| count.trim().parse::<u64>().ok())
                .unwrap_or(0);
        }
        Some(usage)
    }

    /// What was used since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            run_delay: self.run_delay.saturating_sub(earlier.run_delay),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}
