//! The experiment: every peer in every case, interleaved, several times.

use crate::certificates::{Certificates, Folder};
use crate::host;
use crate::load::{self, Times};
use crate::peer::{CASES, Case, Peer};
use crate::run::Run;
use crate::server::Server;
use crate::table;
use std::time::Duration;

/// What to measure, and how long.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct CompareArgs {
    /// Seconds: shows only that everything works.
    #[arg(long)]
    short: bool,
    /// Repetitions of every run.
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Every run as JSON, discarded ones included.
    #[arg(long)]
    json: bool,
}

/// The server's core, and the generator's.
const CORES: [usize; 2] = [0, 1];
/// Others may use at most this share of a core in a run that counts.
const FOREIGN_MAX: f64 = 0.08;
/// A run that was disturbed is repeated so often.
const AGAIN_MAX: usize = 2;

pub(crate) fn main(args: &CompareArgs) -> Result<(), String> {
    host::pin(CORES[1])?;
    let certificates = Certificates::new()?;
    let folder = Folder::with(&certificates)?;
    let mut runs = Vec::new();
    let repetitions = if args.short { 1 } else { args.repetitions };
    for repetition in 0..repetitions {
        for case in CASES {
            for turn in 0..Peer::ALL.len() {
                // Each comes after each other one.
                let peer = Peer::ALL[(repetition + turn) % Peer::ALL.len()];
                let measure = || measure(peer, case, &certificates, &folder, args.short);
                runs.extend(undisturbed(repetition, measure)?);
            }
        }
    }
    if args.json {
        let text = serde_json::to_string_pretty(&runs).map_err(|error| error.to_string())?;
        println!("{text}");
    } else {
        print!("{}", table::of(&runs));
    }
    all_counted(&runs)
}

/// A table with holes is no result.
fn all_counted(runs: &[Run]) -> Result<(), String> {
    let counts =
        |case, peer| runs.iter().any(|run| run.case == case && run.peer == peer && !run.disturbed);
    if CASES.into_iter().all(|case| Peer::ALL.into_iter().all(|peer| counts(case, peer))) {
        return Ok(());
    }
    Err("a peer lost all its runs in a case; run it again on an idle machine".into())
}

/// One run, and those before it that did not count.
fn undisturbed(
    repetition: usize,
    measure: impl Fn() -> Result<Run, String>,
) -> Result<Vec<Run>, String> {
    let mut runs = Vec::new();
    for _ in 0..=AGAIN_MAX {
        let run = Run { repetition, ..measure()? };
        runs.push(run);
        if !run.disturbed {
            break;
        }
    }
    Ok(runs)
}

fn measure(
    peer: Peer,
    case: Case,
    certificates: &Certificates,
    folder: &Folder,
    short: bool,
) -> Result<Run, String> {
    let ms = Duration::from_millis;
    let times = if short {
        Times { warmup: ms(20), window: ms(100) }
    } else {
        Times { warmup: ms(300), window: ms(2_000) }
    };
    let server = Server::start(peer, CORES[0], folder.path())?;
    let outcome = load::run(peer, case, &server, certificates, times)
        .map_err(|error| format!("{} {}: {error}", case.name, peer.name()))?;
    let foreign = outcome.foreign_cpu_ns as f64 / outcome.window_ns as f64;
    // A short run is not judged: its numbers mean nothing.
    Ok(Run { repetition: 0, case, peer, outcome, disturbed: !short && foreign > FOREIGN_MAX })
}
