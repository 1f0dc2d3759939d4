//! `neighbours`: HDSearch's indexes beside hnsw_rs, on the same points and queries, in one thread and without sockets.
//!
//! Recall is against the true nearest of all points. An answer of ours must besides be the one that plain code finds; one
//! of hnsw_rs must have points of the set at their distances, in order. `--write DIR` writes the vectors for `faiss_peer.py`,
//! and keeps the graph there. `--out FILE` writes all lines and what they were taken on, and `faiss_peer.py` adds its own.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod arguments;
mod graph;
mod ours;
mod peer;
mod result;
mod write;

use arguments::Arguments;
use machine::Origin;
use serde::Serialize;
use std::process::ExitCode;
use tailwater_hdsearch::nearest::Found;
use tailwater_hdsearch::questions::truth;
use tailwater_hdsearch::vectors::{Set, Wanted};

/// How many neighbours are wanted.
const NEIGHBOURS: usize = 10;

/// Decides generated vectors, planes and first centres.
const SEED: u64 = 1;

/// A line of the table.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) index: &'static str,
    pub(crate) settings: String,
    pub(crate) recall_10: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// The set, and what is true of it.
pub(crate) struct Known {
    pub(crate) about: String,
    pub(crate) set: Set,
    pub(crate) truth: Vec<Vec<Found>>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("neighbours: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let arguments = Arguments::read(typed.iter().cloned())?;
    if let Some(path) = &arguments.out {
        machine::result::refuse_unwritable(path)?;
    }
    let origin = Origin::now();
    let Ok(source) = arguments.vectors.parse();
    let wanted = Wanted {
        source,
        points: arguments.points,
        dimensions: None,
        queries: arguments.queries,
        seed: SEED,
    };
    let set = wanted.make(&|_, _, _| Ok(()))?;
    let truth = truth(&set, NEIGHBOURS, |_| Ok::<_, String>(()))?;
    let about = format!("{}, {}", wanted.about(&set), wanted.from());
    println!("{about}, {} queries for {NEIGHBOURS}\n", truth.len());
    let known = Known { about, set, truth };
    if let Some(folder) = &arguments.write {
        write::all(&known, folder)?;
    }
    // The graph first: it is kept, and the next run finds it, wherever this one is ended.
    let peer = peer::rows(&known, arguments.write.as_deref())?;
    let mut rows = ours::rows(&known)?;
    rows.extend(peer);
    println!("| index | settings | recall@10 | p50, µs | p99, µs |\n|---|---|---|---|---|");
    for Row { index, settings, recall_10, p50_us, p99_us } in &rows {
        println!("| {index} | {settings} | {recall_10:.3} | {p50_us:.0} | {p99_us:.0} |");
    }
    match &arguments.out {
        Some(path) => result::write(path, (origin, &typed), &known, &rows),
        None => Ok(()),
    }
}
