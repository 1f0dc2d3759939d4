//! What the mid-tier knows of the points: which may be near a query, not where they lie.
//!
//! An [`Index`] puts every point into [`Buckets`], and picks buckets for a query. Their entries refer to a leaf and a
//! list of its points (thesis §2.2.1). It holds no vectors of points. [`lsh`] hashes, [`ivf`] clusters.

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
