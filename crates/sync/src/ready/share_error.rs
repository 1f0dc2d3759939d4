//! Why a set of several processes cannot be had.

use super::{Error, QUEUES_MAX};
use rustix::io::Errno;
use std::fmt;
use std::io;

/// Of the file: changes with whatever two processes must agree on.
pub(super) const VERSION: u64 = 1;

/// Why a set cannot be shared, or not be had.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShareError {
    /// The settings do not fit. The caller's to mend.
    Settings(Error),
    /// The file is none of ours, or damaged.
    NoSet,
    /// The file could be cut short by others, which would end this process.
    MayShrink,
    /// The file is of another version of this library.
    Version {
        /// As the file has it.
        found: u64,
    },
    /// The file names a number of queues that cannot be.
    Queues {
        /// As the file has it.
        found: u64,
    },
    /// The file is not as long as its queues need.
    Size {
        /// In bytes.
        found: u64,
        /// In bytes.
        needed: u64,
    },
    /// Another process, or this one, consumes the set already.
    Consumed,
    /// The operating system refused.
    System(io::Error),
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::NoSet => write!(
                f,
                "found a file that is no shared ready set; pass the descriptor of one that SharedSet::create made"
            ),
            Self::MayShrink => write!(
                f,
                "found a file that others can cut short; seal it with F_SEAL_SHRINK, as SharedSet::create does"
            ),
            Self::Version { found } => write!(
                f,
                "found a shared ready set of version {found}, and this is {}; build both sides with one tailwater",
                VERSION
            ),
            Self::Queues { found } => write!(
                f,
                "found {found} queues in a shared ready set; it has 1 to {QUEUES_MAX}, so the file is damaged"
            ),
            Self::Size { found, needed } => write!(
                f,
                "found a shared ready set of {found} bytes, and its queues need {needed}; the file is damaged"
            ),
            Self::Consumed => write!(
                f,
                "found another consumer of the shared ready set; drop its waiter or end its process first"
            ),
            Self::System(error) => write!(f, "cannot share a ready set: {error}"),
        }
    }
}

impl std::error::Error for ShareError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Settings(error) => Some(error),
            Self::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for ShareError {
    fn from(error: Error) -> Self {
        Self::Settings(error)
    }
}

impl From<io::Error> for ShareError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Errno> for ShareError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}
