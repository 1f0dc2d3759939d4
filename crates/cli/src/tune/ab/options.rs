//! The flags of a comparison, and the rules that they come to.

use super::super::targets::{Target, TargetOptions};
use super::super::{FRESH, noise, percent, seed};
use crate::failure::Failure;
use crate::values::duration;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use tailwater_stats::anytime::Level;
use tailwater_tune::ab::ComparisonRules;

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct AbOptions {
    /// A knob and the value that is tried; may be repeated, for several at a time. tailwater tune knobs lists them.
    #[arg(long = "knob", value_name = "NAME=VALUE", required = true, value_parser = pair)]
    pub(super) knobs: Vec<(String, String)>,
    /// The value that it is compared with, one for each --knob in the same order. Left out: the value that it has now.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(super) against: Vec<String>,
    #[command(flatten)]
    pub(super) target: TargetOptions,
    /// The effect that matters: the test is sized for it, and the pilot must find that it can be seen. A smaller difference
    /// may be found, too.
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub(super) effect: f64,
    /// How often the test may find a difference that is none, over all of its looks.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub(super) level: f64,
    /// Quads of the pilot, in which both arms are the same.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(4..=1_000))]
    pub(super) pilot: u32,
    /// Quads of the test at most, of four blocks each.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(4..=i64::from(QUADS_MAX)))]
    pub(super) quads: u32,
    /// The longest that all of it may take; no quad is begun that would not fit.
    #[arg(long, value_name = "TIME", default_value = "60min", value_parser = duration)]
    pub(super) time: Duration,
    /// Go on though the pilot says that the effect that matters would hardly be found.
    #[arg(long)]
    pub(super) accept_weak: bool,
    /// The share of the cores' time that the hypervisor may take from a block, before its quad is set aside.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = percent)]
    pub(super) steal_max: f64,
    /// Decides the order of blocks and their seeds; fresh: others in each test, so that no two tests fall into step
    /// with what else the machine does.
    #[arg(long, value_name = "SEED", default_value = FRESH, value_parser = seed)]
    pub(super) seed: u64,
    /// The folder below which /sys, /proc and /run lie.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(super) root: PathBuf,
    /// Print what would be done, each write included, and do nothing; as tailwater tune plan.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Write JSON, the curve of evidence and an HTML page here.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

/// Quads of one test.
pub(in crate::tune) const QUADS_MAX: u32 = 10_000;

const HELP: &str = "Examples: tailwater tune ab --knob thp=always --scenario scenarios/mine.toml; tailwater tune ab --knob \
    malloc-arenas=1 --metric /p99_us -- ./measure.sh; tailwater tune ab --knob threads=4 --against 2 -- ./server-bench -t {threads}";

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let (name, value) = pair.ok_or_else(|| format!("'{text}' found, NAME=VALUE is needed"))?;
    Ok((name.into(), value.into()))
}

/// Of the flags, for this target.
pub(super) fn rules(options: &AbOptions, target: &Target) -> Result<ComparisonRules, Failure> {
    if options.effect <= 0.0 {
        return Err(Failure::usage("--effect is 0%; an effect above that is needed, as 1%"));
    }
    Ok(ComparisonRules {
        better: target.better(),
        level: Level::new(options.level).map_err(Failure::usage)?,
        effect: options.effect.ln_1p(),
        quads_max: options.quads,
        has_losses_measured: false,
        guards: target.guards(),
        noise: vec![noise::rule(options.steal_max)],
    })
}
