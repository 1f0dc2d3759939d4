//! Nodes in a tree of tiers that change their threading models while they serve: every request has one fate.

use std::time::Duration;
use tailwater_sim::swarm::Case;
use tailwater_sim::{Rule, World};
use tailwater_workload::scenario::{Completion, Model};

const SEEDS: u64 = 1_000;

/// The rules say that nothing is served twice, or lost on its way. What is blocked for ever is found by having no
/// answer long after all others.
#[test]
fn whatever_changes_each_request_has_one_fate_and_none_is_blocked() {
    let (mut requests, mut changes, mut to_forks) = (0, 0, 0);
    let with_responders = (1..=SEEDS / 4).map(|seed| (seed, Case::responding(seed)));
    let with_forks = (1..=SEEDS / 4).map(|seed| (seed, Case::responding(seed).forking()));
    let with_crews = with_responders.chain(with_forks);
    for (seed, case) in (1..=SEEDS).map(|seed| (seed, Case::switching(seed))).chain(with_crews) {
        let intended = case.intended().count() as u64;
        let (run, _) = case.run().unwrap_or_else(|broken| panic!("{broken}"));
        let fates = run.fates;
        assert_eq!((fates.total(), fates.lost), (intended, 0), "seed {seed}: {fates:?}");
        requests += intended;
        changes += case.world.switches.len();
        to_forks += case.world.switches.iter().filter(|switch| forks(switch.model)).count();
    }
    assert!(requests > 100_000 && changes > 20_000, "{requests} requests, {changes} changes");
    assert!(to_forks > 1_000, "{to_forks} changes to fork and join");
}

const fn forks(model: Model) -> bool {
    matches!(model.completion, Completion::ForkJoin(_))
}

/// Nodes die, stand still or are slow while threads of fork and join wait for their answers.
#[test]
fn whatever_goes_wrong_fork_and_join_breaks_no_rule() {
    let may_fork = |world: &World| {
        let tiers = world.tiers.iter().map(|tier| &tier.node);
        let threads = std::iter::once(&world.node).chain(tiers).flat_map(|node| &node.threads);
        let changes = world.switches.iter().map(|switch| switch.model);
        !world.tiers.is_empty() && threads.map(|it| it.model).chain(changes).any(forks)
    };
    let mut played = 0;
    for case in (1..=SEEDS).map(|seed| Case::drawn(seed).forking()) {
        if may_fork(&case.world) {
            case.run().unwrap_or_else(|broken| panic!("{broken}"));
            played += 1;
        }
    }
    assert!(played > 20, "{played} worlds");
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
