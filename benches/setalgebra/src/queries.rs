//! The service's queries, asked of one shard of all documents.

use crate::STOP;
use crate::intersections::median;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;
use tailwater_setalgebra::collection::Collection;
use tailwater_setalgebra::index::Shard;
use tailwater_setalgebra::intersect::{Method, Scratch};
use tailwater_setalgebra::oracle;
use tailwater_setalgebra::queries::Draw;

/// The service's queries, all of whose answers were right.
#[derive(Serialize)]
pub(crate) struct Queries {
    count: usize,
    without_answer: usize,
    /// In an answer, in the mean.
    documents: f64,
    /// Of each method, the mean of all queries.
    us: BTreeMap<&'static str, f64>,
}

/// Microseconds of a query by each method; every answer is that of the oracle, which has no index.
pub(crate) fn report(
    collection: &Collection,
    shard: &Shard,
    short: bool,
) -> Result<Queries, String> {
    let (queries, rounds) = if short { (500, 1) } else { (10_000, 5) };
    let draw = Draw { queries, ..Draw::default() };
    let queries = draw.queries(collection, &collection.stop_list(STOP))?;
    let stop = oracle::stop_list(collection, STOP);
    let answers = oracle::answers(collection, &stop, &queries, usize::MAX, &|_| Ok(()))?;
    let empty = answers.iter().filter(|answer| answer.is_empty()).count();
    let mean = answers.iter().map(Vec::len).sum::<usize>() as f64 / answers.len() as f64;
    println!(
        "\n{} queries of 1 to {} words, {empty} without an answer, {mean:.0} documents in an answer; µs of a query:",
        queries.len(),
        draw.words
    );
    let mut samples = vec![Vec::new(); Method::NAMES.len()];
    for _ in 0..rounds {
        for ((name, method), samples) in Method::NAMES.iter().zip(&mut samples) {
            let mut scratch = Scratch::default();
            let mut spent = 0.0;
            for (query, answer) in queries.iter().zip(&answers) {
                let words = query.iter().map(|&word| collection.word(word));
                let begun = Instant::now();
                let (found, documents) = shard.find(words, (*method, &mut scratch), usize::MAX);
                spent += begun.elapsed().as_secs_f64();
                if found != answer.len() || documents != *answer {
                    return Err(format!("{name} answers a query otherwise than the oracle"));
                }
            }
            samples.push(spent * 1e6 / queries.len() as f64);
        }
    }
    let mut us = BTreeMap::new();
    for ((name, _), samples) in Method::NAMES.iter().zip(samples) {
        let each = median(samples);
        println!("{name:<10} {each:>10.1}");
        us.insert(*name, each);
    }
    Ok(Queries { count: queries.len(), without_answer: empty, documents: mean, us })
}
