//! `tantivy-beside-setalgebra`: the same documents and queries for both indexes, in one thread and without sockets. Every
//! answer of both is compared with one that was found without an index; the first that differs ends the bench.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod arguments;
mod peer;
mod result;

use arguments::Arguments;
use machine::Origin;
use peer::Peer;
use result::{Compared, Row};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tailwater_setalgebra::collection::Collection;
use tailwater_setalgebra::index::Shard;
use tailwater_setalgebra::intersect::{Method, Scratch};
use tailwater_setalgebra::oracle;
use tailwater_setalgebra::prepared::{Plan, TEXT};
use tailwater_setalgebra::queries::Draw;

/// Words of the stop list: the default of the service.
const STOP: usize = 50;

/// Each index answers all queries so often; it goes first in half of the rounds, so that neither has always the warmer
/// cache.
const ROUNDS: usize = 6;

/// More documents than this in all answers are not compared.
const ANSWERS_MAX: usize = 64 << 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tantivy-beside-setalgebra: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let Arguments { text, documents, queries, out } = Arguments::read(typed.iter().cloned())?;
    if let Some(path) = &out {
        machine::result::refuse_unwritable(path)?;
    }
    let origin = Origin::now();
    let Ok(source) = text.parse();
    let draw = Draw { queries, odd_percent: 3, ..Draw::default() };
    let folder = tailwater_data::Folder::new("");
    let plan = Plan { folder, source, documents, stop: STOP, leaves: 1, draw };
    let collection = plan.collection(&|_| Ok(()))?;
    let median = match text {
        "generated" => format!(", median {} words", TEXT.length_median),
        _ => String::new(),
    };
    let (source, documents, seed) = (plan.source.to_string(), collection.documents(), draw.seed);
    println!(
        "{documents} documents ({source}{median}), {queries} queries, {STOP} words in the stop list, one shard"
    );
    let compared = beside(&collection, &draw)?;
    result::print(&compared);
    let asked = result::Asked { text, source, documents, queries, seed };
    let write = |path: PathBuf| result::write(&path, (origin, &typed), &asked, &compared);
    out.map_or(Ok(()), write)
}

/// What is asked, by each word's text and without the stop list, and what must be found.
struct Asked<'a> {
    words: Vec<Vec<&'a str>>,
    answers: Vec<Vec<u32>>,
}

fn beside(collection: &Collection, draw: &Draw) -> Result<Compared, String> {
    let stop = collection.stop_list(STOP);
    let mut is_stop = vec![false; collection.words()];
    stop.iter().for_each(|&word| is_stop[word as usize] = true);
    let asked = asked(collection, draw, &stop)?;
    let (shard, ours_built) = timed(|| Shard::build(collection, &stop, (0, 1)));
    let shard = shard.map_err(|why| why.to_string())?;
    let (peer, theirs_built) = timed(|| Peer::build(collection, &is_stop));
    let peer = peer.map_err(|why| why.to_string())?;
    if peer.segments() != 1 {
        return Err(format!("found {} segments of tantivy's; one is needed", peer.segments()));
    }
    let postings = shard.lists().postings();
    let ours = [shard.lists().bytes(), shard.to_bytes().0.len() as u64];
    let theirs = peer.bytes().map_err(|why| why.to_string())?;
    let (our_times, their_times) = times(&asked, &shard, &peer)?;
    let rows = [
        Row::of("tailwater", ours, postings, ours_built, &our_times),
        Row::of("tantivy", theirs.into(), postings, theirs_built, &their_times),
    ];
    Ok(Compared { postings, equal_answers: asked.words.len(), rows })
}

fn asked<'a>(collection: &'a Collection, draw: &Draw, stop: &[u32]) -> Result<Asked<'a>, String> {
    let queries = draw.queries(collection, stop)?;
    let listed: BTreeSet<u32> = oracle::stop_list(collection, STOP);
    let answers = oracle::answers(collection, &listed, &queries, ANSWERS_MAX, &|_| Ok(()))?;
    let words = |query: &Vec<u32>| {
        let mut words: Vec<u32> =
            query.iter().copied().filter(|word| !listed.contains(word)).collect();
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(|word| collection.word(word)).collect()
    };
    Ok(Asked { words: queries.iter().map(words).collect(), answers })
}

/// Of each query the median over the rounds, sorted: ours and theirs. A round is the whole list, so that no query finds
/// its own lists in the cache.
fn times(
    asked: &Asked<'_>,
    shard: &Shard,
    peer: &Peer,
) -> Result<(Vec<Duration>, Vec<Duration>), String> {
    let mut scratch = Scratch::default();
    let mut by_us = |words: &[&str]| {
        let how = (Method::Gallop, &mut scratch);
        let ((_, found), time) = timed(|| shard.find(words.iter().copied(), how, usize::MAX));
        Ok((found, time))
    };
    let mut by_them = |words: &[&str]| {
        let (found, time) = timed(|| peer.find(words));
        Ok((found.map_err(|why| why.to_string())?, time))
    };
    let mut ours = vec![Vec::with_capacity(ROUNDS); asked.words.len()];
    let mut theirs = ours.clone();
    for number in 0..ROUNDS {
        if number % 2 == 0 {
            round("tailwater", asked, &mut by_us, &mut ours)?;
        }
        round("tantivy", asked, &mut by_them, &mut theirs)?;
        if number % 2 == 1 {
            round("tailwater", asked, &mut by_us, &mut ours)?;
        }
    }
    Ok((medians(ours), medians(theirs)))
}

/// What was found, and in what time.
type Timed = Result<(Vec<u32>, Duration), String>;

/// The whole list by one index: a time for each query, and every answer compared.
fn round(
    who: &str,
    asked: &Asked<'_>,
    find: &mut dyn FnMut(&[&str]) -> Timed,
    times: &mut [Vec<Duration>],
) -> Result<(), String> {
    for (number, (words, answer)) in asked.words.iter().zip(&asked.answers).enumerate() {
        let (found, time) = find(words)?;
        check(who, number, &found, answer)?;
        times[number].push(time);
    }
    Ok(())
}

/// Of each query the median, the lower of the middle two; all of them sorted.
fn medians(times: Vec<Vec<Duration>>) -> Vec<Duration> {
    let median = |mut rounds: Vec<Duration>| {
        rounds.sort_unstable();
        rounds[(ROUNDS - 1) / 2]
    };
    let mut medians: Vec<Duration> = times.into_iter().map(median).collect();
    medians.sort_unstable();
    medians
}

fn check(who: &str, number: usize, found: &[u32], needed: &[u32]) -> Result<(), String> {
    match found == needed {
        true => Ok(()),
        false => Err(format!(
            "query {number}: {who} found {} documents; without an index there are {}",
            found.len(),
            needed.len()
        )),
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let from = Instant::now();
    let made = work();
    (made, from.elapsed())
}
