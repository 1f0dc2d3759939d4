//! What `report` says of a recording that is there, for the page that sets it beside the figures of LDB's paper
//! (`docs/figures-ldb.md`).

use super::answers;
use super::result::Said;
use crate::Result;
use crate::trial::Trial;
use clap::Args;
use machine::Origin;
use serde::Serialize;

/// In the folder of the trial (`examples/profiling/memcached.sh`).
const TRACE: &str = "trace";
/// The columns of LDB's Figs. 7 to 9, and what was waited for. Of functions with fewer calls a p99.99 says nothing.
const QUESTIONS: &[&[&str]] = &[
    &["report", "--min-count", "100", "--limit", "8"],
    &["report", "--locks", "--by-line", "--min-count", "100", "--limit", "5"],
];

#[derive(Args, Debug)]
pub(crate) struct TailsArgs {
    #[command(flatten)]
    trial: Trial,
    /// How long the load lasted.
    #[arg(long)]
    seconds: u64,
}

/// A block of `said` is drawn as one of the guide's.
#[derive(Debug, Serialize)]
struct Tails {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    seconds: u64,
    said: Vec<Said>,
}

/// Asks, and writes the answers.
pub(crate) fn tails(args: &TailsArgs) -> Result {
    let TailsArgs { trial, seconds } = args;
    let said = answers(&trial.program, &trial.folder.join(TRACE), QUESTIONS)?;
    let tails =
        Tails { title: trial.title.clone(), origin: Origin::now(), seconds: *seconds, said };
    machine::result::write(&trial.out, &tails)?;
    println!("{}: {} blocks in {}", tails.title, tails.said.len(), trial.out.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_what_pages_draw() {
        let said = vec![Said { typed: "tailwater".to_owned(), output: "a table".to_owned() }];
        let tails = Tails { title: "x".to_owned(), origin: Origin::default(), seconds: 10, said };
        let json = serde_json::to_value(&tails).expect("texts and numbers");
        assert_eq!(json["said"][0]["typed"], "tailwater");
        assert_eq!(json["said"][0]["output"], "a table");
    }
}
