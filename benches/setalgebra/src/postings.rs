//! Bytes of a posting.

use crate::STOP;
use serde::Serialize;
use std::time::Instant;
use tailwater_setalgebra::collection::Collection;
use tailwater_setalgebra::index::Shard;

/// What the service is to keep to, in bytes.
const MOST: f64 = 1.6;

/// What the lists of some documents take.
#[derive(Serialize)]
pub(crate) struct Postings {
    of: &'static str,
    words_each: f64,
    postings: u64,
    bytes_each: f64,
}

/// Indexes all documents, checks the lists against the documents, and says what they take.
pub(crate) fn report(
    collection: &Collection,
    of: &'static str,
) -> Result<(Shard, Postings), String> {
    let words = collection.occurrences().len() as f64 / collection.documents() as f64;
    let begun = Instant::now();
    let stop = collection.stop_list(STOP);
    let shard = Shard::build(collection, &stop, (0, 1)).map_err(|why| why.to_string())?;
    let took = begun.elapsed().as_secs_f64();
    check(collection, &shard, &stop)?;
    let (postings, bytes) = (shard.lists().postings(), shard.lists().bytes());
    let each = bytes as f64 / postings as f64;
    let dictionary = shard.to_bytes().0.len() as f64 / f64::from(1 << 20);
    let kept = if each <= MOST { "kept" } else { "not kept" };
    println!(
        "\n{of}, {words:.0} words each: {postings} postings, {each:.3} bytes each with skips (at most {MOST}: {kept}), \
         words {dictionary:.1} MiB; indexed in {took:.1} s"
    );
    Ok((shard, Postings { of, words_each: words, postings, bytes_each: each }))
}

/// Counts each word's documents anew, and adds up their numbers.
fn check(collection: &Collection, shard: &Shard, stop: &[u32]) -> Result<(), String> {
    let mut expected = vec![(0_u64, 0_u64); collection.words()];
    let mut seen = vec![u32::MAX; collection.words()];
    for document in 0..collection.documents() as u32 {
        for &word in collection.document(document as usize) {
            if std::mem::replace(&mut seen[word as usize], document) != document {
                let (count, sum) = &mut expected[word as usize];
                (*count, *sum) = (*count + 1, *sum + u64::from(document));
            }
        }
    }
    stop.iter().for_each(|&word| expected[word as usize] = (0, 0));
    let mut read = Vec::new();
    for (word, expected) in (0..).zip(expected) {
        read.clear();
        let list = shard.list(collection.word(word));
        list.iter().for_each(|list| list.read_all(&mut read));
        let sum = read.iter().map(|document| u64::from(*document)).sum();
        let rises = read.is_sorted_by(|one, next| one < next);
        if (read.len() as u64, sum) != expected || !rises {
            return Err(format!("the list of {} is wrong", collection.word(word)));
        }
    }
    Ok(())
}
