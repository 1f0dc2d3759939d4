//! After a run: which keys are compared, and whether their replicas agree.

use super::wire::{Held, Holds};
use crate::oracle::{Registers, told};
use std::collections::BTreeSet;
use tailwater_load::application::Accord;

/// Keys that are compared: half of them those with the lowest numbers, which are asked for the most.
const KEYS_MAX: usize = 256;

/// Of the keys that were written, those that are compared.
pub(super) fn sample(written: &BTreeSet<u32>) -> Vec<u32> {
    let written: Vec<u32> = written.iter().copied().collect();
    let (popular, others) = written.split_at(written.len().min(KEYS_MAX / 2));
    let apart = others.len().div_ceil(KEYS_MAX / 2).max(1);
    popular.iter().chain(others.iter().step_by(apart)).copied().collect()
}

/// Whether the replicas of a key hold the same, and what the oracle allows. One that was emptied may have nothing. Those that are
/// not to be asked for the key may have anything.
pub(super) fn of(registers: &Registers, key: u32, held: &[Held<'_>]) -> Accord {
    let told_by = |it: &Held<'_>| match it.holds {
        Holds::Value(value) => Some((it.node, Some(value.to_vec()))),
        Holds::Nothing => Some((it.node, None)),
        Holds::Lacks | Holds::Untold => None,
    };
    let all: Vec<(u16, Option<Vec<u8>>)> = held.iter().filter_map(told_by).collect();
    let has = |(node, found): &(u16, Option<Vec<u8>>)| {
        format!("leaf {node} has {}", told(key, found.as_deref()))
    };
    let Some(first) = all.first() else { return Accord::Untold };
    if let Some(other) = all.iter().find(|other| other.1 != first.1) {
        return Accord::Differ(format!("key-{key}: {}, and {}", has(first), has(other)));
    }
    if let Err(wrong) = registers.look(key, first.1.as_deref()) {
        return Accord::Differ(format!("key-{key}: {}: {wrong:?}", has(first)));
    }
    // One alone agrees with itself, and is enough where there is no other.
    if all.len() < held.len().min(2) { Accord::Untold } else { Accord::Same }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{REQUESTS_MAX, initial};

    fn of_three(registers: &Registers, holds: [Holds<'_>; 3]) -> Accord {
        let held: Vec<Held<'_>> =
            (0..).zip(holds).map(|(node, holds)| Held { node, holds }).collect();
        of(registers, 7, &held)
    }

    #[test]
    fn replicas_agree_when_all_that_are_heard_hold_the_same_value_that_may_be() {
        use Holds::{Lacks, Nothing, Untold, Value};
        let registers = Registers::new(9, REQUESTS_MAX);
        let (one, first) = registers.set(7).expect("room");
        let (other, second) = registers.set(7).expect("room");
        let (a, b) = (Value(&first), Value(&second));
        [one, other].into_iter().for_each(|write| registers.acknowledge(write).expect("asked"));
        for same in [[a, a, a], [b, b, b], [a, Untold, a], [b, b, Lacks]] {
            assert_eq!(of_three(&registers, same), Accord::Same, "{same:?}");
        }
        for untold in [[a, Untold, Untold], [Lacks, a, Untold], [Lacks; 3], [Untold; 3]] {
            assert_eq!(of_three(&registers, untold), Accord::Untold, "{untold:?}");
        }
        let why = |holds: [Holds<'_>; 3]| match of_three(&registers, holds) {
            Accord::Differ(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            why([a, a, b]),
            "key-7: leaf 0 has write 0 of generator 9, and leaf 2 has write 1 of generator 9"
        );
        assert_eq!(
            why([Untold, Nothing, b]),
            "key-7: leaf 1 has nothing, and leaf 2 has write 1 of generator 9"
        );
        let old = initial(7);
        assert_eq!(why([Value(&old); 3]), "key-7: leaf 0 has what it had at first: Old");
        assert_eq!(why([Nothing; 3]), "key-7: leaf 0 has nothing: Missing");
        assert_eq!(why([Value(b""); 3]), "key-7: leaf 0 has no value of the key: Foreign");
    }

    #[test]
    fn one_replica_alone_is_compared_with_the_oracle() {
        let registers = Registers::new(9, REQUESTS_MAX);
        let value = initial(7);
        let held = |holds| of(&registers, 7, &[Held { node: 0, holds }]);
        assert_eq!(held(Holds::Value(&value)), Accord::Same);
        assert!(matches!(held(Holds::Value(b"x")), Accord::Differ(_)));
        assert_eq!(held(Holds::Untold), Accord::Untold);
    }

    #[test]
    fn the_most_popular_keys_are_compared_and_some_of_all_others() {
        let of = |keys: std::ops::Range<u32>| sample(&keys.collect());
        assert!(of(0..0).is_empty());
        assert_eq!(of(5..205).len(), 200);
        let many = of(0..10_000);
        assert!((192..=KEYS_MAX).contains(&many.len()), "{}", many.len());
        assert!((0..128).all(|key| many.contains(&key)) && many.iter().any(|key| *key > 9_900));
    }
}
