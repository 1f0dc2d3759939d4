//! What `/proc` tells of a process: no right is needed for one's own.

use super::Counts;
use std::collections::BTreeMap;
use std::io;

/// One reading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Files {
    threads: BTreeMap<u32, ThreadFiles>,
    minor_faults: u64,
    major_faults: u64,
}

/// Of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct ThreadFiles {
    voluntary: u64,
    involuntary: u64,
    cpu_ns: u64,
    run_delay_ns: u64,
}

impl Files {
    pub(super) fn read(pid: u32) -> io::Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (minor_faults, major_faults) = faults(&stat);
        let mut threads = BTreeMap::new();
        for entry in std::fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
            // A thread may end while it is read.
            let read = |file: &str| std::fs::read_to_string(entry.path().join(file));
            if let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse().ok())
                && let (Ok(status), Ok(schedstat)) = (read("status"), read("schedstat"))
            {
                threads.insert(tid, ThreadFiles::of(&status, &schedstat));
            }
        }
        Ok(Self { threads, minor_faults, major_faults })
    }

    pub(super) fn threads(&self) -> Vec<u32> {
        self.threads.keys().copied().collect()
    }

    /// What came since; of threads that were not there before, all.
    pub(super) fn since(&self, before: &Self) -> Counts {
        let mut counts = Counts {
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            ..Counts::default()
        };
        for (tid, now) in &self.threads {
            let then = before.threads.get(tid).copied().unwrap_or_default();
            counts.voluntary_switches += now.voluntary.saturating_sub(then.voluntary);
            counts.involuntary_switches += now.involuntary.saturating_sub(then.involuntary);
            counts.cpu_ns += now.cpu_ns.saturating_sub(then.cpu_ns);
            counts.run_delay_ns += now.run_delay_ns.saturating_sub(then.run_delay_ns);
        }
        counts
    }
}

impl ThreadFiles {
    fn of(status: &str, schedstat: &str) -> Self {
        let line = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim().parse().ok()
        };
        let mut times = schedstat.split_whitespace().map(|word| word.parse().unwrap_or(0));
        Self {
            voluntary: line("voluntary_ctxt_switches:").unwrap_or(0),
            involuntary: line("nonvoluntary_ctxt_switches:").unwrap_or(0),
            cpu_ns: times.next().unwrap_or(0),
            run_delay_ns: times.next().unwrap_or(0),
        }
    }
}

/// Fields 10 and 12 of `/proc/PID/stat`; the second field may hold blanks and brackets.
fn faults(stat: &str) -> (u64, u64) {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |number: usize| {
        let word = after_name.split_whitespace().nth(number - 3);
        word.and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    (field(10), field(12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_as_the_kernel_writes_them() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 901 902 7 8 11 12 13 14 20 0 1 0 5 0 0";
        assert_eq!(faults(stat), (901, 7));
        assert_eq!(faults(""), (0, 0));
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n";
        let read = ThreadFiles::of(status, "1000 200 3\n");
        let expected =
            ThreadFiles { voluntary: 17, involuntary: 4, cpu_ns: 1000, run_delay_ns: 200 };
        assert_eq!(read, expected);
    }

    #[test]
    fn what_a_new_thread_did_counts_and_what_was_before_does_not() {
        let thread = |cpu_ns| ThreadFiles { cpu_ns, ..ThreadFiles::default() };
        let before = Files { threads: [(1, thread(100))].into(), ..Files::default() };
        let after = Files {
            threads: [(1, thread(150)), (2, thread(7))].into(),
            minor_faults: 3,
            major_faults: 0,
        };
        let counts = after.since(&before);
        assert_eq!((counts.cpu_ns, counts.minor_faults, counts.syscalls), (57, 3, None));
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(Files::read(u32::MAX).is_err());
    }
}
