//! What each option of a recording costs: a server in a closed loop on all cores, plain and recorded in several ways, by turns.

use super::Tried;
use super::recorded::{TRACE, one};
use super::result::Reading;
use crate::Result;
use clap::Args;
use machine::Origin;
use serde::Serialize;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use tailwater_profile::record::{LossKind, Record};
use tailwater_profile::trace::Reader;
use tailwater_stats::result::Spread;

/// Each way of recording, and what it adds to the options of all. The first is without any.
const WAYS: [(&str, &[&str]); 5] = [
    ("no more", &[]),
    ("--holds", &["--holds"]),
    ("--lines", &["--lines"]),
    ("--kernel", &["--kernel"]),
    ("all three", &["--holds", "--lines", "--kernel"]),
];

/// One that nobody records, and one of each way.
const RUNS: usize = WAYS.len() + 1;
/// The order of the first round.
const FIRST: [usize; RUNS] = [0, 1, 5, 2, 4, 3];

#[derive(Args, Debug)]
pub(crate) struct OptionsArgs {
    #[command(flatten)]
    of: Tried,
    /// Each of one run that is not recorded, and one of each way of recording. In six, or a multiple, each follows every other equally often.
    #[arg(long, default_value_t = RUNS)]
    rounds: usize,
    /// How long each run counts.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

#[derive(Debug, Serialize)]
struct Costs {
    title: String,
    #[serde(flatten)]
    origin: Origin,
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
    /// Events of the kernel that the same runs lost; nothing where none were asked for.
    lost_events: Vec<Option<u64>>,
}

/// Measures the rounds, each beginning with another run, and writes them.
pub(crate) fn options(args: &OptionsArgs) -> Result {
    let service = args.of.server()?;
    let origin = Origin::now();
    let mut rounds = Vec::new();
    for number in 0..args.rounds {
        let mut readings = [Reading::default(); RUNS];
        let mut lost_events = vec![None; WAYS.len()];
        for at in order(number) {
            let way = at.checked_sub(1);
            let added = way.map(|way| WAYS[way].1);
            let run = (service, &args.of, &*args.of.trial.program);
            readings[at] = one(run, args.seconds, added)?;
            if let (Some(way), Some(added)) = (way, added)
                && added.contains(&"--kernel")
            {
                let file = args.of.trial.folder.join(format!("{TRACE}.kernel"));
                lost_events[way] = Some(lost(&file)?);
            }
            println!("{}: {}", way.map_or("plain", |way| WAYS[way].0), readings[at].line());
        }
        let [plain, recorded @ ..] = readings;
        rounds.push(Round { plain, recorded: recorded.to_vec(), lost_events });
    }
    let ways = WAYS.map(|(name, _)| name).to_vec();
    for (way, name) in ways.iter().enumerate() {
        let base = |round: &Round| round.recorded[way].p999_us / round.plain.p999_us;
        let Spread { min, median, max } = Spread::of(&rounds.iter().map(base).collect::<Vec<_>>());
        println!("{name}: p99.9 × {median:.2} [{min:.2}–{max:.2}] while recorded");
    }
    let title = args.of.trial.title.clone();
    let seconds = args.seconds;
    let costs = Costs { title, origin, seconds, ways, rounds };
    machine::result::write(&args.of.trial.out, &costs)
}

/// Events of the kernel that a recording lacks, as its file says.
fn lost(path: &Path) -> Result<u64> {
    let named = |error: &dyn std::fmt::Display| {
        format!("{}: the kernel's events were not recorded: {error}", path.display())
    };
    let file = File::open(path).map_err(|error| named(&error))?;
    let reader = Reader::new(BufReader::new(file)).map_err(|error| named(&error))?;
    let lost = reader.filter_map(|item| match item {
        Ok(Record::Loss(loss)) if loss.kind == LossKind::Events => Some(loss.count),
        _ => None,
    });
    Ok(lost.sum())
}

/// The runs of a round: a square of Williams. In as many rounds each run has every place once, and follows every other once.
fn order(round: usize) -> [usize; RUNS] {
    FIRST.map(|run| (run + round) % RUNS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_run_has_every_place_once_and_follows_every_other_once() {
        let rounds: Vec<[usize; RUNS]> = (0..RUNS).map(order).collect();
        for place in 0..RUNS {
            let there: BTreeSet<usize> = rounds.iter().map(|round| round[place]).collect();
            assert_eq!(there.len(), RUNS, "{place}");
        }
        let follow = rounds.iter().flat_map(|round| round.windows(2));
        let pairs: BTreeSet<(usize, usize)> = follow.map(|pair| (pair[0], pair[1])).collect();
        assert_eq!(pairs.len(), RUNS * (RUNS - 1));
    }
}
