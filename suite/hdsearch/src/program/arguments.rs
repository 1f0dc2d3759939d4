//! What may be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use tailwater_hdsearch::vectors::{DIMENSIONS_MAX, POINTS_MAX, QUERIES_MAX};

/// Tries the indexes of HDSearch, a service of the suite that finds nearest neighbours (docs/hdsearch.md).
#[derive(Parser)]
#[command(name = "tailwater-hdsearch", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Measures hashing (LSH) and clustering (IVF) with many settings: recall, cosine, candidates, latency.
    ///
    /// Four leaves and a mid-tier serve on this machine, each a thread. Every query is asked one at a time, and
    /// every answer is compared, bit by bit, with the nearest of its candidates.
    Frontier(FrontierArguments),
    /// Measures how hard a set is to search: its intrinsic dimension, and its relative contrast.
    Shape(SetArguments),
}

/// Which points and queries.
#[derive(Args)]
pub(crate) struct SetArguments {
    /// What the vectors are: 'words' (generated, like GloVe's), 'images' (generated, like a network's last
    /// layer), or the path of a text of GloVe.
    #[arg(long, value_name = "VECTORS", default_value = "words")]
    pub(crate) vectors: String,

    /// How many points; of a text, the first so many [default: words 400000, images 50000, text all].
    #[arg(long, value_name = "NUMBER", value_parser = bounded(1, POINTS_MAX))]
    pub(crate) points: Option<u64>,

    /// Of generated vectors [default: words 50, images 2048].
    #[arg(long, value_name = "NUMBER", value_parser = bounded(1, DIMENSIONS_MAX))]
    pub(crate) dimensions: Option<u64>,

    /// How many queries; none of them is a point.
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = bounded(1, QUERIES_MAX))]
    pub(crate) queries: u64,

    /// Decides generated vectors, planes and first centres.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct FrontierArguments {
    #[command(flatten)]
    pub(crate) set: SetArguments,

    /// Which indexes.
    #[arg(long, value_enum, default_value_t = Which::Both)]
    pub(crate) index: Which,

    /// Points lie on so many leaves.
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) leaves: u32,

    /// Neighbours wanted; recall is measured of the first ten.
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) neighbours: u16,

    /// Leaves out settings whose candidates are more than this share of the points.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) share_max: f64,

    /// What else a reader of the result must know, such as that other programs used the machine; more than one may be said.
    #[arg(long = "remark", value_name = "TEXT")]
    pub(crate) remarks: Vec<String>,

    /// Writes the result there, too, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    Lsh,
    Ivf,
    Both,
}

fn bounded(least: u64, most: usize) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(least..=most as u64)
}

const EXAMPLES: &str = "Examples:
  tailwater-hdsearch shape --points 100000
  tailwater-hdsearch frontier --points 20000 --queries 200
  tailwater-hdsearch frontier --vectors images --index ivf
  tailwater-hdsearch frontier --vectors glove.6B.50d.txt --out frontier.json

Exit codes: 0 done, 2 the arguments, the text or an answer is wrong.";
