//! What the mid-tier knows of the points: which may be near a query, not where they lie.
//!
//! An [`Index`] picks parts of the set for a query, and says which points of which leaf are in them (thesis §2.2.1). It
//! holds no vectors of points. [`lsh`] hashes: a point is in a bucket of each table, and [`Buckets`] list the points of each
//! leaf. [`ivf`] clusters: a point is in one cluster, and leaves have those of a cluster one behind the other.

mod buckets;
mod candidates;
pub mod ivf;
pub mod lsh;

pub use buckets::Buckets;
pub use candidates::Candidates;

/// What finds candidates.
pub trait Index: Send + Sync {
    /// Adds the points that may be near `query`, a row as long as the index's own.
    fn look_up(&self, query: &[f32], candidates: &mut Candidates);

    /// Bytes in memory.
    fn bytes(&self) -> usize;
}
