//! What the threads of a block used.

use crate::failure::Failure;
use std::time::{Duration, Instant};

/// What one thread used, or all of them.
#[derive(Clone, Copy)]
pub(super) struct Used {
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) cpu: Duration,
    pub(super) wrong: u64,
}

impl Used {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            began: self.began.min(other.began),
            ended: self.ended.max(other.ended),
            cpu: self.cpu + other.cpu,
            wrong: self.wrong + other.wrong,
        }
    }
}

pub(super) fn early() -> Failure {
    Failure::work("a thread of the host has ended early; its core may be gone")
}
