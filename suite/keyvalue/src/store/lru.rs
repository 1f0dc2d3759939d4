//! The items of a class in the order of their use, for eviction.
//!
//! A node is the chunk's of the same number, so that nodes are neither allocated nor freed with items.
//! An item is listed here exactly while it is in its bucket: both change under both locks.

/// Bytes that a chunk needs here.
pub(super) const NODE_SIZE: usize = size_of::<Node>();
const NONE: u32 = u32::MAX;

/// What an LRU lock protects: one class.
#[derive(Debug)]
pub(super) struct Lru {
    /// One block for each page, so that growing copies nothing.
    blocks: Vec<Box<[Node]>>,
    per_block: usize,
    newest: u32,
    oldest: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    newer: u32,
    older: u32,
    /// Of the item's key: it leads to the bucket.
    hash: u64,
}

impl Lru {
    pub(super) fn new(chunks_per_page: usize) -> Self {
        Self { blocks: Vec::new(), per_block: chunks_per_page, newest: NONE, oldest: NONE }
    }

    /// Adds an item that is not in the list, as the newest.
    pub(super) fn link(&mut self, slot: u32, hash: u64) {
        while slot as usize >= self.blocks.len() * self.per_block {
            let node = Node { newer: NONE, older: NONE, hash: 0 };
            self.blocks.push(vec![node; self.per_block].into());
        }
        *self.node(slot) = Node { newer: NONE, older: self.newest, hash };
        match self.newest {
            NONE => self.oldest = slot,
            next => self.node(next).newer = slot,
        }
        self.newest = slot;
    }

    /// Removes an item that is in the list.
    pub(super) fn unlink(&mut self, slot: u32) {
        let Node { newer, older, .. } = *self.node(slot);
        match newer {
            NONE => self.newest = older,
            newer => self.node(newer).older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.node(older).newer = newer,
        }
    }

    /// Makes an item that is in the list the newest.
    pub(super) fn bump(&mut self, slot: u32) {
        let hash = self.node(slot).hash;
        self.unlink(slot);
        self.link(slot, hash);
    }

    /// The first `count`, oldest first: slot and hash.
    pub(super) fn oldest(&self, count: usize) -> Vec<(u32, u64)> {
        let mut slot = self.oldest;
        let next = || {
            let node =
                self.blocks.get(slot as usize / self.per_block)?[slot as usize % self.per_block];
            let found = (slot, node.hash);
            slot = node.newer;
            Some(found)
        };
        std::iter::from_fn(next).take(count).collect()
    }

    fn node(&mut self, slot: u32) -> &mut Node {
        &mut self.blocks[slot as usize / self.per_block][slot as usize % self.per_block]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a vector, newest last.
        #[test]
        fn the_order_is_that_of_use(steps in prop::collection::vec((0..3_u8, 0..12_u32), 0..200)) {
            let (mut lru, mut model) = (Lru::new(5), Vec::new());
            for (what, slot) in steps {
                let at = model.iter().position(|one| *one == slot);
                match (what, at) {
                    (0, None) => {
                        lru.link(slot, u64::from(slot) * 7);
                        model.push(slot);
                    }
                    (1, Some(at)) => {
                        lru.unlink(slot);
                        model.remove(at);
                    }
                    (2, Some(at)) => {
                        lru.bump(slot);
                        model.remove(at);
                        model.push(slot);
                    }
                    _ => {}
                }
                let expected: Vec<_> = model.iter().map(|slot| (*slot, u64::from(*slot) * 7)).collect();
                prop_assert_eq!(lru.oldest(100), expected);
            }
        }
    }
}
