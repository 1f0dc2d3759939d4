//! Cores, and what a process or the whole machine used of them.

use rustix::io::Errno;
use rustix::thread::CpuSet;
use std::fmt;
use std::time::Duration;

/// A core to which no thread of this process can be pinned. The operator acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinError {
    core: usize,
    said: Errno,
    /// Those on which the thread runs.
    own: String,
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { core, said, own } = self;
        write!(f, "cannot pin to core {core}: {said}; this thread may run on {own}")
    }
}

/// The cores on which the calling thread may run, as the kernel writes a list of them: `0-1,3`. `None` where it does not tell.
#[must_use]
pub fn list() -> Option<String> {
    rustix::thread::sched_getaffinity(None).ok().map(|set| list_of(&set))
}

fn list_of(set: &CpuSet) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for core in (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => runs.push((core, core)),
        }
    }
    let run = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

impl std::error::Error for PinError {}

/// Pins the calling thread to `core`.
///
/// # Errors
/// When this process may not use that core.
pub fn pin(core: usize) -> Result<(), PinError> {
    let refused = |said| PinError { core, said, own: list().unwrap_or_else(|| "?".into()) };
    if core >= CpuSet::MAX_CPU {
        // As the kernel says of cores that are not there. It could not be told of this one.
        return Err(refused(Errno::INVAL));
    }
    let mut set = CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).map_err(refused)
}

/// Cores that this process may use.
#[must_use]
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What the kernel counts of a process, all its threads together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Time on a core, exact to the nanosecond (schedstat).
    pub cpu: Duration,
    /// Time runnable but not running.
    pub run_delay: Duration,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Voluntary context switches: a thread went to sleep.
    pub voluntary: u64,
    /// Page faults, with and without a disk.
    pub faults: u64,
    /// Time in its program, in ticks that are mostly 10 ms.
    pub user: Duration,
    /// Time in the kernel, likewise.
    pub kernel: Duration,
}

impl Usage {
    /// Of the process `pid`; `None` when it is gone.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let process = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut usage = Self::of_stat(&process, rustix::param::clock_ticks_per_second());
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let read = |name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            usage.add_thread(&read("schedstat"), &read("status"));
        }
        Some(usage)
    }

    /// What `/proc/PID/stat` says of the whole process (proc_pid_stat(5)).
    fn of_stat(stat: &str, ticks_per_second: u64) -> Self {
        // The program's name may hold spaces and brackets; what follows its last bracket is numbers.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let numbers: Vec<u64> =
            rest.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
        // Fields are counted from 1, and the state, which comes first here, is the third.
        let field = |number: usize| numbers.get(number - 3).copied().unwrap_or(0);
        let time = |ticks: u64| time_of(ticks, ticks_per_second);
        Self {
            faults: field(10) + field(12),
            user: time(field(14)),
            kernel: time(field(15)),
            ..Self::default()
        }
    }

    fn add_thread(&mut self, schedstat: &str, status: &str) {
        let mut numbers = schedstat.split_whitespace().map(|word| word.parse().unwrap_or(0));
        self.cpu += Duration::from_nanos(numbers.next().unwrap_or(0));
        self.run_delay += Duration::from_nanos(numbers.next().unwrap_or(0));
        let switches = |name: &str| {
            let count = status.lines().find_map(|line| line.strip_prefix(name));
            count.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        self.involuntary += switches("nonvoluntary_ctxt_switches:");
        self.voluntary += switches("voluntary_ctxt_switches:");
    }

    /// What was used here and by another process.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            run_delay: self.run_delay + other.run_delay,
            involuntary: self.involuntary + other.involuntary,
            voluntary: self.voluntary + other.voluntary,
            faults: self.faults + other.faults,
            user: self.user + other.user,
            kernel: self.kernel + other.kernel,
        }
    }

    /// What was used since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            run_delay: self.run_delay.saturating_sub(earlier.run_delay),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            faults: self.faults.saturating_sub(earlier.faults),
            user: self.user.saturating_sub(earlier.user),
            kernel: self.kernel.saturating_sub(earlier.kernel),
        }
    }

    /// The kernel's share of its time; 0 where it had none.
    #[must_use]
    pub fn kernel_share(&self) -> f64 {
        let all = self.user + self.kernel;
        if all.is_zero() { 0.0 } else { self.kernel.as_secs_f64() / all.as_secs_f64() }
    }
}

