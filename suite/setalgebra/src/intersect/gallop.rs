//! By galloping (Bentley and Yao, "An almost optimal algorithm for unbounded searching", 1976): steps double until
//! they are past what is looked for; then the last step is halved.

use crate::lists::{Block, List};

/// Appends to `kept` those of `documents` that the list has.
pub(super) fn keep(documents: &[u32], list: List<'_>, read: &mut Block, kept: &mut Vec<u32>) {
    let skips = list.skips();
    let (mut block, mut is_read, mut length, mut place) = (0, false, 0, 0);
    for &wanted in documents {
        let found = first_from(skips, block, wanted);
        if found == skips.len() {
            return;
        }
        if found != block || !is_read {
            (block, is_read) = (found, true);
            (length, place) = (list.read(block, read), 0);
        }
        place = first_from(&read[..length], place, wanted);
        if read[..length].get(place) == Some(&wanted) {
            kept.push(wanted);
        }
    }
}

/// The first place from `from` on whose number is not below `wanted`; the length where there is none.
fn first_from(numbers: &[u32], from: usize, wanted: u32) -> usize {
    let rest = &numbers[from..];
    let (mut below, mut step) = (0, 1);
    // All before `below` are smaller.
    while rest.get(below + step - 1).is_some_and(|&number| number < wanted) {
        below += step;
        step *= 2;
    }
    let end = (below + step - 1).min(rest.len());
    from + below + rest[below..end].partition_point(|&number| number < wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_from_everywhere() {
        let numbers: Vec<u32> = (0..100).map(|number| number * 2).collect();
        for from in 0..=100 {
            for wanted in 0..=201 {
                let expected = numbers.partition_point(|&number| number < wanted).max(from);
                assert_eq!(first_from(&numbers, from, wanted), expected, "{wanted} from {from}");
            }
        }
        assert_eq!(first_from(&[], 0, 3), 0);
    }
}
