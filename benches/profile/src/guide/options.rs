//! What each option of a recording costs: a server in a closed loop on all cores, plain and recorded in several ways, by turns.

use super::Tried;
use super::recorded::one;
use super::result::Reading;
use crate::Result;
use clap::Args;
use machine::Machine;
use serde::Serialize;
use tailwater_stats::result::Spread;

/// Each way of recording, and what it adds to the options of all. The first is without any.
const WAYS: [(&str, &[&str]); 5] = [
    ("no more", &[]),
    ("--holds", &["--holds"]),
    ("--lines", &["--lines"]),
    ("--kernel", &["--kernel"]),
    ("all three", &["--holds", "--lines", "--kernel"]),
];

#[derive(Args, Debug)]
pub(crate) struct OptionsArgs {
    #[command(flatten)]
    of: Tried,
    /// Each of one run that is not recorded, and one of each way of recording.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How long each run counts.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

#[derive(Debug, Serialize)]
struct Costs {
    title: String,
    machine: Machine,
    started_unix: u64,
    seconds: u64,
    /// What each way of recording adds.
    ways: Vec<&'static str>,
    rounds: Vec<Round>,
}

#[derive(Debug, Serialize)]
struct Round {
    plain: Reading,
    /// In the order of the ways.
    recorded: Vec<Reading>,
}

/// Measures the rounds, each beginning with another run, and writes them.
pub(crate) fn options(args: &OptionsArgs) -> Result {
    let service = args.of.server()?;
    let started_unix = machine::result::now_unix();
    let mut rounds = Vec::new();
    for number in 0..args.rounds {
        let mut readings = [Reading::default(); WAYS.len() + 1];
        for at in order(number) {
            let way = at.checked_sub(1).map(|way| WAYS[way]);
            let added: Option<Vec<&str>> = way.map(|(_, added)| added.to_vec());
            readings[at] = one(service, &args.of, args.seconds, added.as_deref())?;
            println!("{}: {}", way.map_or("plain", |(name, _)| name), readings[at].line());
        }
        let [plain, recorded @ ..] = readings;
        rounds.push(Round { plain, recorded: recorded.to_vec() });
    }
    let ways = WAYS.map(|(name, _)| name).to_vec();
    for (way, name) in ways.iter().enumerate() {
        let base = |round: &Round| round.recorded[way].p999_us / round.plain.p999_us;
        let Spread { min, median, max } = Spread::of(&rounds.iter().map(base).collect::<Vec<_>>());
        println!("{name}: p99.9 × {median:.2} [{min:.2}–{max:.2}] while recorded");
    }
    let (title, machine) = (args.of.trial.title.clone(), Machine::here());
    let seconds = args.seconds;
    let costs = Costs { title, machine, started_unix, seconds, ways, rounds };
    machine::result::write(&args.of.trial.out, &costs)
}

/// The runs of a round. Each has another neighbour before it in the next, so that none always follows the same.
fn order(round: usize) -> impl Iterator<Item = usize> {
    let count = WAYS.len() + 1;
    let turned = (0..count).map(move |at| (at + round) % count);
    let mut runs: Vec<usize> = turned.collect();
    if round % 2 == 1 {
        runs.reverse();
    }
    runs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_each_run_once_and_begins_with_another() {
        let rounds: Vec<Vec<usize>> =
            (0..WAYS.len() + 1).map(|round| order(round).collect()).collect();
        for round in &rounds {
            let mut runs = round.clone();
            runs.sort_unstable();
            assert_eq!(runs, (0..=WAYS.len()).collect::<Vec<_>>());
        }
        assert_ne!(rounds[0][0], rounds[2][0]);
        assert_eq!((rounds[0][0], rounds[0][1]), (0, 1));
        assert_eq!(rounds[1].last(), Some(&1), "backwards");
    }
}
