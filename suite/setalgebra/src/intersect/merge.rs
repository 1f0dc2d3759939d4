//! The linear merge: every block of the list is read.

use crate::lists::{Block, List};

/// Appends to `kept` those of `documents` that the list has.
pub(super) fn keep(documents: &[u32], list: List<'_>, read: &mut Block, kept: &mut Vec<u32>) {
    let mut rest = documents;
    for block in 0..list.skips().len() {
        let length = list.read(block, read);
        let mut place = 0;
        while let (Some(&wanted), true) = (rest.first(), place < length) {
            let found = read[place];
            if found == wanted {
                kept.push(found);
            }
            // Without a branch: which side is behind cannot be foreseen.
            place += usize::from(found <= wanted);
            rest = &rest[usize::from(wanted <= found)..];
        }
    }
}
