//! How connections end.

use super::liveness::Silent;
use tailwater_wire::GoodbyeCode;

/// Why a connection is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    /// It was closed or broken off, or never stood.
    Closed,
    /// The server said so. It has read the first `taken` requests, or does not say.
    Goodbye { taken: Option<u64> },
    /// Nothing was heard for too long.
    Silent,
    /// The server broke the protocol; it is told this.
    Broken(GoodbyeCode),
}

impl From<Silent> for Over {
    fn from(_: Silent) -> Self {
        Self::Silent
    }
}
