//! One run of a peer in a case.

use crate::load::Outcome;
use crate::peer::{Case, Peer};
use serde::Serialize;

/// A run and where it belongs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) repetition: usize,
    pub(crate) case: Case,
    pub(crate) peer: Peer,
    pub(crate) outcome: Outcome,
    /// Others used too much of the machine; it does not count.
    pub(crate) disturbed: bool,
}
