//! What the kernel does for a request: system calls and switches of all threads of this process.

use crate::Verdict;
use crate::front::Failure;
use crate::waits::tasks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use tailwater_kernel::Syscalls;

/// System calls that are told apart.
const NAMES: [&str; 8] =
    ["epoll_wait", "epoll_pwait", "epoll_pwait2", "read", "write", "recvfrom", "sendto", "futex"];

/// For one request, on average.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// `None` where counting them is not allowed.
    pub(crate) calls: Option<f64>,
    pub(crate) by_name: BTreeMap<String, f64>,
    pub(crate) switches: f64,
}

/// Of so many requests, which `ask` makes.
pub(crate) fn counted(requests: usize, ask: impl FnOnce() -> Verdict) -> Result<Counts, Failure> {
    let number = |task: &std::path::PathBuf| task.file_name()?.to_str()?.parse().ok();
    let threads: Vec<u32> = tasks().iter().filter_map(number).collect();
    let mut counters = Syscalls::of_threads(&threads, &NAMES)
        .inspect_err(|missing| println!("  system calls are not counted: {missing}"))
        .ok();
    let mut calls = || counters.as_mut().map(Syscalls::read).transpose();
    // The switches' files are read outside: that is calls as well.
    let (switched, called) = (switches(), calls()?);
    ask()?;
    let (calls, switches) = (calls()?, switches() - switched);
    let each = |count: u64| count as f64 / requests as f64;
    let (mut all, mut by_name) = (None, BTreeMap::new());
    if let Some(((before, names_before), (after, names))) = called.zip(calls) {
        all = Some(each(after - before));
        let since =
            names.into_iter().zip(names_before).map(|((name, n), (_, was))| (name, n - was));
        by_name.extend(since.filter(|it| it.1 > 0).map(|(name, count)| (name, each(count))));
    }
    Ok(Counts { calls: all, by_name, switches: each(switches) })
}

/// Of all threads since they began.
fn switches() -> u64 {
    let of_one = |task: &std::path::PathBuf| -> io::Result<u64> {
        let status = std::fs::read_to_string(task.join("status"))?;
        let counts = status.lines().filter_map(|line| line.split_once("_ctxt_switches:"));
        Ok(counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum())
    };
    // One that has ended meanwhile had no part in the requests.
    tasks().iter().filter_map(|task| of_one(task).ok()).sum()
}
