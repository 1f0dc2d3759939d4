//! What the kernel says about cores, processes and the machine.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CpuSet;
use std::fs;
use std::time::Duration;

/// USER_HZ, the unit of /proc/stat: fixed at 100 on Linux's common architectures.
const TICK: Duration = Duration::from_millis(10);

/// Pins the calling thread, and every thread that it starts later, to `core`.
pub(crate) fn pin(core: usize) -> Result<(), String> {
    if core >= CpuSet::MAX_CPU {
        return Err(format!("found core {core}, at most {} is possible", CpuSet::MAX_CPU - 1));
    }
    let mut set = CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|error| format!("cannot pin to core {core}: {error}; name a core with --core"))
}

/// Allows as many descriptors as the hard limit does: a thousand connections exceed the usual soft
/// limit of 1,024.
pub(crate) fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Refused means as before; then `connect` or `accept` says what is missing.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// CPU time of all threads of a process, from schedstat, in nanoseconds. The share of a thread that runs at this
/// moment is up to one scheduler tick (4 ms at 250 Hz) old.
pub(crate) fn cpu_of(pid: u32) -> Result<Duration, String> {
    let gone = |error| format!("cannot read the CPU time of process {pid}: {error}");
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(gone)?;
    let read = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat"));
    // A thread may end between the listing and the reading.
    let texts = tasks.flatten().filter_map(|task| read(task).ok());
    let nanos = texts.filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    Ok(Duration::from_nanos(nanos.sum()))
}

/// Time that all cores together were busy, and not ours, and in total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticks {
    /// Running anything, time stolen by the hypervisor included.
    pub(crate) busy: Duration,
    /// Busy or idle.
    pub(crate) all: Duration,
}

impl Ticks {
    /// Since the machine started, in steps of 10 ms for each core.
    pub(crate) fn now() -> Result<Self, String> {
        let text = fs::read_to_string("/proc/stat")
            .map_err(|error| format!("cannot read /proc/stat: {error}"))?;
        Self::parse(&text)
            .ok_or_else(|| "found no line `cpu` with 8 numbers in /proc/stat".to_owned())
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        // user nice system idle iowait irq softirq steal; guest time is part of user.
        let ticks: Vec<u32> = line
            .split_whitespace()
            .take(8)
            .map_while(|word| u32::try_from(word.parse::<u64>().ok()?).ok())
            .collect();
        let [_, _, _, idle, iowait, _, _, _] = ticks[..] else {
            return None;
        };
        let all: u32 = ticks.iter().sum();
        Some(Self { busy: TICK * (all - idle - iowait), all: TICK * all })
    }

    /// What passed since `earlier`. Zero where the kernel's counters went back, as `iowait` may.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            all: self.all.saturating_sub(earlier.all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_busy_and_waiting_for_disks_is_not() {
        let ticks = Ticks::parse("cpu  1 2 3 100 50 4 5 6 7 8\ncpu0 9\n").unwrap();
        assert_eq!(ticks.busy, Duration::from_millis(210));
        assert_eq!(ticks.all, Duration::from_millis(1_710));
        assert_eq!(Ticks::parse("cpu  1 2 3\n"), None);
        assert_eq!(Ticks::parse("cpu  1 2 3 4 5 6 7 x\n"), None);
    }

    #[test]
    fn the_kernel_knows_us_and_no_process_zero() {
        assert!(cpu_of(std::process::id()).is_ok());
        assert!(cpu_of(0).unwrap_err().contains("process 0"));
        assert!(Ticks::now().unwrap().all > Duration::ZERO);
    }
}
