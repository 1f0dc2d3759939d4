//! The models that are tried.

use std::thread::available_parallelism;
use tailwater::Model;
use tailwater_core::Rng;

/// Most workers, and most threads for calls.
pub(crate) const POOL: usize = 4;

/// One of each kind: the thesis' eight, those with threads for calls, and those that look before they sleep.
pub(crate) const KINDS: [&str; 17] = [
    "sib",
    "sip",
    "sdb:1",
    "sdp:1",
    "aib",
    "aip",
    "adb:1",
    "adp:1",
    "aib+1",
    "adb:1+1",
    "sib+2",
    "sip+2",
    "sdb:1+2",
    "sdb:4+4",
    "sib@spin:20us",
    "aib@spin:20us",
    "adb:1@spin:20us",
];

/// A kind by its name.
pub(crate) fn model(word: &str) -> Model {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// Every model with pools of 1 to [`POOL`] threads that leaves a core to others.
pub(crate) fn all() -> Vec<Model> {
    let cores = available_parallelism().map_or(1, usize::from);
    let letters = ["sib", "sip", "sdb", "sdp", "aib", "aip", "adb", "adp"];
    let mut found = Vec::new();
    for letters in letters {
        let workers = if letters.contains('d') { 1..=POOL } else { 0..=0 };
        for workers in workers {
            for crew in 0..=POOL {
                let workers = if workers == 0 { String::new() } else { format!(":{workers}") };
                let calls = if crew == 0 { String::new() } else { format!("+{crew}") };
                let polls = usize::from(letters.ends_with('p'));
                // Threads of fork and join are parked, responders poll where the loop does.
                let polling = polls * (1 + if letters.starts_with('a') { crew } else { 0 });
                if polling < cores {
                    found.push(model(&format!("{letters}{workers}{calls}")));
                }
                if polls == 0 {
                    found.push(model(&format!("{letters}{workers}{calls}@spin:20us")));
                }
            }
        }
    }
    found
}

/// One of them.
pub(crate) fn draw(rng: &mut Rng, models: &[Model]) -> Model {
    models[rng.below(models.len() as u32) as usize]
}
