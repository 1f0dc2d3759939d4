//! Words of bits in memory: each on a cache line of its own, or eight to a line.

use crate::primitive::AtomicU64;

/// How the words of bells lie in memory. A word has 64 bells.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Layout {
    /// Each word on a cache line of its own, 64 bytes: producers of different words share none.
    #[default]
    Padded,
    /// Eight words to a line: an eighth of the memory. Producers of 512 queues share each line.
    Packed,
}

#[repr(align(64))]
pub(super) struct Line(AtomicU64);

#[repr(align(64))]
pub(super) struct Block([AtomicU64; 8]);

pub(super) enum Words {
    Padded(Box<[Line]>),
    Packed(Box<[Block]>),
}

impl Words {
    pub(super) fn new(layout: Layout, count: usize) -> Self {
        let zero = || AtomicU64::new(0);
        match layout {
            Layout::Padded => Self::Padded((0..count).map(|_| Line(zero())).collect()),
            Layout::Packed => {
                let blocks = (0..count.div_ceil(8)).map(|_| Block(std::array::from_fn(|_| zero())));
                Self::Packed(blocks.collect())
            }
        }
    }

    #[inline]
    pub(super) fn at(&self, index: usize) -> &AtomicU64 {
        match self {
            Self::Padded(lines) => &lines[index].0,
            Self::Packed(blocks) => &blocks[index / 8].0[index % 8],
        }
    }
}
