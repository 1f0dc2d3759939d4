//! Lists as bytes, for files.

use super::block::BLOCK;
use super::{EMPTY, Lists};
use tailwater_data::numbers::{bytes_of_u32, u32_of_bytes};

/// Arrays of numbers, each with its length in front; then the packed bytes.
const ARRAYS: usize = 4;

impl Lists {
    /// All of it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let arrays: [&Vec<u32>; ARRAYS] = [&self.firsts, &self.lengths, &self.lasts, &self.starts];
        let mut bytes = Vec::with_capacity(self.bytes() as usize + 4 * ARRAYS);
        for array in arrays {
            bytes.extend_from_slice(&(array.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&bytes_of_u32(array));
        }
        bytes.extend_from_slice(&self.packed);
        bytes
    }

    /// What [`Lists::to_bytes`] gave. `None` where no lists can be read from these bytes: everything that could make
    /// a reader go astray is looked at here, once.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut array = || {
            let (length, after) = rest.split_first_chunk()?;
            let length = (u32::from_le_bytes(*length) as usize).checked_mul(4)?;
            let (numbers, after) = after.split_at_checked(length)?;
            rest = after;
            u32_of_bytes(numbers)
        };
        let (firsts, lengths, lasts, starts) = (array()?, array()?, array()?, array()?);
        let lists = Self { firsts, lengths, lasts, starts, packed: rest.to_vec() };
        lists.is_sound().then_some(lists)
    }

    fn is_sound(&self) -> bool {
        let blocks = self.lasts.len();
        let covers = self.firsts.first() == Some(&0)
            && self.firsts.last().is_some_and(|&all| all as usize == blocks)
            && self.firsts.len() == self.lengths.len() + 1
            && self.starts.len() == blocks;
        covers && (0..self.count()).all(|list| self.is_sound_list(list))
    }

    fn is_sound_list(&self, list: usize) -> bool {
        let (first, end) = (self.firsts[list] as usize, self.firsts[list + 1] as usize);
        let length = self.lengths[list] as usize;
        if first > end || end > self.lasts.len() || end - first != length.div_ceil(BLOCK) {
            return false;
        }
        let rises = self.lasts[first..end].windows(2).all(|pair| pair[0] < pair[1]);
        rises
            && (first..end).all(|block| {
                let in_block = (length - (block - first) * BLOCK).min(BLOCK);
                let packed = self.packed.get(self.starts[block] as usize..).unwrap_or_default();
                let fits = |width: u8| {
                    let needed = (usize::from(width) * in_block).div_ceil(8);
                    u32::from(width) <= u32::BITS && packed.len() > needed
                };
                packed.first().is_some_and(|&width| fits(width))
            })
            && self.is_as_its_skips_say(list)
    }

    /// Whether documents rise, and each block ends with the one that its skip names: numbers among all documents are
    /// bounded by that.
    fn is_as_its_skips_say(&self, list: usize) -> bool {
        let (list, mut read, mut former) = (self.list(list), EMPTY, None);
        list.skips().iter().enumerate().all(|(block, &last)| {
            let length = list.read(block, &mut read);
            let documents = &read[..length];
            let follows = documents.first().is_some_and(|first| Some(*first) > former);
            former = documents.last().copied();
            follows && documents.is_sorted_by(|one, next| one < next) && former == Some(last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_is_refused_and_no_changed_byte_leads_astray() {
        let mut lists = Lists::default();
        lists.push(&(0..300).map(|it| it * 3).collect::<Vec<_>>()).expect("small");
        lists.push(&[5, 9]).expect("small");
        let bytes = lists.to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Lists::of_bytes(&bytes[..length]), None, "{length} bytes");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x81;
            if let Some(lists) = Lists::of_bytes(&changed) {
                let mut count = 0;
                for list in (0..lists.count()).map(|list| lists.list(list)) {
                    let mut read = Vec::new();
                    list.read_all(&mut read);
                    assert!(read.is_sorted_by(|one, next| one < next), "byte {at}: {read:?}");
                    assert_eq!(read.last(), list.skips().last(), "byte {at}");
                    count += read.len();
                }
                assert_eq!(count, 302, "byte {at}");
            }
        }
    }
}
