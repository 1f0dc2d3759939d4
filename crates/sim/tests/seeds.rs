//! Worlds drawn at random: no rule breaks in any, and each is the same whenever it is played.

use tailwater_sim::swarm::Case;

/// More with `cargo run --release -p tailwater-sim --example seeds -- COUNT`.
const SEEDS: u64 = 1_000;

#[test]
fn a_thousand_random_worlds_break_no_rule() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 1..=SEEDS {
        let case = Case::drawn(seed);
        kinds.extend(case.world.faults.iter().map(|fault| fault.kind.name()));
        if let Err(broken) = case.run() {
            panic!("{broken}");
        }
    }
    assert_eq!(kinds.len(), 8, "every kind of fault was played: {kinds:?}");
}

#[test]
fn a_seed_decides_every_byte_whatever_goes_wrong() {
    let json = |seed| {
        let (run, trace) = Case::drawn(seed).run().unwrap_or_else(|broken| panic!("{broken}"));
        serde_json::to_string(&run).unwrap() + &format!("{trace:?}")
    };
    for seed in 1..=60 {
        assert_eq!(json(seed), json(seed), "seed {seed}");
    }
    assert_ne!(json(1), json(2));
}
