//! What `tailwater run` is asked for.

use crate::data_folder::DataFolder;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tailwater_experiment::Shard;
use tailwater_report::Look;
use tailwater_workload::limits::REPETITIONS_MAX;

#[derive(Args, Debug)]
pub(crate) struct RunOptions {
    /// The scenario file, such as scenarios/overload.toml; "-" reads standard input.
    pub(crate) file: PathBuf,
    /// Where it runs.
    #[arg(long, value_enum, default_value_t = Driver::Loopback)]
    pub(crate) on: Driver,
    /// Instead of the scenario's seed.
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write JSON, CSV, plots and an HTML page here.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// A short version of the scenario: one repetition, lowest and highest demand, of steps one
    /// cycle. Its numbers prove that it works, and nothing else. Also by TAILWATER_SHORT=1.
    #[arg(long)]
    pub(crate) short: bool,
    /// Instead of the scenario's number of repetitions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=REPETITIONS_MAX as i64))]
    pub(crate) repetitions: Option<u32>,
    /// Simulations at a time; left out: one for each core. The same comes out whatever it is.
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_024))]
    pub(crate) threads: Option<usize>,
    /// One part of the simulations, for machines that share them: I from 0 of N. `tailwater merge` puts the parts
    /// together again.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    #[command(flatten)]
    pub(crate) pictures: PictureOptions,
}

impl RunOptions {
    /// A file over sockets, and all else as it is when no flag says otherwise.
    pub(crate) fn on_loopback(file: PathBuf) -> Self {
        Self {
            file,
            on: Driver::Loopback,
            seed: None,
            json: false,
            out: None,
            short: false,
            repetitions: None,
            threads: None,
            shard: None,
            data: DataFolder::default(),
            pictures: PictureOptions::default(),
        }
    }
}

/// How pictures are drawn.
#[derive(Args, Debug, Default)]
pub(crate) struct PictureOptions {
    /// Draw the SVG files without title and subtitle, for papers, whose captions say the same. The page has both.
    #[arg(long, requires = "out")]
    pub(crate) untitled: bool,
}

impl PictureOptions {
    pub(crate) const fn look(&self) -> Look {
        if self.untitled { Look::BARE } else { Look::WHOLE }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Driver {
    /// Real sockets: server and load in processes of their own, pinned as the scenario says.
    Loopback,
    /// Virtual time.
    Sim,
}
