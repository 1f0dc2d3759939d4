//! Planted bugs: each rule must find at least three, within a stated number of random worlds.
//!
//! All of them lie outside of what is tested. `shards` wraps servers, `gates` clients; the others spoil the world
//! that is played, which is then not the one that the referee knows. Some meddle between two steps with the events
//! (`drivers`). Others meddle with requests: on their paths (`walks`), called by other nodes (`calls`), tried again
//! (`retries`), handed from thread to thread (`threads`).

mod calls;
mod drivers;
mod gates;
mod retries;
mod shards;
mod threads;
mod walks;

use super::{Broken, Next, Simulation};
use crate::checks::Rule;
use crate::connection::Connection;
use crate::mechanics::Mechanics;
use crate::swarm::Case;
use crate::topology::Parts;
use crate::world::TierSpec;
use calls::CallBug;
use drivers::DriverBug;
use gates::GateBug;
use retries::RetryBug;
use shards::ShardBug;
use std::sync::Arc;
use tailwater_control::Admission;
use tailwater_control::catalog::Controller;
use threads::ThreadBug;
use walks::WalkBug;

/// What is wrong.
#[derive(Clone, Copy, Debug)]
enum Bug {
    Shard(ShardBug),
    Gate(GateBug),
    Driver(DriverBug),
    Walk(WalkBug),
    Call(CallBug),
    Retry(RetryBug),
    Thread(ThreadBug),
}

/// Each planted bug and the rule that must find it.
const BUGS: &[(Rule, Bug)] = &[
    (Rule::Credits, Bug::Shard(ShardBug::KeepsCreditsOnClose)),
    (Rule::Credits, Bug::Shard(ShardBug::KeepsCreditsOnDeregister)),
    (Rule::Credits, Bug::Shard(ShardBug::LosesExplicitCredits)),
    (Rule::Credits, Bug::Shard(ShardBug::CountsOneTooMany)),
    (Rule::Windows, Bug::Shard(ShardBug::OffersTooMuch)),
    (Rule::Windows, Bug::Shard(ShardBug::ForgetsToNumber)),
    (Rule::Windows, Bug::Shard(ShardBug::AdmitsViolations)),
    (Rule::Honest, Bug::Shard(ShardBug::DistrustsTheHonest)),
    (Rule::Honest, Bug::Gate(GateBug::SendsOneTooMany)),
    (Rule::Honest, Bug::Gate(GateBug::IgnoresRevocations)),
    (Rule::Honest, Bug::Gate(GateBug::RemembersTheLostConnection)),
    (Rule::Starvation, Bug::Shard(ShardBug::NeverWakes)),
    (Rule::Starvation, Bug::Shard(ShardBug::SleepsIn)),
    (Rule::Starvation, Bug::Gate(GateBug::NeverReopens)),
    (Rule::Starvation, Bug::Driver(DriverBug::LosesCreditMessages)),
    (Rule::Fates, Bug::Driver(DriverBug::LosesAnswers)),
    (Rule::Fates, Bug::Driver(DriverBug::AnswersTwice)),
    (Rule::Fates, Bug::Driver(DriverBug::LosesRequests)),
    (Rule::Fates, Bug::Driver(DriverBug::AsksTwice)),
    (Rule::Queues, Bug::Shard(ShardBug::WishesWithoutEnd)),
    (Rule::Queues, Bug::Gate(GateBug::QueuesTooMany)),
    (Rule::Queues, Bug::Driver(DriverBug::OverfillsTheRunQueue)),
    (Rule::Signal, Bug::Shard(ShardBug::LatchesShut)),
    (Rule::Signal, Bug::Shard(ShardBug::ShedsOnAfterwards)),
    (Rule::Signal, Bug::Driver(DriverBug::StopsTicking)),
    (Rule::Signal, Bug::Driver(DriverBug::TicksSeldom)),
    (Rule::Deadline, Bug::Driver(DriverBug::LosesWakeUps)),
    (Rule::Deadline, Bug::Driver(DriverBug::WakesLate)),
    (Rule::Deadline, Bug::Driver(DriverBug::WakesTheWrongNode)),
    (Rule::Locks, Bug::Walk(WalkBug::KeepsLocks)),
    (Rule::Locks, Bug::Walk(WalkBug::ForgetsToRelease)),
    (Rule::Locks, Bug::Walk(WalkBug::TakesTheTaken)),
    (Rule::Locks, Bug::Walk(WalkBug::ForgetsTheHandOver)),
    (Rule::Budgets, Bug::Walk(WalkBug::ForgetsWaits)),
    (Rule::Budgets, Bug::Walk(WalkBug::ForgetsTheRunQueue)),
    (Rule::Budgets, Bug::Walk(WalkBug::NeverGivesUp)),
    (Rule::Calls, Bug::Call(CallBug::LosesAnswers)),
    (Rule::Calls, Bug::Call(CallBug::WakesEarly)),
    (Rule::Calls, Bug::Call(CallBug::ForgetsToWake)),
    (Rule::Calls, Bug::Call(CallBug::MissesTheLoss)),
    (Rule::Calls, Bug::Call(CallBug::HearsOfLossTwice)),
    (Rule::Fates, Bug::Call(CallBug::LeavesCallsBehind)),
    (Rule::Retries, Bug::Retry(RetryBug::TriesTheSame)),
    (Rule::Retries, Bug::Retry(RetryBug::ForgetsTheBudget)),
    (Rule::Retries, Bug::Retry(RetryBug::TriesTooLate)),
    (Rule::Retries, Bug::Retry(RetryBug::ForgetsTheTry)),
    (Rule::Fates, Bug::Retry(RetryBug::LosesTheRetried)),
    (Rule::Fates, Bug::Thread(ThreadBug::ForgetsTheHanded)),
    (Rule::Fates, Bug::Thread(ThreadBug::HandsOverAgain)),
    (Rule::Threads, Bug::Thread(ThreadBug::LosesWakeUps)),
    (Rule::Threads, Bug::Thread(ThreadBug::SleepsOn)),
    (Rule::Threads, Bug::Thread(ThreadBug::MovesTheBegun)),
    (Rule::Threads, Bug::Thread(ThreadBug::WaitsForNoCall)),
    (Rule::Fates, Bug::Thread(ThreadBug::HoldsForEver)),
];

