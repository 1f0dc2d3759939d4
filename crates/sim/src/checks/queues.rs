//! Every queue keeps to its bound.

use super::Finding;

/// A queue's name, its length and its bound.
pub(crate) fn bounded(name: &str, length: usize, max: usize) -> Finding {
    (length > max).then(|| format!("{length} entries in {name}; {max} is its bound"))
}
