//! In which order the runs of a block take place.

use tailwater_core::Rng;

/// Drawn anew for every other repetition, and the other way round in between (ABBA), so that a drift
/// cancels. Where nothing drifts the order stays.
pub(crate) fn of_block<T>(items: &mut [T], repetition: u32, drifts: bool, seed: u64) {
    if !drifts {
        return;
    }
    Rng::from_seed(seed).split("order").shuffle(items);
    if repetition % 2 == 1 {
        items.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_a_pair_goes_back_the_way_of_the_first() {
        let order = |repetition, drifts| {
            let mut items: Vec<u32> = (0..20).collect();
            of_block(&mut items, repetition, drifts, 7);
            items
        };
        let forth = order(0, true);
        assert_ne!(forth, order(0, false));
        let back: Vec<u32> = forth.iter().rev().copied().collect();
        assert_eq!(order(1, true), back);
        assert_eq!(order(1, false), (0..20).collect::<Vec<_>>());
    }
}