/// Random worlds in which no rule is broken without a bug.
const SEEDS: u64 = 1_000;
/// Within so many of them each bug must be found. The rarest, a controller that asks for no call back, is found in one of 850.
const SEEDS_TO_FIND: u64 = 6 * SEEDS;

#[test]
fn every_planted_bug_is_found_within_six_thousand_seeds() {
    for &(rule, bug) in BUGS {
        let finds = |seed| play(seed, Some(bug)).is_err_and(|broken| broken.rule == rule);
        let found = (1..=SEEDS_TO_FIND).any(finds);
        assert!(found, "{bug:?} was not found by the rule of {}", rule.name());
    }
}

#[test]
fn every_rule_has_three_planted_bugs() {
    for rule in Rule::ALL {
        let count = BUGS.iter().filter(|(of, _)| *of == rule).count();
        assert!(count >= 3, "{} has {count}", rule.name());
    }
}

#[test]
fn without_a_bug_the_same_worlds_break_no_rule() {
    for seed in 1..=SEEDS {
        play(seed, None).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

/// A random world with a bug in it.
fn play(seed: u64, bug: Option<Bug>) -> Result<(), Broken> {
    let case = match bug {
        Some(Bug::Thread(_)) => Case::switching(seed),
        _ => Case::drawn(seed),
    };
    let mut boot = |node| -> Arc<dyn Admission> {
        let sound = case.controller(node).admission;
        match bug {
            Some(Bug::Shard(bug)) => Arc::new(shards::Spoilt { sound, bug }),
            _ => sound,
        }
    };
    let behind: u32 = case.world.tiers.iter().map(TierSpec::servers).sum();
    let sound: Vec<Controller> =
        (0..(case.world.replicas + behind) as usize).map(|node| case.controller(node)).collect();
    let fronts = case.world.replicas as usize;
    let client = |node: usize, connection: Connection| {
        let client = sound[node].client(connection.0.into());
        match bug {
            Some(Bug::Gate(bug)) if node < fronts => gates::client(&case, bug, client),
            _ => client,
        }
    };
    let parts = Parts { boot: &mut boot, client: &client };
    let mut spoilt = case.world.clone();
    match bug {
        Some(Bug::Driver(bug)) => bug.spoil(&mut spoilt),
        Some(Bug::Walk(bug)) => bug.spoil(&mut spoilt),
        Some(Bug::Retry(bug)) => bug.spoil(&mut spoilt),
        _ => {}
    }
    let mut simulation = Simulation::new(Mechanics::new(&spoilt, parts), &case.world);
    let meddle = |mechanics: &mut Mechanics<'_>, now, event| match bug {
        Some(Bug::Driver(bug)) => bug.meddle(mechanics, now, event),
        Some(Bug::Walk(bug)) => bug.meddle(mechanics, now, event),
        Some(Bug::Call(bug)) => bug.meddle(mechanics, now, event),
        Some(Bug::Retry(bug)) => bug.meddle(mechanics, event),
        Some(Bug::Thread(bug)) => bug.meddle(mechanics, event),
        _ => Some(event),
    };
    let mut coming = case.intended().peekable();
    while let Some(next) = simulation.next(&mut coming) {
        match next {
            Next::Intended(request) => simulation.mechanics.intend(request),
            Next::Event(now, event) => {
                if let Some(event) = meddle(&mut simulation.mechanics, now, event) {
                    simulation.mechanics.happen(now, event);
                }
            }
        }
        simulation.watch();
    }
    simulation.finish(&case.world).map(|_| ())
}