/// Time of all cores together since the machine started. The kernel counts in ticks, mostly of 10 ms: a window of two seconds
/// is known to half a per cent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MachineTime {
    /// In programs, and in the kernel on their behalf and for interrupts.
    pub busy: Duration,
    /// Given to others by the hypervisor.
    pub stolen: Duration,
    /// Busy, stolen or idle.
    pub all: Duration,
}

impl MachineTime {
    /// Until now; zero where the kernel does not tell.
    #[must_use]
    pub fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self::of_stat(&stat, rustix::param::clock_ticks_per_second())
    }

    /// What `/proc/stat` says in its first line (proc_stat(5)).
    fn of_stat(stat: &str, ticks_per_second: u64) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let words = line.split_whitespace().skip(1).map(|word| word.parse().unwrap_or(0));
        // User, nice, system; idle, waiting for disks; interrupts, softirqs; steal. Guests are in the first two.
        let ticks: Vec<u64> = words.take(8).collect();
        let tick = |at: usize| ticks.get(at).copied().unwrap_or(0);
        let time = |ticks: u64| time_of(ticks, ticks_per_second);
        Self {
            // A process's own time holds the interrupts that came while it ran, as those of loopback do: without them
            // others would seem to do less.
            busy: time([0, 1, 2, 5, 6].map(tick).into_iter().sum()),
            stolen: time(tick(7)),
            all: time(ticks.iter().sum()),
        }
    }

    /// What passed since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            all: self.all.saturating_sub(earlier.all),
        }
    }
}

fn time_of(ticks: u64, ticks_per_second: u64) -> Duration {
    Duration::from_millis(1_000 * ticks / ticks_per_second.max(1))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 300 0 2 0 25 75 0 0 20 0 3 0 9";
        let mut usage = Usage::of_stat(stat, 100);
        usage.add_thread(
            "5000 700 3\n",
            "voluntary_ctxt_switches:\t8\nnonvoluntary_ctxt_switches:\t2\n",
        );
        usage.add_thread("1000 300 1\n", "voluntary_ctxt_switches:\t4\n");
        let expected = Usage {
            cpu: Duration::from_nanos(6_000),
            run_delay: Duration::from_nanos(1_000),
            involuntary: 2,
            voluntary: 12,
            faults: 302,
            user: Duration::from_millis(250),
            kernel: Duration::from_millis(750),
        };
        assert_eq!(usage, expected);
        assert_eq!(usage.kernel_share(), 0.75);
        let earlier = Usage { voluntary: 10, faults: 300, ..Usage::default() };
        let since = usage.since(&earlier);
        assert_eq!((since.voluntary, since.faults), (2, 2));
        assert_eq!(since.and(&earlier), usage);
        assert_eq!(Usage::of_stat("", 100), Usage::default());
    }

    #[test]
    fn interrupts_are_busy_time_and_idle_cores_and_guests_are_not() {
        let stat = "cpu  100 20 3000 9000 800 40 5 7 60 3\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        let time = MachineTime::of_stat(stat, 100);
        let expected = MachineTime {
            busy: Duration::from_millis(10 * (100 + 20 + 3000 + 40 + 5)),
            stolen: Duration::from_millis(70),
            all: Duration::from_millis(10 * (100 + 20 + 3000 + 9000 + 800 + 40 + 5 + 7)),
        };
        assert_eq!(time, expected);
        let earlier = MachineTime { stolen: Duration::from_millis(30), ..time };
        let since = MachineTime { stolen: Duration::from_millis(40), ..MachineTime::default() };
        assert_eq!((time.since(&earlier), earlier.since(&time)), (since, MachineTime::default()));
        assert_eq!(MachineTime::of_stat("", 100), MachineTime::default());
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        for core in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let said = pin(core).expect_err("no machine of tests has so many").to_string();
            assert!(said.starts_with(&format!("cannot pin to core {core}: ")), "{said}");
            // It was only told how many there are.
            let own = list().expect("the kernel tells");
            assert!(said.ends_with(&format!("; this thread may run on {own}")), "{said}");
        }
    }

    #[test]
    fn cores_are_listed_as_the_kernel_lists_them() {
        for (cores, listed) in
            [(vec![0], "0"), (vec![0, 1, 3], "0-1,3"), (vec![2, 4, 5, 6], "2,4-6")]
        {
            let mut set = CpuSet::new();
            cores.into_iter().for_each(|core| set.set(core));
            assert_eq!(list_of(&set), listed);
        }
    }

    #[test]
    fn this_very_process_has_used_the_processor() {
        let usage = Usage::of(std::process::id()).expect("it is there");
        assert!(usage.cpu > Duration::ZERO && usage.faults > 0, "{usage:?}");
    }
}
