//! Worlds drawn at random: no rule breaks in any, and each is the same whenever it is played.

use std::collections::BTreeSet;
use tailwater_control::catalog::{CONTROLLERS, profiles_of};
use tailwater_sim::swarm::Case;
use tailwater_sim::{Fault, FaultKind};

/// More with `cargo run --release -p tailwater-sim --example seeds -- COUNT`.
const SEEDS: u64 = 1_000;

#[test]
fn a_thousand_random_worlds_break_no_rule() {
    let (mut kinds, mut controllers) = (BTreeSet::new(), BTreeSet::new());
    let (mut paths, mut tiers, mut replicas, mut behind) = (0, 0, 0, 0);
    let (mut threads, mut switches) = (0, 0);
    for seed in 1..=SEEDS {
        let case = Case::drawn(seed);
        kinds.extend(case.world.faults.iter().map(|fault| fault.kind.name()));
        controllers.insert((case.spec.name.clone(), case.spec.profile.clone()));
        paths += u32::from(case.world.node.paths.is_some());
        tiers += u32::from(!case.world.tiers.is_empty());
        threads += u32::from(case.world.node.threads.is_some());
        switches += case.world.switches.len();
        replicas += u32::from(case.world.replicas > 1);
        let server = |kind| matches!(kind, FaultKind::ServerRestart | FaultKind::ServerPause);
        let of_tiers = |fault: &&Fault| server(fault.kind) && fault.nodes.tier.is_some();
        behind += case.world.faults.iter().filter(of_tiers).count();
        if let Err(broken) = case.run() {
            panic!("{broken}");
        }
    }
    assert_eq!(kinds.len(), 10, "every kind of fault was played: {kinds:?}");
    let all = CONTROLLERS.iter().flat_map(|(name, _)| profiles_of(name));
    assert_eq!(controllers.len(), all.count(), "so was every controller: {controllers:?}");
    assert!(paths > 200 && tiers > 100, "{paths} with paths, {tiers} with tiers");
    assert!(threads > 100 && switches > 500, "{threads} with threads, {switches} switches");
    assert!(replicas > 300, "{replicas} with replicas");
    assert!(behind > 30, "{behind} tiers or nodes of them restarted or paused");
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
