//! What the kernel says about cores, threads and processes.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CpuSet;
use rustix::time::ClockId;
use std::time::Duration;

/// USER_HZ, the unit of /proc/stat: fixed at 100 on Linux's common architectures.
const TICK: Duration = Duration::from_millis(10);

/// Pins the calling thread to `core`.
pub(crate) fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|error| format!("cannot pin to core {core}: {error}; two cores are needed"))
}

/// Allows as many descriptors as the hard limit does: two thousand connections exceed the usual soft
/// limit of 1,024.
pub(crate) fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // A refusal means that the old limit stays; connecting then says what is missing.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// CPU time of the calling thread.
pub(crate) fn cpu_of_this_thread() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Time stolen by the hypervisor since the start, over all cores.
pub(crate) fn stolen() -> Result<Duration, String> {
    let text = std::fs::read_to_string("/proc/stat").map_err(|error| error.to_string())?;
    let field = text.lines().next().and_then(|line| line.split_whitespace().nth(8));
    let ticks: u32 = field
        .and_then(|field| field.parse().ok())
        .ok_or("found no stolen time in the first line of /proc/stat")?;
    Ok(TICK * ticks)
}

/// CPU time of a process so far, in steps of 10 ms.
pub(crate) fn cpu_of(pid: u32) -> Result<Duration, String> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    // The fields behind the program's name, which may hold spaces.
    let fields = text.rsplit(") ").next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u32> = fields.skip(11).take(2).flat_map(str::parse).collect();
    match ticks[..] {
        [user, system] => Ok(TICK * (user + system)),
        _ => Err(format!("found no CPU time in {path}")),
    }
}

/// The largest resident size of a process so far, in bytes.
pub(crate) fn largest_resident(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| format!("found no VmHWM in {path}"))?;
    Ok(kib << 10)
}

/// Lets the calling thread, and those that it starts, go before all ordinary threads of their core.
pub(crate) fn put_first() -> Result<(), String> {
    use thread_priority::{
        RealtimeThreadSchedulePolicy::Fifo, ThreadPriority, ThreadSchedulePolicy::Realtime,
        set_thread_priority_and_policy, thread_native_id,
    };
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, Realtime(Fifo)).map_err(
        |error| format!("no real-time priority: {error:?}; run as root, or raise `ulimit -r`"),
    )
}
