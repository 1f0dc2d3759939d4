//! `mutants`: what the tests of the control laws notice when one operator of a law is changed, by cargo-mutants.
//!
//! `order` says which mutants are tried and which come first, `trial` tries some in a copy of the tree, and `outcome` is
//! what came of them. Each call writes a part below `out/mutants/`; `--merge` adds all parts to the committed result.
//! `moved` says which outcomes are of mutants that there are still. No part of CI.

mod moved;
mod order;
mod outcome;
mod trial;

use crate::Result;
use order::{Mutant, Part};
use outcome::{Outcomes, Run};
use std::path::Path;
use std::time::{Duration, Instant};
use trial::{Bench, Tests};

/// The committed result.
const RESULT: &str = "results/mutants.json";

/// Tried between two looks at the clock. Each such batch is a part of its own of the file that is written.
const BATCH: usize = 20;

const USAGE: &str = "type `cargo xtask mutants [--rest] [--seed S] [--sample N | --shard I/N] [--minutes M]`, \
                     `cargo xtask mutants --again` or `cargo xtask mutants --merge`";

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
enum Job {
    /// Try mutants in the order of a seed, until there are no more or so much time is over. The `rest` are those of which the
    /// committed result tells nothing.
    Try { rest: bool, part: Part, seed: u64, within: Option<Duration> },
    /// Try those again that the committed result says have survived.
    Again,
    /// Add all parts to the committed result.
    Merge,
}

/// `cargo xtask mutants …`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    match parse(args)? {
        Job::Try { rest, part, seed, within } => {
            let mut all = order::ordered(order::all(root)?, seed);
            let mut name = part.name(seed);
            if rest {
                all = Outcomes::read(&root.join(RESULT))?.untried(all);
                name = format!("rest-{name}");
            }
            let run = Run::of(root, Some(seed))?;
            try_all(root, &name, (&run, all.len()), &part.of(&all), within)
        }
        Job::Again => {
            let survivors = Outcomes::read(&root.join(RESULT))?.survivors();
            let chosen: Vec<Mutant> =
                order::all(root)?.into_iter().filter(|it| survivors.contains(&it.key())).collect();
            try_all(root, "again", (&Run::of(root, None)?, chosen.len()), &chosen, None)
        }
        Job::Merge => outcome::merge(root, RESULT),
    }
}

/// The quick tests for all first, then every test of the crate for what they have missed. They are chosen `of` so many.
fn try_all(
    root: &Path,
    name: &str,
    (run, of): (&Run, usize),
    chosen: &[Mutant],
    within: Option<Duration>,
) -> Result {
    let (bench, part) = (Bench::new(root, name)?, run.part(name));
    let began = Instant::now();
    let mut outcomes = Outcomes::new(of);
    for batch in chosen.chunks(BATCH) {
        if within.is_some_and(|within| began.elapsed() >= within) {
            break;
        }
        outcomes.add(run, bench.attempt(batch, Tests::Quick)?);
        outcomes.write_part(root, &part)?;
        println!("{name}: {}", outcomes.sentence());
    }
    let missed = outcomes.missed_of(chosen);
    for batch in missed.chunks(BATCH) {
        outcomes.add(run, bench.attempt(batch, Tests::All)?);
        outcomes.write_part(root, &part)?;
        println!("{name}, all tests: {}", outcomes.sentence());
    }
    println!("{}; `cargo xtask mutants --merge` makes the result", outcomes.sentence());
    Ok(())
}

fn parse(args: &[String]) -> Result<Job> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["--again"] => return Ok(Job::Again),
        ["--merge"] => return Ok(Job::Merge),
        _ => {}
    }
    let (mut part, mut seed, mut within) = (Part::All, 1, None);
    let (alone, pairs): (Vec<&str>, Vec<&str>) =
        words.iter().copied().partition(|word| *word == "--rest");
    for pair in pairs.chunks(2) {
        let [flag, value] = pair else {
            return Err(format!("found `{}`; {USAGE}", pair.join(" ")));
        };
        let wrong = || format!("found `{flag} {value}`; {USAGE}");
        match *flag {
            "--seed" => seed = value.parse().map_err(|_| wrong())?,
            "--sample" => part = Part::First(value.parse().map_err(|_| wrong())?),
            "--shard" => part = Part::shard(value).ok_or_else(wrong)?,
            "--minutes" => {
                let minutes: u64 = value.parse().map_err(|_| wrong())?;
                within = Some(Duration::from_secs(60 * minutes));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(Job::Try { rest: !alone.is_empty(), part, seed, within })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Job> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_say_which_and_for_how_long() {
        let all = Job::Try { rest: false, part: Part::All, seed: 1, within: None };
        assert_eq!(parsed(""), Ok(all));
        let within = Some(Duration::from_secs(1_800));
        let some = Job::Try { rest: false, part: Part::First(300), seed: 7, within };
        assert_eq!(parsed("--sample 300 --seed 7 --minutes 30"), Ok(some));
        let shard = Part::Shard { index: 2, count: 8 };
        let rest = |rest| Job::Try { rest, part: shard.clone(), seed: 1, within: None };
        assert_eq!(parsed("--shard 2/8"), Ok(rest(false)));
        assert_eq!(parsed("--rest --shard 2/8"), Ok(rest(true)));
        assert_eq!((parsed("--merge"), parsed("--again")), (Ok(Job::Merge), Ok(Job::Again)));
        for wrong in [
            "--shard 8/8",
            "--shard 2",
            "--sample all",
            "--seed",
            "--again 3",
            "7",
            "--again --rest",
        ] {
            assert!(parsed(wrong).unwrap_err().contains("cargo xtask mutants"), "{wrong}");
        }
    }
}
