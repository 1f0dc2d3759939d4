//! The union of what the leaves found.

/// All documents of these lists, each of which rises strictly, each document once.
#[must_use]
pub fn union(mut lists: Vec<Vec<u32>>) -> Vec<u32> {
    // Two by two, so that a document is moved as often as the number of lists has bits.
    while lists.len() > 1 {
        let pairs = lists.chunks(2);
        lists = pairs.map(|pair| two(&pair[0], pair.get(1).map_or(&[], Vec::as_slice))).collect();
    }
    lists.pop().unwrap_or_default()
}

fn two(one: &[u32], other: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one, other);
    while let (Some(&first), Some(&second)) = (one.first(), other.first()) {
        all.push(first.min(second));
        one = &one[usize::from(first <= second)..];
        other = &other[usize::from(second <= first)..];
    }
    all.extend_from_slice(one);
    all.extend_from_slice(other);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_that_of_sets(
            sets in prop::collection::vec(prop::collection::btree_set(0_u32..500, 0..60), 0..20),
        ) {
            let all: BTreeSet<u32> = sets.iter().flatten().copied().collect();
            let lists = sets.into_iter().map(|set| set.into_iter().collect()).collect();
            prop_assert_eq!(union(lists), all.into_iter().collect::<Vec<_>>());
        }
    }
}
