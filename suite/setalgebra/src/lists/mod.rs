//! Posting lists: for each word the documents that hold it, by rising number, compressed in blocks with skips.
//!
//! A list is a tuple (S, C) of skips and what lies between them (thesis §2.2.3). Here each block of 128 documents has
//! one skip: its last document and where its bytes begin. Within a block are the distances between documents, each in
//! as many bits as the largest of the block needs. The last block of a list may be shorter.

mod block;
mod bytes;

use block::{BLOCK, pack, unpack};

/// Many lists in a few arrays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lists {
    /// The first block of each list; then the number of all blocks.
    firsts: Vec<u32>,
    /// How many documents each list has.
    lengths: Vec<u32>,
    /// The last document of each block.
    lasts: Vec<u32>,
    /// Where the bytes of each block begin.
    starts: Vec<u32>,
    /// The width of each block's distances in bits, then the distances.
    packed: Vec<u8>,
}

impl Default for Lists {
    fn default() -> Self {
        let (lengths, lasts, starts, packed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { firsts: vec![0], lengths, lasts, starts, packed }
    }
}

/// More bytes than positions in 32 bits can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    lasts: &'a [u32],
    starts: &'a [u32],
    packed: &'a [u8],
    length: u32,
}

/// The documents of a block.
pub type Block = [u32; BLOCK];

/// A block that nothing was read into.
pub const EMPTY: Block = [0; BLOCK];

impl Lists {
    /// Adds a list, whose documents rise strictly.
    ///
    /// # Errors
    /// When all lists together would be too large; nothing is added then.
    pub fn push(&mut self, documents: &[u32]) -> Result<(), TooLarge> {
        // As if nothing in it could be compressed.
        let most = self.packed.len() + documents.len() * 4 + documents.len() / BLOCK + 1;
        let most = u32::try_from(most).and(u32::try_from(self.lasts.len() + documents.len()));
        most.map_err(|_| TooLarge)?;
        let mut former = None;
        for block in documents.chunks(BLOCK) {
            self.starts.push(self.packed.len() as u32);
            pack(former, block, &mut self.packed);
            former = block.last().copied();
            self.lasts.extend(former);
        }
        self.lengths.push(documents.len() as u32);
        self.firsts.push(self.lasts.len() as u32);
        Ok(())
    }

    /// How many lists there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.lengths.len()
    }

    /// How many documents all lists have together: the postings.
    #[must_use]
    pub fn postings(&self) -> u64 {
        self.lengths.iter().map(|length| u64::from(*length)).sum()
    }

    /// The greatest document of all lists; `None` where there is none.
    #[must_use]
    pub fn greatest(&self) -> Option<u32> {
        self.lasts.iter().copied().max()
    }

    /// Bytes of everything: blocks, skips, and what says where a list begins and how long it is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let numbers = [&self.firsts, &self.lengths, &self.lasts, &self.starts];
        let numbers: usize = numbers.iter().map(|numbers| 4 * numbers.len()).sum();
        (numbers + self.packed.len()) as u64
    }

    /// A list by number.
    ///
    /// # Panics
    /// When there are not so many.
    #[must_use]
    pub fn list(&self, number: usize) -> List<'_> {
        let blocks = self.firsts[number] as usize..self.firsts[number + 1] as usize;
        List {
            lasts: &self.lasts[blocks.clone()],
            starts: &self.starts[blocks],
            packed: &self.packed,
            length: self.lengths[number],
        }
    }
}

impl List<'_> {
    /// How many documents it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The last document of each block: its skips.
    #[must_use]
    pub const fn skips(&self) -> &[u32] {
        self.lasts
    }

    /// Reads a block, and says how many documents it has.
    ///
    /// # Panics
    /// When there are not so many blocks.
    #[inline]
    pub fn read(&self, block: usize, into: &mut Block) -> usize {
        let former = block.checked_sub(1).map(|former| self.lasts[former]);
        let length = (self.len() - block * BLOCK).min(BLOCK);
        unpack(former, &self.packed[self.starts[block] as usize..], &mut into[..length]);
        length
    }

    /// Appends all its documents.
    pub fn read_all(&self, into: &mut Vec<u32>) {
        into.reserve(self.len());
        let mut read = EMPTY;
        for block in 0..self.lasts.len() {
            let length = self.read(block, &mut read);
            into.extend_from_slice(&read[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(list: List<'_>) -> Vec<u32> {
        let mut read = Vec::new();
        list.read_all(&mut read);
        read
    }

    #[test]
    fn each_list_has_its_own_documents_and_skips() {
        let long: Vec<u32> = (0..300).map(|number| number * 7).collect();
        let mut lists = Lists::default();
        for list in [&long[..], &[], &[0], &[u32::MAX - 1, u32::MAX]] {
            lists.push(list).expect("small");
        }
        assert_eq!(lists.count(), 4);
        assert_eq!(lists.postings(), 303);
        assert_eq!(all(lists.list(0)), long);
        assert_eq!(lists.list(0).skips(), [127 * 7, 255 * 7, 299 * 7]);
        assert!(lists.list(1).is_empty() && all(lists.list(1)).is_empty());
        assert_eq!(all(lists.list(2)), [0]);
        assert_eq!(all(lists.list(3)), [u32::MAX - 1, u32::MAX]);
    }

    #[test]
    fn neighbours_take_no_bits() {
        let mut lists = Lists::default();
        lists.push(&(5..5 + 128).collect::<Vec<_>>()).expect("small");
        // The first distance is 5, which is three bits for each of 128.
        assert_eq!(lists.packed.len(), 1 + 3 * 16);
        let mut lists = Lists::default();
        lists.push(&(0..1_280).collect::<Vec<_>>()).expect("small");
        assert_eq!(lists.packed.len(), 10, "a width for each block");
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            lists in prop::collection::vec(
                prop::collection::btree_set(
                    prop_oneof![0_u32..600, any::<u32>(), u32::MAX - 3..=u32::MAX], 0..400),
                0..5),
        ) {
            let lists: Vec<Vec<u32>> = lists.into_iter().map(|it| it.into_iter().collect()).collect();
            let mut packed = Lists::default();
            for list in &lists {
                packed.push(list).expect("small");
            }
            let read: Vec<Vec<u32>> = (0..packed.count()).map(|it| all(packed.list(it))).collect();
            prop_assert_eq!(&read, &lists);
            let again = Lists::of_bytes(&packed.to_bytes()).expect("its own bytes");
            prop_assert_eq!(again, packed);
        }
    }
}
