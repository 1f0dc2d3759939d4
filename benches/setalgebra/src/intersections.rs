//! Two lists intersected, by how much longer one is.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::Instant;
use tailwater_core::Rng;
use tailwater_setalgebra::index::Shard;
use tailwater_setalgebra::intersect::{Method, Scratch};
use tailwater_setalgebra::lists::List;

/// How many times longer the second list is, about.
const RATIOS: [usize; 4] = [1, 10, 100, 1_000];
/// Pairs of each ratio.
const PAIRS: usize = 24;
/// The shorter list has so many documents at least.
const SHORTEST: usize = 20;

/// Pairs of lists, of which the second is so many times longer.
#[derive(Serialize)]
pub(crate) struct Lists {
    ratio: usize,
    pairs: usize,
    /// Documents of a list, in the mean.
    documents: [usize; 2],
    /// Of each method, the median of the rounds.
    ns: BTreeMap<&'static str, f64>,
}

/// Nanoseconds of each method, in rounds that measure all of them in turn.
pub(crate) fn report(shard: &Shard, short: bool) -> Result<Vec<Lists>, String> {
    let rounds = if short { 3 } else { 31 };
    let mut all = Vec::new();
    println!(
        "\nlists      {:>10} {:>10} {:>10} {:>10} {:>14} {:>14}",
        "merge", "skips", "gallop", "simd", "gallop:merge", "documents"
    );
    for ratio in RATIOS {
        let pairs = pairs(shard, ratio);
        if pairs.is_empty() {
            println!("1:{ratio:<6} no list is so much longer than another");
            continue;
        }
        for (one, other) in &pairs {
            check(*one, *other)?;
        }
        let methods = [Method::Merge, Method::Skips, Method::Gallop, Method::Simd];
        let mut samples = methods.map(|_| Vec::with_capacity(rounds));
        for _ in 0..rounds {
            for (method, samples) in methods.iter().zip(&mut samples) {
                samples.push(time(*method, &pairs));
            }
        }
        let [merge, skips, gallop, simd] = samples.map(median);
        let mean = |of: fn(&(List<'_>, List<'_>)) -> usize| {
            pairs.iter().map(of).sum::<usize>() / pairs.len()
        };
        let documents = [mean(|pair| pair.0.len()), mean(|pair| pair.1.len())];
        let sizes = format!("{}+{}", documents[0], documents[1]);
        let faster = merge / gallop;
        println!(
            "1:{ratio:<6} {merge:>9.0}ns {skips:>8.0}ns {gallop:>8.0}ns {simd:>8.0}ns {faster:>13.1}x {sizes:>14}"
        );
        let ns = [("merge", merge), ("skips", skips), ("gallop", gallop), ("simd", simd)].into();
        all.push(Lists { ratio, pairs: pairs.len(), documents, ns });
    }
    Ok(all)
}

/// Pairs of lists whose lengths have this ratio, within a fifth; from all over the words.
fn pairs<'s>(shard: &'s Shard, ratio: usize) -> Vec<(List<'s>, List<'s>)> {
    let lists = shard.lists();
    let mut by_length: Vec<List<'s>> =
        (0..lists.count()).map(|number| lists.list(number)).collect();
    by_length.retain(|list| list.len() >= SHORTEST);
    by_length.sort_by_key(List::len);
    let mut rng = Rng::from_seed(7).split("pairs");
    let mut found = Vec::new();
    for _ in 0..PAIRS * 400 {
        let at = rng.below(by_length.len() as u32) as usize;
        let (one, wanted) = (by_length[at], by_length[at].len() * ratio);
        let from = by_length.partition_point(|list| list.len() < wanted * 4 / 5).max(at + 1);
        let to = by_length.partition_point(|list| list.len() <= wanted * 6 / 5);
        if from < to && found.len() < PAIRS {
            found.push((one, by_length[from + rng.below((to - from) as u32) as usize]));
        }
    }
    found
}

/// By sets, which know nothing of blocks.
fn check(one: List<'_>, other: List<'_>) -> Result<(), String> {
    let set = |list: List<'_>| {
        let mut read = Vec::new();
        list.read_all(&mut read);
        read.into_iter().collect::<BTreeSet<u32>>()
    };
    let expected: Vec<u32> = set(one).intersection(&set(other)).copied().collect();
    let mut scratch = Scratch::default();
    for (name, method) in Method::NAMES {
        if method.intersect(&mut [one, other], &mut scratch) != expected {
            return Err(format!("{name} found something else than sets"));
        }
    }
    Ok(())
}

/// Nanoseconds of an intersection, in the mean over all pairs.
fn time(method: Method, pairs: &[(List<'_>, List<'_>)]) -> f64 {
    let mut scratch = Scratch::default();
    let begun = Instant::now();
    for &(one, other) in pairs {
        black_box(method.intersect(&mut [one, other], &mut scratch).len());
    }
    begun.elapsed().as_nanos() as f64 / pairs.len() as f64
}

pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    f64::midpoint(samples[(samples.len() - 1) / 2], samples[samples.len() / 2])
}
