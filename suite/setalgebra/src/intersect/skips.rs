//! By skips: blocks that end before a document are passed over unread.

use crate::lists::{Block, List};

/// Appends to `kept` those of `documents` that the list has.
pub(super) fn keep(documents: &[u32], list: List<'_>, read: &mut Block, kept: &mut Vec<u32>) {
    let skips = list.skips();
    let (mut block, mut is_read, mut length, mut place) = (0, false, 0, 0);
    for &wanted in documents {
        while skips.get(block).is_some_and(|&last| last < wanted) {
            (block, is_read) = (block + 1, false);
        }
        if block == skips.len() {
            return;
        }
        if !is_read {
            (length, place, is_read) = (list.read(block, read), 0, true);
        }
        while place < length && read[place] < wanted {
            place += 1;
        }
        if place < length && read[place] == wanted {
            kept.push(wanted);
        }
    }
}
