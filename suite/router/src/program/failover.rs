//! `tailwater-router-failover`: what a memcached's death costs the clients of a router.

#![forbid(unsafe_code)]

use clap::Parser;
use indicatif::ProgressBar;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tailwater_program::interrupt::Interrupt;
use tailwater_program::stages::played;
use tailwater_program::{concluded, print};
use tailwater_router::failover::curve::Bin;
use tailwater_router::failover::recovery::Recovery;
use tailwater_router::failover::{Asks, Found, Plan, measure};

/// Kills memcacheds behind a router amid load, and draws how long answers take around the deaths.
///
/// It starts memcacheds and a router on this machine, asks at a rate, kills one node after the other, and starts each again.
/// Every answer is checked: a get must have the value that was acknowledged last, or one that was written since. Answers of
/// all deaths are looked at together, dated from when their requests were due.
///
/// Beside each death, in an order by chance, is a round in which nothing dies. What counts is the 99th percentile from 50 ms on over
/// that of these rounds, with an interval of 95 %: it is back where the interval ends below 1.1. The bins tell where it was worse. An
/// error counts as slower than every answer.
#[derive(Parser, Debug)]
#[command(name = "tailwater-router-failover", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    /// How often a node dies
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = at_least_one(10_000))]
    deaths: u64,

    /// How many memcacheds there are
    #[arg(long, default_value_t = 3, value_name = "COUNT", value_parser = at_least_one(64))]
    nodes: u64,

    /// How many of them hold each key
    #[arg(long, default_value_t = 3, value_name = "COUNT", value_parser = at_least_one(8))]
    replicas: u64,

    /// Requests per second, with exponential gaps
    #[arg(long, default_value_t = 5_000, value_name = "RATE", value_parser = at_least_one(1_000_000))]
    rate: u64,

    /// Of a hundred requests, so many are sets
    #[arg(long, default_value_t = 10, value_name = "PERCENT",
          value_parser = clap::value_parser!(u32).range(0..=100))]
    sets: u32,

    /// Keys, asked for alike
    #[arg(long, default_value_t = 2_000, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    keys: u32,

    /// Connections of the load
    #[arg(long, default_value_t = 16, value_name = "COUNT", value_parser = at_least_one(1_000))]
    connections: u64,

    /// What is looked at before each death, in milliseconds
    #[arg(long, default_value_t = 500, value_name = "MS", value_parser = at_least_one(60_000))]
    before: u64,

    /// What is looked at after it, in milliseconds
    #[arg(long, default_value_t = 500, value_name = "MS", value_parser = at_least_one(60_000))]
    after: u64,

    /// Milliseconds of a bin
    #[arg(long, default_value_t = 10, value_name = "MS", value_parser = at_least_one(1_000))]
    bin: u64,

    /// Stop nodes (SIGSTOP) instead of killing them: their sockets stay, and they answer nothing
    #[arg(long)]
    hang: bool,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,

    /// The memcached that is started
    #[arg(long, default_value = "memcached", value_name = "PROGRAM")]
    memcached: PathBuf,

    /// Decides when, by which connection and for which keys is asked
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,

    /// Further arguments of tailwater-router, which lies beside this program
    #[arg(last = true, value_name = "ARGUMENT")]
    router: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  cargo build --release -p tailwater-router
  target/release/tailwater-router-failover
  target/release/tailwater-router-failover --deaths 100 --json > deaths.json
  target/release/tailwater-router-failover --hang -- --timeout 40 --hedge p95

Exit codes: 0 all answers were right, 2 one was wrong, it could not be measured, or a signal ended it: what was measured by then \
is printed. A second signal ends it at once, with 128 and its number. All that it has started ends with it, after SIGKILL too.";

fn at_least_one(most: u64) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=most)
}

