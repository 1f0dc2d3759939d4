//! Threading models and their changes, drawn at random.

use super::dice::Dice;
use super::{draw_struck, walks};
use crate::threads::{Switch, Threads};
use crate::world::World;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Rng;
use tailwater_workload::scenario::{Completion, Model, Placement, Reception};
use tailwater_workload::{Distribution, Service};

/// Where requests have paths every second world has threads, of which some change their model while they serve; a
/// generator of its own.
pub(super) fn staff(seed: u64, world: &mut World) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of threads"));
    if world.node.paths.is_some() && dice.chance(0.5) {
        let changes = dice.one_of([0, 0, 1, 5, 50]);
        give_threads(&mut dice, world, changes);
        add_responders(seed, world);
    }
}

/// A front and two tiers, the second of which calls the first, all with threads whose models change all the time.
pub(super) fn tree(seed: u64, world: &mut World, service: &Service) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of trees"));
    let locks = walks::draw_locks(&mut dice);
    let mut paths = |tiers| Some(Arc::new(walks::draw_paths(&mut dice, service, &locks, tiers)));
    world.node.paths = paths(2);
    for (tier, number) in world.tiers.iter_mut().zip(0..) {
        tier.node.paths = paths(number);
    }
    let changes = dice.number(10, 100);
    give_threads(&mut dice, world, changes);
}

/// Responders for half of the asynchronous models; a generator of its own.
pub(super) fn add_responders(seed: u64, world: &mut World) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of responders"));
    change_models(world, |model| {
        if model.completion == Completion::Async && dice.chance(0.5) {
            model.completion = Completion::Responders(dice.number(1, 4) as usize);
        }
    });
}

/// Fork and join for half of the synchronous models; a generator of its own.
pub(super) fn add_forks(seed: u64, world: &mut World) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of forks"));
    change_models(world, |model| {
        if model.completion == Completion::Sync && dice.chance(0.5) {
            model.completion = Completion::ForkJoin(dice.number(1, 4) as usize);
        }
    });
}

/// Of the front, the tiers and all changes, in this order.
fn change_models(world: &mut World, mut draw: impl FnMut(&mut Model)) {
    let tiers = world.tiers.iter_mut().map(|tier| &mut tier.node);
    for threads in std::iter::once(&mut world.node).chain(tiers).flat_map(|it| &mut it.threads) {
        draw(&mut threads.model);
    }
    for switch in &mut world.switches {
        draw(&mut switch.model);
    }
}

fn give_threads(dice: &mut Dice, world: &mut World, changes: u64) {
    world.node.threads = Some(draw_threads(dice));
    for tier in &mut world.tiers {
        tier.node.threads = Some(draw_threads(dice));
    }
    let change = |dice: &mut Dice| Switch {
        at: world.measure.mul_f64(dice.unit()),
        nodes: draw_struck(dice, world.replicas, world.tiers.len()),
        model: draw_model(dice),
    };
    world.switches = (0..changes).map(|_| change(dice)).collect();
}

fn draw_threads(dice: &mut Dice) -> Threads {
    let mut cost = |costs_ns| Duration::from_nanos(dice.one_of::<u64, 3>(costs_ns));
    let (mean, hand_over) = (cost([0, 5_000, 26_000]), cost([0, 1_000, 10_000]));
    let switch = cost([0, 500, 2_500]);
    let varies = mean == Duration::from_micros(5);
    let distribution = if varies { Distribution::Exponential } else { Distribution::Constant };
    let wake_up = Service { distribution, mean };
    Threads { model: draw_model(dice), wake_up, hand_over, switch }
}

fn draw_model(dice: &mut Dice) -> Model {
    let spin = Reception::SpinThenBlock(dice.time(1, 50));
    let workers = Placement::Workers(dice.number(1, 8) as usize);
    Model {
        reception: dice.one_of([Reception::Block, Reception::Poll, spin]),
        placement: dice.one_of([Placement::Inline, workers, workers]),
        completion: dice.one_of([Completion::Sync, Completion::Async]),
    }
}
