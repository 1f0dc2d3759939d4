//! One result out of several: of all shards of an experiment, or of loads of one server at the same time.

mod error;
mod loads;
mod shards;

pub use error::MergeError;

use tailwater_stats::result::Experiment;

/// Of shards what one machine would have found that ran everything, in any order. Of results of `tailwater load` the one
/// of all their requests.
///
/// # Errors
/// See [`MergeError`].
pub fn merge(results: Vec<Experiment>) -> Result<Experiment, MergeError> {
    match results.first() {
        Some(first) if first.shard.is_none() && loads::mark(first).is_some() => {
            loads::merge(&results)
        }
        _ => shards::merge(results),
    }
}
