//! `tantivy-beside-setalgebra`: the same documents and queries for both indexes, in one thread and without sockets. Every
//! answer of both is compared with one that was found without an index; the first that differs ends the bench.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod peer;

use peer::Peer;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tailwater_data::text::{WORDNET, is_wordnet_in};
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

const USAGE: &str =
    "it takes --short, --generated N, or nothing (WordNet's glosses, where they are installed)";

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
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (text, documents, queries) = match args[..] {
        [] if is_wordnet_in(WORDNET.as_ref()) => ("wordnet", None, 10_000),
        [] => ("generated", None, 10_000),
        ["--short"] => ("generated", Some(5_000), 1_000),
        ["--generated", number] => {
            let number = number.parse().map_err(|_| format!("found {number}; {USAGE}"))?;
            ("generated", Some(number), 10_000)
        }
        _ => return Err(format!("found {args:?}; {USAGE}")),
    };
    let Ok(source) = text.parse();
    let draw = Draw { queries, odd_percent: 3, ..Draw::default() };
    let folder = tailwater_data::Folder::new("");
    let plan = Plan { folder, source, documents, stop: STOP, leaves: 1, draw };
    let collection = plan.collection(&|_| Ok(()))?;
    println!(
        "{} documents ({text}{}), {queries} queries, {STOP} words in the stop list, one shard",
        collection.documents(),
        if text == "generated" {
            format!(", median {} words", TEXT.length_median)
        } else {
            String::new()
        }
    );
    beside(&collection, &draw)
}

/// What is asked, by each word's text and without the stop list, and what must be found.
struct Asked<'a> {
    words: Vec<Vec<&'a str>>,
    answers: Vec<Vec<u32>>,
}

fn beside(collection: &Collection, draw: &Draw) -> Result<(), String> {
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
    let (words, _) = shard.to_bytes();
    let (theirs_lists, theirs_words) = peer.bytes().map_err(|why| why.to_string())?;
    let per_posting = |bytes: u64| format!("{:.3}", bytes as f64 / postings as f64);
    println!("{postings} postings\n");
    println!("| | tailwater | tantivy |\n|---|---|---|");
    let row = |name: &str, ours: String, theirs: String| println!("| {name} | {ours} | {theirs} |");
    row(
        "bytes of a posting, with skips",
        per_posting(shard.lists().bytes()),
        per_posting(theirs_lists),
    );
    row("bytes of the dictionary", words.len().to_string(), theirs_words.to_string());
    row("building, one thread", format!("{ours_built:.1?}"), format!("{theirs_built:.1?}"));
    let (ours, theirs) = times(&asked, &shard, &peer)?;
    for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        let shown = |times: &[Duration]| {
            format!("{:.1?}", times[((times.len() - 1) as f64 * share) as usize])
        };
        row(&format!("a query, {name}"), shown(&ours), shown(&theirs));
    }
    let sum = |times: &[Duration]| times.iter().sum::<Duration>();
    row("all queries", format!("{:.1?}", sum(&ours)), format!("{:.1?}", sum(&theirs)));
    println!(
        "\n{} answers of each equal those found without an index, in {ROUNDS} rounds.",
        asked.words.len()
    );
    Ok(())
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
