//! The mid-tier: it looks candidates up, asks the leaves for their distances, and merges what they answer (thesis
//! §2.2.1). It holds the index and no vector of a point.

use crate::index::{Candidates, Index};
use crate::nearest::{Found, nearest};
use crate::placement::Placement;
use crate::wire::{self, Answer, CANDIDATES_MAX, LeafAnswer, Query};
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use tailwater_kernels::padded;

/// The index, and where points are.
pub struct MidTier {
    index: Box<dyn Index>,
    placement: Placement,
    dimensions: usize,
}

/// A request to a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which leaf.
    pub leaf: usize,
    /// Its bytes.
    pub request: Vec<u8>,
}

/// An answer that no leaf may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotALeafsAnswer {
    /// The leaf.
    pub leaf: usize,
}

thread_local! {
    static CANDIDATES: RefCell<Option<Candidates>> = const { RefCell::new(None) };
}

impl MidTier {
    /// With this index, whose points have so many dimensions and are placed so.
    #[must_use]
    pub fn new(index: Box<dyn Index>, placement: Placement, dimensions: usize) -> Self {
        Self { index, placement, dimensions }
    }

    /// Of a vector.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many leaves there are.
    #[must_use]
    pub const fn leaves(&self) -> usize {
        self.placement.leaves()
    }

    /// Looks candidates up, and says what to ask: nothing of leaves without candidates, several times of those with
    /// more single ones than fit one request.
    #[must_use]
    pub fn plan(&self, query: &Query) -> Vec<Call> {
        self.with_candidates(&padded(&query.vector), |candidates| {
            let of_leaf = |leaf| {
                let (ranges, single) = (candidates.ranges(leaf), candidates.of_leaf(leaf));
                let none: (&[Range<u32>], &[u32]) = (&[], &[]);
                let in_ranges = (!ranges.is_empty()).then_some((ranges, none.1));
                let others = single.chunks(CANDIDATES_MAX).map(move |part| (none.0, part));
                in_ranges.into_iter().chain(others).map(move |(ranges, single)| Call {
                    leaf,
                    request: wire::leaf_request(query, ranges, single),
                })
            };
            (0..self.placement.leaves()).flat_map(of_leaf).collect()
        })
    }

    /// The answer: the nearest of what leaves found, the nearest first, and as candidates what they say that they
    /// looked at. What was asked for is no evidence of that.
    ///
    /// # Errors
    /// When a leaf answered something else, or named a point that is not in the set.
    pub fn merge<'a>(
        &self,
        tag: u64,
        answers: impl IntoIterator<Item = (usize, &'a [u8])>,
        wanted: usize,
    ) -> Result<Answer, NotALeafsAnswer> {
        let (mut all, mut looked_at) = (Vec::new(), 0_u32);
        let is_there = |found: &Found| (found.point as usize) < self.placement.points();
        for (leaf, bytes) in answers {
            let answer = wire::read_leaf_answer(bytes).ok_or(NotALeafsAnswer { leaf })?;
            let LeafAnswer { candidates, found } = answer;
            // More than there are points is wrong in any case.
            looked_at = looked_at.saturating_add(candidates);
            if !found.iter().all(is_there) {
                return Err(NotALeafsAnswer { leaf });
            }
            all.extend(found);
        }
        Ok(Answer { tag, candidates: looked_at, found: nearest(all, wanted) })
    }

    fn with_candidates<T>(&self, row: &[f32], then: impl FnOnce(&Candidates) -> T) -> T {
        CANDIDATES.with_borrow_mut(|kept| {
            kept.take_if(|kept| kept.placement() != self.placement);
            let candidates = kept.get_or_insert_with(|| Candidates::new(self.placement));
            candidates.clear();
            self.index.look_up(row, candidates);
            then(candidates)
        })
    }
}

impl fmt::Display for NotALeafsAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "found no answer of a leaf from leaf {}; is it of the same set and version?",
            self.leaf
        )
    }
}

impl std::error::Error for NotALeafsAnswer {}

impl fmt::Debug for MidTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MidTier").field("placement", &self.placement).finish_non_exhaustive()
    }
}
