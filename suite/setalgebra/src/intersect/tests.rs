//! Every method against sets.

use super::*;
use crate::lists::Lists;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Lists of these sets intersected by this method, and by sets.
fn both(method: Method, sets: &[BTreeSet<u32>]) -> (Vec<u32>, Vec<u32>) {
    let mut lists = Lists::default();
    for set in sets {
        lists.push(&set.iter().copied().collect::<Vec<_>>()).expect("small");
    }
    let mut chosen: Vec<_> = (0..sets.len()).map(|number| lists.list(number)).collect();
    let mut scratch = Scratch::default();
    // What an earlier query left must not show.
    method.intersect(&mut chosen.clone()[..1.min(sets.len())], &mut scratch);
    let found = method.intersect(&mut chosen, &mut scratch).to_vec();
    let all = sets.iter().cloned().reduce(|one, other| &one & &other).unwrap_or_default();
    (found, all.into_iter().collect())
}

fn set(numbers: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    numbers.into_iter().collect()
}

#[test]
fn edges() {
    let long = set(0..1_000);
    let cases = [
        vec![],
        vec![set([])],
        vec![long.clone()],
        vec![long.clone(), set([])],
        vec![long.clone(), set([0, 127, 128, 255, 256, 999])],
        vec![set([0, 127, 128, 999, 1_000, u32::MAX]), long.clone()],
        vec![set((0..500).map(|it| it * 2)), set((0..500).map(|it| it * 2 + 1))],
        vec![long.clone(), long.clone(), set([3]), long],
    ];
    for (_, method) in Method::NAMES {
        for sets in &cases {
            let (found, all) = both(*method, sets);
            assert_eq!(found, all, "{method:?}");
        }
    }
}

proptest! {
    #[test]
    fn every_method_finds_what_sets_have(
        long in prop::collection::btree_set(0_u32..3_000, 0..1_500),
        short in prop::collection::btree_set(0_u32..3_000, 0..40),
        third in prop::collection::btree_set(0_u32..3_000, 0..700),
        order in 0_usize..3,
    ) {
        let mut sets = [long, short, third];
        sets.rotate_left(order);
        for (_, method) in Method::NAMES {
            for count in 1..=3 {
                let (found, all) = both(*method, &sets[..count]);
                prop_assert_eq!(found, all);
            }
        }
    }
}
