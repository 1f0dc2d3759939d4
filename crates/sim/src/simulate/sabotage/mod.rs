//! Planted bugs: each rule must find at least three, within a stated number of random worlds.
//!
//! `shards` are servers that do nearly what they should, `gates` clients, `drivers` meddle with the
//! simulator between two of its steps; those of walking requests are in `crate::planted`.

mod drivers;
mod gates;
mod shards;

use super::{Broken, Parts, Simulation};
use crate::checks::Rule;
use crate::planted::Planted;
use crate::space::Event;
use crate::swarm::Case;
use drivers::DriverBug;
use gates::GateBug;
use shards::ShardBug;
use std::sync::Arc;
use tailwater_control::Admission;
use tailwater_control::catalog::Controller;
use tailwater_core::Instant;

/// What is wrong.
#[derive(Clone, Copy, Debug)]
enum Bug {
    Shard(ShardBug),
    Gate(GateBug),
    Driver(DriverBug),
    Walk(Planted),
    Retry(Planted),
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
    (Rule::Fates, Bug::Driver(DriverBug::RunsTwice)),
    (Rule::Queues, Bug::Shard(ShardBug::WishesWithoutEnd)),
    (Rule::Queues, Bug::Gate(GateBug::QueuesTooMany)),
    (Rule::Queues, Bug::Driver(DriverBug::OverfillsTheRunQueue)),
    (Rule::Signal, Bug::Shard(ShardBug::LatchesShut)),
    (Rule::Signal, Bug::Shard(ShardBug::ShedsOnAfterwards)),
    (Rule::Signal, Bug::Driver(DriverBug::StopsTicking)),
    (Rule::Signal, Bug::Driver(DriverBug::TicksSeldom)),
    (Rule::Deadline, Bug::Driver(DriverBug::LosesWakeUps)),
    (Rule::Deadline, Bug::Driver(DriverBug::WakesLate)),
    (Rule::Deadline, Bug::Driver(DriverBug::ForgetsToArm)),
    (Rule::Locks, Bug::Walk(Planted::KeepsLocks)),
    (Rule::Locks, Bug::Walk(Planted::ForgetsToRelease)),
    (Rule::Locks, Bug::Walk(Planted::TakesTheTaken)),
    (Rule::Locks, Bug::Walk(Planted::LosesWakeUps)),
    (Rule::Budgets, Bug::Walk(Planted::ForgetsWaits)),
    (Rule::Budgets, Bug::Walk(Planted::ForgetsTheRunQueue)),
    (Rule::Budgets, Bug::Walk(Planted::NeverGivesUp)),
    (Rule::Calls, Bug::Walk(Planted::LosesAnswers)),
    (Rule::Calls, Bug::Walk(Planted::WakesEarly)),
    (Rule::Calls, Bug::Walk(Planted::ForgetsToWake)),
    (Rule::Calls, Bug::Walk(Planted::MissesTheLoss)),
    (Rule::Calls, Bug::Walk(Planted::HearsOfLossTwice)),
    (Rule::Fates, Bug::Walk(Planted::LeavesCallsBehind)),
    (Rule::Retries, Bug::Retry(Planted::TriesTheSame)),
    (Rule::Retries, Bug::Retry(Planted::ForgetsTheBudget)),
    (Rule::Retries, Bug::Retry(Planted::TriesTooLate)),
    (Rule::Fates, Bug::Retry(Planted::LosesTheRetried)),
];

/// Within so many random worlds each bug must be found.
const SEEDS: u64 = 1_000;

#[test]
fn every_planted_bug_is_found_within_a_thousand_seeds() {
    for &(rule, bug) in BUGS {
        let finds = |seed| play(seed, Some(bug)).is_err_and(|broken| broken.rule == rule);
        let found = (1..=SEEDS).any(finds);
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
    let case = Case::drawn(seed);
    let mut boot = |node| -> Arc<dyn Admission> {
        let sound = case.controller(node).admission;
        match bug {
            Some(Bug::Shard(bug)) => Arc::new(shards::Spoilt { sound, bug }),
            _ => sound,
        }
    };
    let sound: Vec<Controller> = (0..case.world.replicas as usize + 2 * case.world.tiers.len())
        .map(|node| case.controller(node))
        .collect();
    let client = |node: usize, number: u32| sound[node].client(number.into());
    let front = |number: u32| (number / case.world.clients) as usize;
    let to_front = |number| match bug {
        Some(Bug::Gate(bug)) => gates::client(&case, bug, client(front(number), number)),
        _ => client(front(number), number),
    };
    let parts = Parts { boot: &mut boot, client: &client, to_front: &to_front };
    let mut simulation = Simulation::new(&case.world, parts);
    if let Some(Bug::Walk(defect)) = bug {
        let walks = simulation.topology.nodes.iter_mut().filter_map(|node| node.walk.as_mut());
        walks.for_each(|walk| walk.plant(defect));
    }
    if let Some(Bug::Retry(defect)) = bug {
        simulation.clients.plant(defect);
    }
    let mut meddle = |simulation: &mut Simulation<'_>, now, event| match bug {
        Some(Bug::Driver(bug)) => bug.meddle(simulation, now, event),
        _ => Some(event),
    };
    simulation.run_meddled(&mut case.intended(), &mut meddle);
    simulation.finish(&case.world).map(|_| ())
}

type Meddle<'a> = &'a mut dyn FnMut(&mut Simulation<'_>, Instant, Event) -> Option<Event>;

impl Simulation<'_> {
    /// As [`Simulation::run_open`], with somebody between the calendar and what happens.
    fn run_meddled(
        &mut self,
        intended: &mut dyn Iterator<Item = crate::world::Intended>,
        meddle: Meddle<'_>,
    ) {
        let mut coming = intended.next();
        while self.space.broken.is_none() {
            let event_at = self.space.calendar.next_at().unwrap_or(Instant::FAR_FUTURE);
            if let Some(request) = coming.filter(|request| request.at <= event_at.min(self.end)) {
                self.intend(request);
                coming = intended.next();
            } else if event_at <= self.end
                && let Some((now, event)) = self.space.calendar.pop()
            {
                if let Some(event) = meddle(self, now, event) {
                    self.happen(now, event);
                }
            } else {
                return;
            }
        }
    }
}
