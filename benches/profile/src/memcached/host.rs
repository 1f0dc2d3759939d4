//! CPU time of a process's threads, as the kernel keeps it.

use std::fs;

/// All threads' time on a core but that of the profiler's own, in ns. A thread that runs right now may be
/// a tick (4 ms) behind.
pub(super) fn cpu_ns(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        if name.starts_with("tw-") {
            return None;
        }
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    tasks.filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_takes_time_and_an_unknown_process_takes_none() {
        let before = cpu_ns(std::process::id());
        let work: u64 = (0..20_000_000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
        assert_eq!(work, std::hint::black_box(work));
        assert!(cpu_ns(std::process::id()) > before);
        assert_eq!(cpu_ns(u32::MAX), 0);
    }
}
