//! `setalgebra`: what a posting takes, and what an intersection takes by each method. Every answer is checked.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod intersections;
mod postings;
mod queries;

use clap::Parser;
use intersections::Lists;
use machine::Origin;
use postings::Postings;
use queries::Queries;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use tailwater_data::text::generate::Text;
use tailwater_setalgebra::collection::Collection;
use tailwater_setalgebra::prepared::TEXT;

/// Words of the stop list: the default of the service.
const STOP: usize = 50;
/// Decides the documents.
const SEED: u64 = 1;

/// What a posting of Set Algebra takes, and what an intersection takes by each method.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Shows only that everything works: 20,000 documents instead of a million.
    #[arg(long)]
    short: bool,
    /// Writes the result here, too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    origin: Origin,
    documents: usize,
    stop: usize,
    seed: u64,
    postings: [Postings; 2],
    lists: Vec<Lists>,
    queries: Queries,
}

fn main() -> ExitCode {
    let Arguments { short, out } = Arguments::parse();
    let written = |found: &Found| out.map_or(Ok(()), |path| machine::result::write(&path, found));
    match measure(short).and_then(|found| written(&found)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("setalgebra: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(short: bool) -> Result<Found, String> {
    let documents = if short { 20_000 } else { 1_000_000 };
    let origin = Origin::now();
    println!("{documents} generated documents, {STOP} words in the stop list, one shard");
    let glosses = Text { length_median: Text::default().length_median, documents, ..TEXT };
    let (_, glosses) = postings::report(&made(&glosses)?, "as long as glosses")?;
    let collection = made(&Text { documents, ..TEXT })?;
    let (shard, usual) = postings::report(&collection, "the service's")?;
    let lists = intersections::report(&shard, short)?;
    let queries = queries::report(&collection, &shard, short)?;
    let (stop, seed, postings) = (STOP, SEED, [usual, glosses]);
    Ok(Found { origin, documents, stop, seed, postings, lists, queries })
}

fn made(text: &Text) -> Result<Collection, String> {
    Collection::generated(text, SEED, &|_| Ok(()))
}
