//! Intersections of posting lists: which documents are in all of them?
//!
//! One list is read whole; of each further one those documents stay that it has, too. The methods differ in how they
//! look for a document in a list.

mod gallop;
mod merge;
mod simd;
mod skips;

#[cfg(test)]
mod tests;

use crate::lists::{Block, EMPTY, List};
use tailwater_kernels::Kernels;

/// How lists are intersected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Both lists are read in parallel, in the order of the query's words: O(|L1| + |L2|) (thesis §2.2.3).
    Merge,
    /// The shortest list first. Blocks that cannot have a document are skipped, one after the other.
    Skips,
    /// The shortest list first. The block of a document is searched for in steps that double, and so is the document
    /// within it. Lists that are hardly longer than what is looked for are merged.
    Gallop,
    /// The shortest list first. Blocks that cannot have a document are skipped. Others are compared with the documents that
    /// may lie in them, by the widest instructions that the processor has.
    Simd,
}

/// Galloping is worth it from lists so many times longer on: at 1:1 it took 1.7 times as long as the merge, at 1:10
/// three quarters (`benches/setalgebra`).
const GALLOP_FROM: usize = 4;

impl Method {
    /// By name, as scenarios say it.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("gallop", Self::Gallop),
        ("simd", Self::Simd),
        ("skips", Self::Skips),
        ("merge", Self::Merge),
    ];

    /// The documents that all lists have, by rising number, in the memory given. None where there is no list.
    pub fn intersect<'s>(self, lists: &mut [List<'_>], scratch: &'s mut Scratch) -> &'s [u32] {
        if self != Self::Merge {
            lists.sort_unstable_by_key(List::len);
        }
        scratch.found.clear();
        let Some((first, others)) = lists.split_first() else {
            return &scratch.found;
        };
        first.read_all(&mut scratch.found);
        for list in others {
            let Scratch { found, kept, block, kernels } = scratch;
            kept.clear();
            match self {
                Self::Merge => merge::keep(found, *list, block, kept),
                Self::Gallop if list.len() < GALLOP_FROM * found.len() => {
                    merge::keep(found, *list, block, kept);
                }
                Self::Skips => skips::keep(found, *list, block, kept),
                Self::Gallop => gallop::keep(found, *list, block, kept),
                Self::Simd => simd::keep(*kernels, found, *list, block, kept),
            }
            std::mem::swap(found, kept);
        }
        &scratch.found
    }
}

/// Memory that intersections use again.
#[derive(Clone, Debug)]
pub struct Scratch {
    found: Vec<u32>,
    kept: Vec<u32>,
    block: Block,
    kernels: Kernels,
}

impl Default for Scratch {
    fn default() -> Self {
        let (found, kept, kernels) = (Vec::new(), Vec::new(), Kernels::best());
        Self { found, kept, block: EMPTY, kernels }
    }
}
