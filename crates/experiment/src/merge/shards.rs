//! The whole result out of those of all its shards.

use super::error::MergeError;
use crate::shard::Shard;
use crate::{capacity, costs};
use std::cmp::Ordering;
use tailwater_stats::result::{CapacityReading, Experiment, Run, ShardMark, StepRecovery};
use tailwater_stats::summarise;

/// What one machine would have found that ran everything; in any order.
pub(super) fn merge(shards: Vec<Experiment>) -> Result<Experiment, MergeError> {
    let first = shards.first().ok_or(MergeError::Nothing)?;
    let mark = first.shard.clone().ok_or(MergeError::NoShard(0))?;
    let like = frame(first);
    for (at, shard) in shards.iter().enumerate() {
        let own = shard.shard.as_ref().ok_or(MergeError::NoShard(at))?;
        let part = Shard::new(own.index, own.of).ok_or(MergeError::Damaged(at))?;
        if (ShardMark { index: mark.index, ..own.clone() }) != mark || frame(shard) != like {
            return Err(MergeError::Foreign(at));
        }
        if let Some(why) = &shard.cut_short {
            return Err(MergeError::CutShort(own.index, why.clone()));
        }
        if !is_whole(&shard.runs, part.share_of(own.pairs), own.repetitions) {
            return Err(MergeError::Damaged(at));
        }
    }
    let capacities = capacities(&shards)?;
    Ok(join(in_order(shards, &mark)?, capacities))
}

/// Whether there are all runs of so many pairs. A mark may promise any number of them, and is believed as far as there are
/// runs.
fn is_whole(runs: &[Run], pairs: u32, repetitions: u32) -> bool {
    let due = u64::from(pairs) * u64::from(repetitions);
    let are_all = repetitions > 0 && runs.len() as u64 == due;
    are_all
        && runs.iter().zip((0..repetitions).cycle()).all(|(run, due)| run.asked.repetition == due)
}

/// One for each number of clients, which all shards must have found alike.
fn capacities(shards: &[Experiment]) -> Result<Vec<CapacityReading>, MergeError> {
    let mut capacities: Vec<CapacityReading> = Vec::new();
    for (at, shard) in shards.iter().enumerate() {
        for reading in &shard.capacities {
            match capacities.iter().find(|known| known.clients == reading.clients) {
                Some(known) if known != reading => return Err(MergeError::Foreign(at)),
                Some(_) => {}
                None => capacities.push(reading.clone()),
            }
        }
    }
    Ok(capacities)
}

/// What all shards of a result have in common, as text.
fn frame(shard: &Experiment) -> String {
    let Experiment { scenario, title, driver, arrivals, seed, slo_us, rules, manifest, .. } = shard;
    format!("{:?}", (scenario, title, driver, arrivals, seed, slo_us, rules, manifest))
}

/// Each once, by number.
fn in_order(mut shards: Vec<Experiment>, mark: &ShardMark) -> Result<Vec<Experiment>, MergeError> {
    let index = |shard: &Experiment| shard.shard.as_ref().map_or(0, |mark| mark.index);
    shards.sort_by_key(index);
    let indices: Vec<u32> = shards.iter().map(index).collect();
    if let Some(pair) = indices.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(MergeError::Twice(pair[0]));
    }
    let missing: Vec<u32> = (0..mark.of).filter(|index| !indices.contains(index)).collect();
    if missing.is_empty() { Ok(shards) } else { Err(MergeError::Missing(missing, mark.of)) }
}

/// All shards of one result, in their order.
fn join(shards: Vec<Experiment>, mut capacities: Vec<CapacityReading>) -> Experiment {
    let mut whole = Experiment { runs: Vec::new(), shard: None, ..shards[0].clone() };
    whole.recoveries = shards.iter().flat_map(|shard| shard.recoveries.clone()).collect();
    whole.recoveries.sort_by(by_step);
    whole.discarded = shards.iter().flat_map(|shard| shard.discarded.clone()).collect();
    whole.runs = dealt(shards.into_iter().map(|shard| pairs(shard.runs)).collect());
    // As one machine measures them: in the order of the runs that need them.
    let rank = |clients| whole.runs.iter().position(|run| run.asked.clients == clients);
    capacities.sort_by_key(|reading| rank(reading.clients));
    if let Some(reading) = capacities.first() {
        (whole.capacity_rps, whole.capacity_drift) =
            capacity::conclude(&capacities, reading.clients);
    }
    whole.capacities = capacities;
    whole.summary = summarise(&whole.runs);
    whole.costs = costs::of(&whole.runs);
    whole
}

/// Runs of one configuration and controller together: each such group begins with repetition 0.
fn pairs(runs: Vec<Run>) -> Vec<Vec<Run>> {
    let mut pairs: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        match pairs.last_mut() {
            Some(pair) if run.asked.repetition > 0 => pair.push(run),
            _ => pairs.push(vec![run]),
        }
    }
    pairs
}

/// One of each in turn, as they were dealt out.
fn dealt(shards: Vec<Vec<Vec<Run>>>) -> Vec<Run> {
    let mut shards: Vec<_> = shards.into_iter().map(Vec::into_iter).collect();
    let mut runs = Vec::new();
    loop {
        let before = runs.len();
        for shard in &mut shards {
            runs.extend(shard.next().into_iter().flatten());
        }
        if runs.len() == before {
            return runs;
        }
    }
}

/// As [`crate::steps`] orders them.
fn by_step(one: &StepRecovery, other: &StepRecovery) -> Ordering {
    let words = |step: &StepRecovery| {
        (step.clients, step.step, step.controller.clone(), step.profile.clone())
    };
    one.slo_us
        .total_cmp(&other.slo_us)
        .then_with(|| words(one).cmp(&words(other)))
        .then(one.from_ratio.total_cmp(&other.from_ratio))
        .then(one.to_ratio.total_cmp(&other.to_ratio))
}
