//! Paths with locks and calls, drawn at random.

use super::dice::{Dice, Micros as _};
use crate::paths::Paths;
use std::time::Duration;
use tailwater_core::Ratio;
use tailwater_workload::scenario::{CallStep, LockPolicy, LockStep, Locks, Path, PathStep, Wake};
use tailwater_workload::{Distribution, Service};

/// Nodes of every tier, all of which a call may ask.
pub(super) const NODES: u32 = 2;
/// Locks nest in the order of their letters, so that nobody waits for ever.
const LETTERS: [&str; 3] = ["A", "B", "C"];

pub(super) fn draw_locks(dice: &mut Dice) -> (Locks, Wake) {
    let policy = dice.one_of([
        LockPolicy::Plain,
        LockPolicy::Try,
        LockPolicy::Timed(30.us()),
        LockPolicy::Asqm,
        LockPolicy::Asqm,
        LockPolicy::AsqmPaper,
        LockPolicy::AsqmArtifact,
    ]);
    let budget = dice.one_of([None, Some(10.us()), Some(100.us())]);
    let hand_off = Duration::from_nanos(dice.one_of([0, 200]));
    (Locks { policy, target: None, budget, hand_off }, dice.one_of([Wake::Back, Wake::Front]))
}

/// One to three ways of about the length of `service`; the first calls every tier.
pub(super) fn draw_paths(
    dice: &mut Dice,
    service: &Service,
    locks: &(Locks, Wake),
    tiers: usize,
) -> Paths {
    let shares: &[f64] = dice.one_of([&[1.0] as &[f64], &[0.3, 0.7], &[0.2, 0.3, 0.5]]);
    let mut paths = Vec::new();
    for (number, share) in shares.iter().enumerate() {
        let mut steps = draw_steps(dice, service, 0);
        let calls = if number == 0 { tiers } else { dice.below(tiers as u32 + 1) as usize };
        for tier in 0..calls {
            let fan_out = dice.number(1, NODES.into()) as u32;
            steps.push(PathStep::Call(CallStep { tier, fan_out }));
        }
        paths.push(Path { name: number.to_string(), probability: Ratio(*share), steps });
    }
    let (locks, wake) = locks;
    Paths { wake: *wake, ..Paths::new(&paths, locks, (10 * service.mean).max(100.us())) }
}

fn draw_steps(dice: &mut Dice, service: &Service, first: usize) -> Vec<PathStep> {
    let part = |dice: &mut Dice| Service {
        mean: service.mean.mul_f64(0.5 * dice.unit()),
        ..service.clone()
    };
    let mut steps = vec![PathStep::Compute(part(dice))];
    for (letter, name) in LETTERS.iter().enumerate().skip(first) {
        let within = match dice.below(4) {
            0 => vec![PathStep::Compute(part(dice))],
            1 => draw_steps(dice, service, letter + 1),
            2 => vec![PathStep::Wait(part(dice))],
            _ => continue,
        };
        let undo = Service { distribution: Distribution::Constant, mean: 1.us() };
        let (must, undoes) = dice.one_of([(false, false), (true, false), (false, true)]);
        steps.push(PathStep::Lock(LockStep {
            name: (*name).into(),
            // The same number wherever the lock is taken.
            among: 1 + 2 * letter as u32,
            hot: None,
            steps: within,
            must,
            undo: undoes.then_some(undo),
        }));
    }
    steps
}
