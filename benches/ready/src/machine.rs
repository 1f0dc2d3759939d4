//! Cores and descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CpuSet;

/// The producer has the first core, the consumer the second.
pub(crate) const PRODUCER: usize = 0;
pub(crate) const CONSUMER: usize = 1;

/// Pins the calling thread to `core`.
pub(crate) fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|error| format!("cannot pin to core {core}: {error}; two cores are needed"))
}

/// As many descriptors as the hard limit allows; how many that is. epoll needs one for each queue.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // A refusal means that the old limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
