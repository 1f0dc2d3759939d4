use super::*;
use tailwater_core::Rng;

const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn budget(total: u64, waited: u64) -> Budget {
    let mut budget = Budget::new(us(total));
    budget.deduct(us(waited));
    budget
}

const fn taken(oldest_wait_us: u64) -> Found {
    Found::Taken { oldest_wait: us(oldest_wait_us) }
}

const fn join(give_up_after: Option<Duration>) -> Entry {
    Entry::Join { give_up_after }
}

#[test]
fn every_word_has_a_law_but_the_one_that_asks_for_none() {
    let laws = LockPolicy::EXAMPLES.map(|word| Policy::of(word.parse().unwrap()));
    let asqm = |asqm| Some(Policy::Asqm(asqm));
    let [default, paper, artifact] = [Asqm::DEFAULT, Asqm::PAPER, Asqm::ARTIFACT].map(asqm);
    let timed = Some(Policy::Timed(us(50)));
    let expected = [None, Some(Policy::Plain), Some(Policy::Try), timed, default, paper, artifact];
    assert_eq!(laws, expected);
}

#[test]
fn a_budget_is_what_service_and_network_leave_of_the_target() {
    // Protego §5.1 and §5.4.
    let left =
        |target, service, network| Budget::of_target(us(target), us(service), us(network)).left();
    assert_eq!(left(200, 46, 20), us(134));
    assert_eq!(left(40, 46, 20), Duration::ZERO);
    assert_eq!(left(50, 46, 20), Duration::ZERO);
}

#[test]
fn a_budget_is_spent_and_never_negative() {
    let mut budget = budget(100, 60);
    assert_eq!((budget.left(), budget.waited(), budget.is_overdrawn()), (us(40), us(60), false));
    budget.deduct(us(40));
    assert_eq!((budget.left(), budget.is_overdrawn()), (Duration::ZERO, false));
    budget.deduct(Duration::MAX);
    budget.deduct(us(1));
    assert_eq!((budget.left(), budget.is_overdrawn()), (Duration::ZERO, true));
}

/// Budget (total, waited), what is found, and what paper, artifact and default do.
#[test]
fn the_profiles_differ_where_they_are_said_to() {
    let (forever, refuse) = (join(None), Entry::Refuse);
    let cases = [
        // In good time.
        (budget(100, 30), taken(20), [forever, forever, join(Some(us(70)))]),
        // The oldest waiter's age just fits, and does not.
        (budget(100, 30), taken(70), [forever, forever, join(Some(us(70)))]),
        (budget(100, 30), taken(71), [refuse; 3]),
        // Nothing is left and nobody waits: the text's comparison lets it in.
        (budget(100, 100), taken(0), [forever, forever, refuse]),
        (budget(100, 101), taken(0), [forever, refuse, refuse]),
        (budget(100, 101), Found::Free, [Entry::Take, refuse, Entry::Take]),
        (budget(100, 100), Found::Free, [Entry::Take; 3]),
    ];
    for (budget, found, expected) in cases {
        let answers = [Asqm::PAPER, Asqm::ARTIFACT, Asqm::DEFAULT]
            .map(|asqm| Policy::Asqm(asqm).enter(Some(&budget), found));
        assert_eq!(answers, expected, "{budget:?} at {found:?}");
    }
}

#[test]
fn the_alternatives_never_look_at_a_budget() {
    for budget in [budget(100, 0), budget(0, 100)] {
        for found in [taken(0), taken(1_000)] {
            let answer = |policy: Policy| policy.enter(Some(&budget), found);
            assert_eq!(answer(Policy::Plain), join(None));
            assert_eq!(answer(Policy::Try), Entry::Refuse);
            assert_eq!(answer(Policy::Timed(us(7))), join(Some(us(7))));
        }
    }
}

#[test]
fn work_without_a_budget_is_never_refused_and_waits_for_ever() {
    let policies = [
        Policy::Plain,
        Policy::Try,
        Policy::Timed(us(1)),
        Policy::Asqm(Asqm::PAPER),
        Policy::Asqm(Asqm::ARTIFACT),
        Policy::Asqm(Asqm::DEFAULT),
    ];
    for policy in policies {
        assert_eq!(policy.enter(None, Found::Free), Entry::Take);
        assert_eq!(policy.enter(None, taken(1_000_000)), join(None));
    }
}

/// A request that may give up is never let in for longer than it has, at any combination.
#[test]
fn nobody_joins_for_longer_than_his_budget() {
    let mut rng = Rng::from_seed(1);
    let mut refused = 0;
    for _ in 0..100_000 {
        let mut draw = || u64::from(rng.below(50));
        let (budget, oldest) = (budget(draw(), draw()), draw());
        match Policy::Asqm(Asqm::DEFAULT).enter(Some(&budget), taken(oldest)) {
            Entry::Join { give_up_after: Some(after) } => {
                assert!(!after.is_zero() && after <= budget.left() && us(oldest) <= after);
            }
            Entry::Refuse => refused += 1,
            other => panic!("{other:?} at {budget:?}, oldest {oldest} µs"),
        }
    }
    assert!((10_000..90_000).contains(&refused), "both happen: {refused}");
}
