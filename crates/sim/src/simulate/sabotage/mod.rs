//! Planted bugs: each rule must find at least three, within a stated number of random worlds.
//!
//! `shards` are servers that do nearly what they should, `gates` clients, `drivers` meddle with the
//! simulator between two of its steps.

mod drivers;
mod gates;
mod shards;

use super::{Broken, Parts, Simulation};
use crate::checks::Rule;
use crate::space::Event;
use crate::swarm::Case;
use drivers::DriverBug;
use gates::GateBug;
use shards::ShardBug;
use std::sync::Arc;
use tailwater_control::{Admission, Client};
use tailwater_core::Instant;

/// What is wrong.
#[derive(Clone, Copy, Debug)]
enum Bug {
    Shard(ShardBug),
    Gate(GateBug),
    Driver(DriverBug),
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
];

/// Within so many random worlds each bug must be found.
const SEEDS: u64 = 400;

#[test]
fn every_planted_bug_is_found_within_four_hundred_seeds() {
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
    let mut boot = || -> Arc<dyn Admission> {
        let sound = case.controller().admission;
        match bug {
            Some(Bug::Shard(bug)) => Arc::new(shards::Spoilt { sound, bug }),
            _ => sound,
        }
    };
    let client = || -> Client {
        match bug {
            Some(Bug::Gate(bug)) => gates::client(&case, bug),
            _ => case.controller().client(),
        }
    };
    let parts = Parts { boot: &mut boot, client: &client };
    let mut simulation = Simulation::new(&case.world, parts);
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
