//! The system calls of each process, counted in the kernel.

use super::{sleep_until, threads_of};
use std::collections::BTreeMap;
use tailwater_core::Instant;
use tailwater_kernel::{Missing, Syscalls};
use tailwater_stats::traits::ALL_CALLS;

/// System calls that are told apart: what sockets, locks, polls and sleeps make. Those that a kernel lacks are left out.
const CALLS: [&str; 16] = [
    "clock_nanosleep",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    "ppoll",
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "sendmsg",
    "sendto",
    "write",
    "writev",
];

/// Counters of the front, and of each tier.
pub(super) struct Calls(Vec<Syscalls>);

impl Calls {
    pub(super) fn open(pids: &[Vec<u32>]) -> Result<Self, Missing> {
        let open = |pids: &Vec<u32>| Syscalls::of_threads(&threads_of(pids), &CALLS);
        pids.iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// How many each makes from now until then, by name.
    pub(super) fn count_until(mut self, to: Instant) -> Vec<BTreeMap<String, u64>> {
        let before = self.read();
        sleep_until(to);
        let mut counts = self.read();
        for (after, before) in counts.iter_mut().zip(&before) {
            for (name, count) in after {
                *count = count.saturating_sub(before.get(name).copied().unwrap_or(0));
            }
        }
        counts
    }

    fn read(&mut self) -> Vec<BTreeMap<String, u64>> {
        let read = |syscalls: &mut Syscalls| {
            let Ok((all, named)) = syscalls.read() else { return BTreeMap::new() };
            named.into_iter().chain([(ALL_CALLS.to_owned(), all)]).collect()
        };
        self.0.iter_mut().map(read).collect()
    }
}
