//! `tailwater tune`: knobs of the machine and of programs, and sound tests of what they bring (µSKU).
//!
//! Each verb has a module of its name. `machine` turns knobs that are files and puts them back; a `dial` is a knob of a
//! comparison, a `target` what is measured, and the `bench` measures blocks with the one and the other.

mod machine;
mod dial;
mod targets;
mod noise;
mod bench;

mod knobs;
mod plan;
mod ab;
mod sku;
mod undo;
mod exec;
mod drive;

pub(crate) use noise::Steal;

use crate::failure::{Failure, complain as tell};
use crate::values;
use clap::Subcommand;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum TuneVerb {
    /// List the knobs that can be turned here: value now, what is allowed, what it needs, and why some cannot.
    Knobs(knobs::KnobsOptions),
    /// Print what ab would do with these options, each write included, without doing any of it.
    Plan(ab::AbOptions),
    /// Compare two values of a knob by blocks of a scenario or a command, in an order that a coin decides.
    ///
    /// A pilot without a difference says first what can be found. The test may be stopped at any time. Knobs are put back
    /// at the end, and after a signal or a crash; docs/knobs.md explains all of it.
    Ab(ab::AbOptions),
    /// Find the setting of several knobs that suits a service (its soft SKU): screen, test, compose, confirm.
    ///
    /// The file names the knobs with the values to try, and what is measured; docs/knobs.md lists its keys.
    Sku(sku::SkuOptions),
    /// Put back what a tune that was killed has left turned. The next tune does the same.
    Undo(undo::UndoOptions),
    /// Start a program with knobs of its process set, such as what ab has found to be better.
    Exec(exec::ExecOptions),
    /// Measure one block of memcached or redis: start it afresh, load it in its own protocol, compare every answer, print
    /// JSON.
    Drive(drive::DriveOptions),
}

pub(crate) fn tune(verb: &TuneVerb) -> Result<(), Failure> {
    match verb {
        TuneVerb::Knobs(options) => knobs::knobs(options),
        TuneVerb::Plan(options) => ab::dry(options),
        TuneVerb::Ab(options) => ab::ab(options),
        TuneVerb::Sku(options) => sku::sku(options),
        TuneVerb::Undo(options) => undo::undo(options),
        TuneVerb::Exec(options) => exec::exec(options),
        TuneVerb::Drive(options) => drive::drive(options),
    }
}

/// The word for a seed that nobody chose.
const FRESH: &str = "fresh";

fn seed(text: &str) -> Result<u64, String> {
    match text {
        FRESH => Ok(fresh_seed()),
        _ => text
            .parse()
            .map_err(|_| format!("a whole number from 0 to 2⁶⁴ − 1, or {FRESH}, is needed")),
    }
}

/// From the keys that the system draws for hash tables; 32 bits, to be typed again.
fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish() & u64::from(u32::MAX)
}

/// A share such as 5% or 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let share = values::share(text).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("'{text}' found, a share from 0% to 100% is needed, as 1%"))
}
