//! `setalgebra`: what a posting takes, and what an intersection takes by each method. Every answer is checked.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod intersections;
mod postings;
mod queries;

use std::process::ExitCode;
use tailwater_data::text::generate::Text;
use tailwater_setalgebra::collection::Collection;
use tailwater_setalgebra::prepared::TEXT;

/// Words of the stop list: the default of the service.
const STOP: usize = 50;
/// Decides the documents.
const SEED: u64 = 1;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let short = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--short"] => true,
        _ => {
            eprintln!("setalgebra: found {args:?}; it takes --short or nothing");
            return ExitCode::FAILURE;
        }
    };
    match measure(short) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("setalgebra: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(short: bool) -> Result<(), String> {
    let documents = if short { 20_000 } else { 1_000_000 };
    println!("{documents} generated documents, {STOP} words in the stop list, one shard");
    let glosses = Text { length_median: Text::default().length_median, documents, ..TEXT };
    postings::report(&made(&glosses)?, "as long as glosses")?;
    let collection = made(&Text { documents, ..TEXT })?;
    let shard = postings::report(&collection, "the service's")?;
    intersections::report(&shard, short)?;
    queries::report(&collection, &shard, short)
}

fn made(text: &Text) -> Result<Collection, String> {
    Collection::generated(text, SEED, &|_| Ok(()))
}
