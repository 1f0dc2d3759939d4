//! What the threads of a block used.

use crate::failure::Failure;
use std::time::{Duration, Instant};

/// What one thread used, or all of them.
#[derive(Clone, Copy)]
pub(super) struct Used {
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) cpu: Duration,
    /// How often it left its core.
    pub(super) switches: u64,
    pub(super) wrong: u64,
}

impl Used {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            began: self.began.min(other.began),
            ended: self.ended.max(other.ended),
            cpu: self.cpu + other.cpu,
            switches: self.switches + other.switches,
            wrong: self.wrong + other.wrong,
        }
    }
}

pub(super) fn early() -> Failure {
    Failure::work("a thread of the host has ended early; its core may be gone")
}

/// How often the calling thread has left its core, of itself or not; zero where the kernel does not say.
pub(super) fn switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let number = |line: &str| line.split_once("ctxt_switches:")?.1.trim().parse::<u64>().ok();
    status.lines().filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_leaves_its_core() {
        let before = switches();
        // A sleep may be over before the thread has left its core.
        let has_left = |_| {
            std::thread::sleep(Duration::from_micros(200));
            switches() >= before + 3
        };
        assert!((0..1_000).any(has_left));
    }
}
