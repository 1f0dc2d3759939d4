//! What this process holds of the system.

use std::fs;

/// Descriptors and threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
}

impl Held {
    pub(crate) fn now() -> Self {
        let count = |folder| fs::read_dir(folder).expect("this is Linux").count();
        Self { descriptors: count("/proc/self/fd"), threads: count("/proc/self/task") }
    }
}

/// Memory in use, in KiB.
pub(crate) fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse().ok()).expect("a number")
}
