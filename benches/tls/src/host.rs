//! What the kernel says about cores, processes and the machine.

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
        .map_err(|error| format!("cannot pin to core {core}: {error}; two cores are needed"))
}

/// CPU time of all threads of a process, from schedstat; of a thread that runs at this moment up to one
/// scheduler tick (4 ms at 250 Hz) old.
pub(crate) fn cpu_of(pid: u32) -> Result<Duration, String> {
    let gone = |error| format!("cannot read the CPU time of process {pid}: {error}");
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(gone)?;
    let read = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat"));
    // A thread may end between the listing and the reading.
    let texts = tasks.flatten().filter_map(|task| read(task).ok());
    let nanos = texts.filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    Ok(Duration::from_nanos(nanos.sum()))
}

/// Time that all cores together ran something since the machine started, in steps of 10 ms for each; what
/// the hypervisor stole is part of it.
pub(crate) fn busy() -> Result<Duration, String> {
    let text = fs::read_to_string("/proc/stat")
        .map_err(|error| format!("cannot read /proc/stat: {error}"))?;
    parse(&text).ok_or_else(|| "found no line `cpu` with 8 numbers in /proc/stat".to_owned())
}

fn parse(text: &str) -> Option<Duration> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> =
        line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks[..] else {
        return None;
    };
    let busy = u32::try_from(user + nice + system + irq + softirq + steal).ok()?;
    Some(TICK * busy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_busy_and_waiting_for_disks_is_not() {
        let busy = parse("cpu  1 2 3 100 50 4 5 6 7 8\ncpu0 9\n");
        assert_eq!(busy, Some(Duration::from_millis(210)));
        assert_eq!(parse("cpu  1 2 3\n"), None);
    }
}
