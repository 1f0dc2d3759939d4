//! Mutants of an earlier tree that there are still, wherever their lines have moved.

use super::order::{Key, Mutant};
use std::collections::BTreeMap;

/// For the name of each of `before` that there is still: the mutant that it is `now`.
///
/// Several have one key where a line has one operator twice. If they are as many as before they are told apart by their
/// order, else by their place alone. Of those that have moved meanwhile nothing is said.
pub(super) fn still_there(before: &[&Mutant], now: &[Mutant]) -> BTreeMap<String, Mutant> {
    let now = by_key(now.iter());
    let mut still = BTreeMap::new();
    for (key, before) in by_key(before.iter().copied()) {
        let now = now.get(&key).map(Vec::as_slice).unwrap_or_default();
        for (rank, one) in before.iter().enumerate() {
            let found = if before.len() == now.len() {
                now.get(rank)
            } else {
                now.iter().find(|it| it.name == one.name)
            };
            still.extend(found.map(|found| (one.name.clone(), Mutant::clone(found))));
        }
    }
    still
}

fn by_key<'a>(mutants: impl Iterator<Item = &'a Mutant>) -> BTreeMap<Key, Vec<&'a Mutant>> {
    let mut keys: BTreeMap<Key, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        keys.entry(mutant.key()).or_default().push(mutant);
    }
    keys.values_mut().for_each(|mutants| mutants.sort_by_key(|mutant| mutant.place()));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: &str, line: &str) -> Mutant {
        let name = format!("f.rs:{place}: replace + with - in law");
        Mutant { name, file: "f.rs".into(), line: line.into() }
    }

    /// The place before and the place now of each that there is still.
    fn still(before: &[Mutant], now: &[Mutant]) -> Vec<[String; 2]> {
        let place = |name: &str| name.splitn(4, ':').skip(1).take(2).collect::<Vec<_>>().join(":");
        let still = still_there(&before.iter().collect::<Vec<_>>(), now);
        still.iter().map(|(name, found)| [place(name), place(&found.name)]).collect()
    }

    #[test]
    fn a_mutant_is_found_again_where_its_line_has_moved() {
        let before = [at("9:5", "a + b"), at("20:5", "gone + b")];
        let now = [at("12:7", "a + b"), at("20:5", "new + b")];
        assert_eq!(still(&before, &now), [["9:5", "12:7"]]);
    }

    #[test]
    fn as_many_of_one_key_as_before_are_told_apart_by_their_order() {
        let before = [at("9:14", "a + b + c"), at("9:9", "a + b + c")];
        let now = [at("100:9", "a + b + c"), at("100:14", "a + b + c")];
        assert_eq!(still(&before, &now), [["9:14", "100:14"], ["9:9", "100:9"]]);
    }

    #[test]
    fn fewer_of_one_key_than_before_are_known_by_their_place_alone() {
        let now = [at("9:9", "a + b + c"), at("9:14", "a + b + c")];
        assert_eq!(still(&[at("9:14", "a + b + c")], &now), [["9:14", "9:14"]]);
        assert_eq!(still(&[at("8:14", "a + b + c")], &now), [[""; 2]; 0]);
    }
}
