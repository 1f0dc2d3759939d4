//! What a finished trace says of itself at its end.

use super::error::Trouble;
use super::varint::{self, Cursor};
use crate::record::Ticks;

/// Runs that an index lists at most.
const RUNS_MAX: usize = 4096;

/// The blocks of a finished trace, header and index left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Index {
    /// In the order of the file. At most 4,096: in long traces a run covers several blocks.
    pub runs: Vec<BlockRun>,
}

/// Some blocks that follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRun {
    /// Where the first begins, in bytes from the file's beginning.
    pub offset: u64,
    /// How many they are.
    pub blocks: u64,
    /// Records in them.
    pub records: u64,
    /// The earliest time in them; zero when they have none.
    pub first: Ticks,
    /// The latest.
    pub last: Ticks,
}

impl Index {
    /// Records in all blocks.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.records))
    }

    /// With the room it will ever need, so that noting a block does not allocate.
    pub(super) fn with_room() -> Self {
        Self { runs: Vec::with_capacity(RUNS_MAX) }
    }

    /// Adds a block. A full index first joins its runs two by two.
    pub(super) fn note(&mut self, block: BlockRun) {
        if self.runs.len() == RUNS_MAX {
            for pair in 0..RUNS_MAX / 2 {
                self.runs[pair] = self.runs[2 * pair].joined(&self.runs[2 * pair + 1]);
            }
            self.runs.truncate(RUNS_MAX / 2);
        }
        self.runs.push(block);
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        varint::put(out, self.runs.len() as u64);
        let (mut offset, mut last) = (0, 0);
        for run in &self.runs {
            varint::put_delta(out, run.offset, offset);
            varint::put(out, run.blocks);
            varint::put(out, run.records);
            varint::put_delta(out, run.first, last);
            varint::put(out, run.last.wrapping_sub(run.first));
            (offset, last) = (run.offset, run.last);
        }
    }

    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Trouble> {
        let count = cursor.number()?;
        if count > RUNS_MAX as u64 {
            return Err(Trouble::Number(count));
        }
        let mut index = Self::default();
        let (mut offset, mut last) = (0, 0);
        for _ in 0..count {
            offset = cursor.delta(offset)?;
            let (blocks, records) = (cursor.number()?, cursor.number()?);
            let first = cursor.delta(last)?;
            last = first.wrapping_add(cursor.number()?);
            index.runs.push(BlockRun { offset, blocks, records, first, last });
        }
        Ok(index)
    }
}

impl BlockRun {
    fn joined(&self, next: &Self) -> Self {
        let (first, last) = match (self.last, next.last) {
            (0, _) => (next.first, next.last),
            (_, 0) => (self.first, self.last),
            (own, other) => (self.first.min(next.first), own.max(other)),
        };
        let (blocks, records) = (self.blocks + next.blocks, self.records + next.records);
        Self { offset: self.offset, blocks, records, first, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_trace_joins_runs_and_loses_nothing() {
        let mut index = Index::with_room();
        for n in 0..10_000u64 {
            index.note(BlockRun { offset: n * 100, blocks: 1, records: 3, first: n, last: n + 5 });
        }
        assert!(index.runs.len() <= RUNS_MAX && index.runs.len() > RUNS_MAX / 2);
        assert_eq!(index.records(), 30_000);
        assert_eq!(index.runs.iter().map(|run| run.blocks).sum::<u64>(), 10_000);
        for pair in index.runs.windows(2) {
            assert_eq!(pair[0].offset + pair[0].blocks * 100, pair[1].offset);
        }
        let mut bytes = Vec::new();
        index.encode(&mut bytes);
        assert!(bytes.len() < super::super::PAYLOAD_MAX);
        assert_eq!(Index::decode(&mut Cursor::new(&bytes, 0)), Ok(index));
    }
}