fn main() -> ExitCode {
    let done = match played() {
        Some(done) => done.map_err(|failure| failure.to_string()),
        None => run(&Arguments::parse()),
    };
    concluded("tailwater-router-failover", done)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let interrupt = Interrupt::watch().map_err(|failure| failure.to_string())?;
    let is_over = || interrupt.signal().is_some();
    let bar = ProgressBar::new(arguments.deaths);
    let found = measure(&plan(arguments)?, |deaths| bar.set_position(deaths as u64), &is_over)?;
    bar.finish_and_clear();
    if arguments.json {
        print(&serde_json::to_string_pretty(&found).map_err(|error| error.to_string())?)?;
    } else {
        table(&found)?;
    }
    match (found.wrong.first(), arguments.deaths) {
        (Some(first), _) => {
            Err(format!("{} answers were wrong; the first: {first}", found.wrong.len()))
        }
        (None, asked) if (found.deaths as u64) < asked => {
            Err(format!("a signal ended it after {} of {asked} deaths", found.deaths))
        }
        (None, _) => Ok(()),
    }
}

fn plan(arguments: &Arguments) -> Result<Plan, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program's path: {error}"))?;
    let mut told = vec!["--replicas".to_owned(), arguments.replicas.to_string()];
    told.extend_from_slice(&arguments.router);
    Ok(Plan {
        memcached: arguments.memcached.clone(),
        router: own.with_file_name("tailwater-router"),
        own,
        arguments: told,
        nodes: arguments.nodes as usize,
        asks: Asks {
            connections: arguments.connections as usize,
            keys: arguments.keys,
            sets_percent: arguments.sets,
            per_second: arguments.rate as f64,
            seed: arguments.seed,
        },
        deaths: arguments.deaths as usize,
        hangs: arguments.hang,
        before: Duration::from_millis(arguments.before),
        after: Duration::from_millis(arguments.after),
        bin_ms: arguments.bin as i64,
    })
}

fn table(found: &Found) -> Result<(), String> {
    let us = |us: Option<f64>| us.map_or("failed".into(), |us| format!("{us:.0} us"));
    let highest = found.curve.bins.iter().filter_map(|bin| bin.p99_us).fold(0.0, f64::max);
    print("      ms  requests  failed         p50         p99")?;
    for bin in &found.curve.bins {
        let Bin { from_ms, requests, failed, p50_us, p99_us } = bin;
        let (p50, p99) = match requests {
            0 => ("-".into(), "-".into()),
            _ => (us(*p50_us), us(*p99_us)),
        };
        let length = p99_us.map_or(BAR, |p99| (p99 / highest * BAR as f64).ceil() as usize);
        let bar = "#".repeat(if *requests == 0 { 0 } else { length.min(BAR) });
        print(&format!("{from_ms:>8}{requests:>10}{failed:>8}{p50:>12}{p99:>12}  {bar}"))?;
    }
    let [sent, won, over_budget] = &found.hedges;
    print(&format!(
        "{} deaths, {} requests, {} errors, {} wrong answers; requests left {:.0} us late (p99)",
        found.deaths,
        found.requests,
        found.failed,
        found.wrong.len(),
        found.lateness_p99_us
    ))?;
    found.error.iter().try_for_each(|error| print(&format!("the first error: {error}")))?;
    print(&format!(
        "second tries: {sent} sent, {won} answered first, {over_budget} without budget"
    ))?;
    for (what, curve) in [("deaths", &found.curve), ("moments without a death", &found.control)] {
        let worst = us(curve.worst_before_us);
        print(&match curve.back_after_ms {
            Some(ms) => {
                format!("{what}: the last bin above {worst}, the worst before, ends at {ms} ms")
            }
            None => format!("{what}: the last bin of all is above {worst}, the worst before"),
        })?;
    }
    found.recoveries.iter().try_for_each(|it| print(&recovered(it)))
}

/// What a stretch of time after deaths is beside that without them.
fn recovered(found: &Recovery) -> String {
    let Recovery { from_ms, to_ms, p99_us, control_p99_us, ratio, interval } = found;
    let us = |us: &Option<f64>| us.map_or("none".into(), |us| format!("{us:.0} us"));
    let (p99, control) = (us(p99_us), us(control_p99_us));
    let ratio = match (ratio, interval) {
        (Some(ratio), Some([low, high])) => format!("{ratio:.2} x ({low:.2} to {high:.2})"),
        (Some(ratio), None) => format!("{ratio:.2} x (no interval: some draws have failures)"),
        (None, _) => "no ratio: too many failures, or too few requests".into(),
    };
    format!("from {from_ms} to {to_ms} ms: p99 {p99}, without a death {control}: {ratio}")
}

/// Characters of the longest bar.
const BAR: usize = 40;
