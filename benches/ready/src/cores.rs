//! Cores, and how many files may be open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cores {
    pub(crate) producer: usize,
    pub(crate) consumer: usize,
}

impl Cores {
    /// The first two on which this process may run.
    pub(crate) fn first_two() -> Result<Self, String> {
        let allowed =
            sched_getaffinity(None).map_err(|error| format!("cannot read the cores: {error}"))?;
        let found: Vec<usize> =
            (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).take(2).collect();
        match found[..] {
            [producer, consumer] => Ok(Self { producer, consumer }),
            _ => Err(format!(
                "found {} core to run on; two are needed, one for each end: see taskset and the container's cpuset",
                found.len()
            )),
        }
    }
}

/// Pins the calling thread to `core`.
pub(crate) fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|error| format!("cannot pin to core {core}: {error}"))
}

/// As many descriptors as the hard limit allows; how many that is. epoll needs one for each queue.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // A refusal means that the old limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
