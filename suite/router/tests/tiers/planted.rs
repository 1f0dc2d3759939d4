//! Planted faults, which the oracle notices.

use super::*;
use std::collections::BTreeMap;

/// What is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    None,
    /// A set goes to the first replica alone, and gets to any.
    SetsOne,
    /// Gets find a leaf that is none of the key's, and answer what that has.
    WrongPlace,
    /// A set is acknowledged and thrown away, one of five.
    LosesSets,
    /// The value of another key.
    OtherKey,
    /// A replica that came back has what it had at its start.
    ComesBackOld,
    /// A value is cut.
    Cut,
    /// A set is refused that the first replica has carried out and the others have not, one of five.
    Diverges,
    /// Gets go to the first replica alone.
    FirstAlone,
    /// A refused set as above, where it is not carried out at all, or by all: that is no fault.
    Refuses,
}

/// How many answers of a service with this fault are found wrong.
fn wrong(bug: Bug) -> usize {
    asked(&*few(&[]), bug)
}

/// The same of this application, which then knows how its gets were shared.
fn asked(application: &dyn Application, bug: Bug) -> usize {
    let placement = placement();
    let fresh = || -> BTreeMap<Vec<u8>, Vec<u8>> {
        (0..40).map(|key| (key_of(key), preloaded(key))).collect()
    };
    let mut leaves: Vec<_> = (0..LEAVES).map(|_| fresh()).collect();
    let mut found = 0;
    for number in 0..2_000_u32 {
        if bug == Bug::ComesBackOld && number % 500 == 499 {
            leaves[1] = fresh();
        }
        let Ask { method, payload } = application.ask(&order(number));
        let (tag, place, answer) = if method == SET {
            let wire::Set { tag, key, value } = wire::read_set(&payload).expect("a request");
            let replicas = placement.of(key);
            let count = match bug {
                Bug::SetsOne => 1,
                Bug::LosesSets if number % 5 == 0 => 0,
                Bug::Diverges if number % 5 == 0 => 1,
                Bug::Refuses if number % 10 == 0 => 0,
                _ => 3,
            };
            for &node in &replicas.nodes()[..count] {
                leaves[usize::from(node)].insert(key.to_owned(), value.to_owned());
            }
            if number % 5 == 0 && matches!(bug, Bug::Diverges | Bug::Refuses) {
                application.was_refused(&order(number));
                continue;
            }
            (tag, None, Vec::new())
        } else {
            let (tag, key) = wire::read_get(&payload).expect("a request");
            let replicas = placement.of(key);
            let place = if bug == Bug::FirstAlone { 0 } else { number as usize % 3 };
            let chosen = replicas.nodes()[place];
            let other = (0..LEAVES as u16).find(|node| !replicas.nodes().contains(node));
            let node = if bug == Bug::WrongPlace { other.unwrap_or(chosen) } else { chosen };
            let key =
                if bug == Bug::OtherKey && number % 7 == 0 { key_of(3) } else { key.to_owned() };
            let mut value = leaves[usize::from(node)].get(&key).cloned().unwrap_or_default();
            if bug == Bug::Cut && number % 7 == 0 {
                value.pop();
            }
            (tag, Some(place as u8), value)
        };
        let answer = wire::Answer { tag, upheavals: Upheavals::default(), place, value: &answer };
        found += usize::from(!application.is_answer(0, &answer.bytes(), number));
    }
    found
}

#[test]
fn planted_faults_are_noticed_and_nothing_else_is() {
    assert_eq!((wrong(Bug::None), wrong(Bug::Refuses)), (0, 0));
    for bug in [
        Bug::SetsOne,
        Bug::WrongPlace,
        Bug::LosesSets,
        Bug::OtherKey,
        Bug::ComesBackOld,
        Bug::Cut,
        Bug::Diverges,
    ] {
        let found = wrong(bug);
        assert!(found > 20, "{bug:?}: {found}");
    }
}

/// Each answer is right, and the run is void all the same.
#[test]
fn gets_that_go_to_the_first_replica_alone_are_told_by_their_shares() {
    let application = few(&[]);
    assert_eq!((asked(&*application, Bug::FirstAlone), application.replicas().gets[1]), (0, 0));
    let told = application.uneven_replicas().expect("one replica has answered all");
    assert!(told.contains(" gets 0 were answered by replica 1 of their keys"), "{told}");
    let sound = few(&[]);
    assert_eq!((asked(&*sound, Bug::None), sound.uneven_replicas()), (0, None));
    // Where that is what was chosen, it is no fault.
    let first = few(&[("choice", "first-alive")]);
    assert_eq!((asked(&*first, Bug::FirstAlone), first.uneven_replicas()), (0, None));
}
