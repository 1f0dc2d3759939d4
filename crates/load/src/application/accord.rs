//! Whether the replicas of a key hold the same.

/// What replicas say of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Accord {
    /// All that were heard hold the same, and one that may be.
    Same,
    /// Too few were heard to tell: it is asked again.
    Untold,
    /// They do not, since this, with the key's name: it is asked again, as a write may have been under way.
    Differ(String),
}
