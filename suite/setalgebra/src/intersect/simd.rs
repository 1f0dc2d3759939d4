//! By wide instructions: the documents that may lie in a block are compared with it, many at a time.

use crate::lists::{Block, List};
use tailwater_kernels::Kernels;

/// Appends to `kept` those of `documents` that the list has.
pub(super) fn keep(
    kernels: Kernels,
    documents: &[u32],
    list: List<'_>,
    read: &mut Block,
    kept: &mut Vec<u32>,
) {
    let mut rest = documents;
    for (block, &last) in list.skips().iter().enumerate() {
        let Some(&first) = rest.first() else { return };
        if last < first {
            continue;
        }
        let end = rest.partition_point(|&document| document <= last);
        let length = list.read(block, read);
        kernels.intersect(&rest[..end], &read[..length], kept);
        rest = &rest[end..];
    }
}
