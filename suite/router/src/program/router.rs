//! `tailwater-router`: a proxy for memcached's protocol, until a signal ends it.

#![forbid(unsafe_code)]

use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;
use tailwater_control::retry::HedgeAfter;
use tailwater_router::choice::Choice;
use tailwater_router::hedging;
use tailwater_router::nodes::NodesConfig;
use tailwater_router::placement::Rule;
use tailwater_router::{FrontConfig, Router, StartError};
use tailwater_rt::net::Address;

/// Routes memcached's text protocol to many memcacheds, each key to several of them.
///
/// Stock clients use it as they use one memcached. A get is answered by one replica of its key, a write goes to all
/// of them; when a memcached dies, its gets go to the others. One that comes back forgets the keys that were written
/// meanwhile before it is asked again, so that no old value is answered.
///
/// Which writes a memcached has missed is known to the running router alone. A router that is started anew takes the
/// memcacheds to agree; where they may not, start it with --empty-at-start.
///
/// Not there are gat, the meta commands, the binary protocol, UDP, and authentication: anybody who reaches the port
/// may read and write, so it listens on this machine only unless told otherwise.
#[derive(Parser, Debug)]
#[command(name = "tailwater-router", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    /// The memcacheds: HOST:PORT or unix:/path, 1 to 256 of them
    #[arg(required = true, value_name = "NODE")]
    nodes: Vec<Address>,

    /// Where to listen; port 0 chooses a free one, which is printed
    #[arg(long, short, default_value = "127.0.0.1:11311", value_name = "HOST:PORT")]
    listen: String,

    /// How many memcacheds hold each key, 1 to 8; with more than one, gets, cas and add are refused
    #[arg(long, short, default_value_t = 1, value_name = "COUNT")]
    replicas: usize,

    /// How a key finds its memcacheds: modulo (as published), jump, rendezvous, ring
    #[arg(long, default_value = "jump", value_name = "RULE",
          value_parser = Rule::ALL.map(|(word, _)| word))]
    placement: String,

    /// Which replica answers a get
    #[arg(long, default_value = "random", value_name = "CHOICE",
          value_parser = Choice::ALL.map(|(word, _)| word))]
    choice: String,

    /// A memcached that takes more milliseconds to connect, or is silent for so long while it owes answers, counts as
    /// lost
    #[arg(long, default_value_t = 1_000, value_name = "MS", value_parser = at_least_one())]
    timeout: u64,

    /// When a get is asked of a second replica, too, since the first is late: off, a quantile of what gets took (p95), or a
    /// delay (500us)
    #[arg(long, default_value = "off", value_name = "WHEN", value_parser = hedge)]
    hedge: Hedge,

    /// Second tries for each hundred gets
    #[arg(long, default_value_t = 5, value_name = "PERCENT",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    hedge_share: u8,

    /// Second tries that may come at once, and all that is saved up
    #[arg(long, default_value_t = 10, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    hedge_burst: u32,

    /// A memcached whose connection broke amid writes may yet carry them out; it is asked again after so many
    /// milliseconds
    #[arg(long, default_value_t = 1_000, value_name = "MS")]
    settle: u64,

    /// Empty each memcached when it is reached first; to be used where one may hold what is old, since it has missed
    /// writes of a router that is no more
    #[arg(long)]
    empty_at_start: bool,

    /// Connections at a time, at most 65,536; further ones are turned away
    #[arg(long, short, default_value_t = 1_024, value_name = "COUNT",
          value_parser = clap::value_parser!(u64).range(1..=65_536))]
    connections: u64,

    /// A connection without a command for so many seconds ends; 0 for never
    #[arg(long, default_value_t = 3_600, value_name = "S")]
    idle: u64,

    /// A peer that moves no byte for so many seconds, amid a command or with answers to take, is cut off
    #[arg(long, default_value_t = 30, value_name = "S", value_parser = at_least_one())]
    patience: u64,

    /// Memory for commands and answers under way of all connections together in MiB, beyond 32 KiB of commands and
    /// 192 KiB of answers for each; as much again for what memcacheds have not taken, beyond 256 KiB for each
    #[arg(long, default_value_t = 64, value_name = "MIB",
          value_parser = clap::value_parser!(u64).range(4..=1 << 20))]
    buffers: u64,

    /// Decides which replicas are chosen by chance
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
}

const EXAMPLES: &str = "Examples:
  memcached -t 1 -p 11212 & memcached -t 1 -p 11213 & memcached -t 1 -p 11214 &
  tailwater-router --replicas 3 127.0.0.1:11212 127.0.0.1:11213 127.0.0.1:11214
  printf 'set a 0 0 1\\r\\nx\\r\\nget a\\r\\nstats\\r\\nquit\\r\\n' | nc 127.0.0.1 11311

Exit codes: 0 ended by a signal, 1 it cannot serve.";

/// A name for it, since the parser takes an option for a flag that may be left out.
type Hedge = Option<HedgeAfter>;

fn hedge(word: &str) -> Result<Hedge, String> {
    hedging::after(word).map_err(|needed| format!("{needed} is needed"))
}

fn at_least_one() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=u64::from(u32::MAX))
}

fn main() -> ExitCode {
    match serve(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "tailwater-router: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let nodes = NodesConfig {
        replicas: arguments.replicas,
        placement: of_word(&Rule::ALL, &arguments.placement),
        choice: of_word(&Choice::ALL, &arguments.choice),
        timeout: Duration::from_millis(arguments.timeout),
        settle: Duration::from_millis(arguments.settle),
        empty_at_start: arguments.empty_at_start,
        hedge: hedging::config(arguments.hedge, arguments.hedge_share, arguments.hedge_burst),
        seed: arguments.seed,
        ..NodesConfig::new(arguments.nodes.clone())
    };
    let front = FrontConfig {
        connections_max: usize::try_from(arguments.connections)?,
        idle_max: (arguments.idle > 0).then(|| Duration::from_secs(arguments.idle)),
        patience: Duration::from_secs(arguments.patience),
        buffers: usize::try_from(arguments.buffers << 20)?,
    };
    let router = Router::start(&nodes, &arguments.listen, front).map_err(|error| match error {
        StartError::Listen(error) => format!("--listen {}: {error}", arguments.listen),
        error => error.to_string(),
    })?;
    writeln!(std::io::stdout(), "listening on {}", router.address())?;
    signals.forever().next();
    drop(router);
    Ok(())
}

fn of_word<T: Copy>(known: &[(&str, T)], word: &str) -> T {
    known.iter().find(|(name, _)| *name == word).expect("the parser knows the words").1
}
