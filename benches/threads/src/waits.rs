//! How long threads of this process could run and had no core, by the kernel's account.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

const TASKS: &str = "/proc/self/task";
/// As `tailwater-loop-0` is called there, where names have 15 letters at most.
const LOOP: &str = "tailwater-loop-";

/// Some threads.
pub(crate) struct Waits(Vec<PathBuf>);

impl Waits {
    /// The loops that were started since there were `before` alone.
    pub(crate) fn of_new_loops(before: &BTreeSet<PathBuf>) -> Self {
        let is_loop = |task: &PathBuf| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == LOOP)
        };
        Self(tasks().difference(before).filter(|task| is_loop(task)).cloned().collect())
    }

    /// The calling thread.
    pub(crate) fn of_this_thread() -> Self {
        let number = rustix::thread::gettid().as_raw_nonzero();
        Self(vec![PathBuf::from(TASKS).join(number.to_string())])
    }

    /// Of all of them, since they began.
    pub(crate) fn total(&self) -> Duration {
        let waited = |task: &PathBuf| {
            let line = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
            line.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
        };
        Duration::from_nanos(self.0.iter().map(waited).sum())
    }
}

/// All threads of this process.
pub(crate) fn tasks() -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(TASKS).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
