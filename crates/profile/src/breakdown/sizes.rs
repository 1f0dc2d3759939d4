//! A histogram of the sizes that a program has marked.

use crate::record::{Mark, MarkKind, Record};
use std::collections::BTreeMap;

/// Sizes told apart: as many as a file of the accelerator model may have.
const SIZES_MAX: usize = 4_096;

/// Sizes and how often each was marked. Beyond 4,096 sizes, neighbours count as the smaller of them; all sizes then
/// have as many leading bits as leave no more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    counts: BTreeMap<u64, u64>,
    /// Leading bits that are kept of each.
    bits: u32,
    /// Marks of no bytes.
    pub empty: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), bits: u64::BITS, empty: 0 }
    }
}

impl Sizes {
    /// Takes the next record of a trace.
    pub fn add(&mut self, record: &Record) {
        let Record::Mark(Mark { kind: MarkKind::Size, request: bytes, .. }) = record else {
            return;
        };
        if *bytes == 0 {
            self.empty += 1;
            return;
        }
        *self.counts.entry(leading(*bytes, self.bits)).or_insert(0) += 1;
        while self.counts.len() > SIZES_MAX {
            self.bits -= 1;
            let bits = self.bits;
            let mut coarser = BTreeMap::new();
            for (bytes, count) in &self.counts {
                *coarser.entry(leading(*bytes, bits)).or_insert(0) += count;
            }
            self.counts = coarser;
        }
    }

    /// Bytes and marks, from small to large.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(bytes, count)| (*bytes, *count))
    }

    /// Marks of one byte or more.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// All their bytes.
    #[must_use]
    pub fn bytes(&self) -> u128 {
        self.rows().map(|(bytes, count)| u128::from(bytes) * u128::from(count)).sum()
    }
}

/// The number with all but its first bits zero.
const fn leading(number: u64, bits: u32) -> u64 {
    let dropped = (u64::BITS - number.leading_zeros()).saturating_sub(bits);
    number >> dropped << dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ThreadId;

    fn mark(kind: MarkKind, bytes: u64) -> Record {
        Record::Mark(Mark { thread: ThreadId(0), request: bytes, kind, at: 1 })
    }

    #[test]
    fn marks_of_sizes_are_counted_and_those_of_requests_are_not() {
        let mut sizes = Sizes::default();
        for (kind, bytes) in [
            (MarkKind::Size, 100),
            (MarkKind::Start, 7),
            (MarkKind::Size, 100),
            (MarkKind::Size, 0),
        ] {
            sizes.add(&mark(kind, bytes));
        }
        assert_eq!(sizes.rows().collect::<Vec<_>>(), [(100, 2)]);
        assert_eq!((sizes.count(), sizes.bytes(), sizes.empty), (2, 200, 1));
    }

    #[test]
    fn many_sizes_take_bounded_memory_and_keep_their_number_and_nearly_their_bytes() {
        let mut sizes = Sizes::default();
        let all = (1..=40_000_u64).map(|n| n * 1_009);
        all.clone().for_each(|bytes| sizes.add(&mark(MarkKind::Size, bytes)));
        assert!(sizes.rows().count() <= SIZES_MAX);
        assert_eq!(sizes.count(), 40_000);
        let truth = all.map(u128::from).sum::<u128>() as f64;
        let found = sizes.bytes() as f64;
        assert!(found <= truth && found > truth * 0.99, "{found} of {truth}");
    }
}
