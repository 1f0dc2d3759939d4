//! Nodes in a tree of tiers that change their threading models while they serve: every request has one fate.

use std::time::Duration;
use tailwater_sim::Rule;
use tailwater_sim::swarm::Case;

const SEEDS: u64 = 1_000;

/// The rules say that nothing is served twice, or lost on its way. What is blocked for ever is found by having no
/// answer long after all others.
#[test]
fn whatever_changes_each_request_has_one_fate_and_none_is_blocked() {
    let (mut requests, mut changes) = (0, 0);
    let with_responders = (1..=SEEDS / 4).map(|seed| (seed, Case::responding(seed)));
    for (seed, case) in (1..=SEEDS).map(|seed| (seed, Case::switching(seed))).chain(with_responders)
    {
        let intended = case.intended().count() as u64;
        let (run, _) = case.run().unwrap_or_else(|broken| panic!("{broken}"));
        let fates = run.fates;
        assert_eq!((fates.total(), fates.lost), (intended, 0), "seed {seed}: {fates:?}");
        requests += intended;
        changes += case.world.switches.len();
    }
    assert!(requests > 100_000 && changes > 20_000, "{requests} requests, {changes} changes");
}

/// Some fifty clients, of whom sixteen may have a credit from the empty pool at once. The others wait for 32 answers each, and a
/// front has few while its requests wait for tiers, though its cores are idle. A shorter limit changes nothing about that.
#[test]
fn where_tiers_hold_requests_the_starving_get_credit_at_the_pace_of_answers() {
    let starves = |seed: u64, limit: &str, longest_ms: u64| {
        let mut case = Case::switching(seed);
        assert_eq!((&*case.spec.name, &*case.spec.profile), ("breakwater", "default"));
        assert!(case.world.clients > 16, "{}", case.world.clients);
        case.spec.overrides.retain(|(key, _)| key != "starvation_limit");
        case.spec.overrides.push(("starvation_limit".into(), limit.into()));
        case.world.starved_max = Some(Duration::from_millis(longest_ms));
        case.run().is_err_and(|broken| broken.rule == Rule::Starvation)
    };
    for seed in [300, 474] {
        assert!(starves(seed, "500us", 3), "seed {seed}");
        assert!(starves(seed, "50us", 3), "seed {seed}");
        assert!(!starves(seed, "500us", 30), "seed {seed}");
    }
}

#[test]
fn a_seed_decides_every_byte_of_switching_nodes() {
    let json = |seed| {
        let (run, trace) = Case::switching(seed).run().unwrap_or_else(|broken| panic!("{broken}"));
        serde_json::to_string(&run).unwrap() + &format!("{trace:?}")
    };
    for seed in 1..=30 {
        assert_eq!(json(seed), json(seed), "seed {seed}");
    }
    assert_ne!(json(1), json(2));
}
