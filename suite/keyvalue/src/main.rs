//! `tailwater-keyvalue`: the store behind memcached's protocol, until a signal ends it.

#![forbid(unsafe_code)]

use clap::{Parser, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::error::Error;
use std::io::Write as _;
use std::num::TryFromIntError;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tailwater_keyvalue::locks::{Blocking, Plain, Threads};
use tailwater_keyvalue::memcached::{Front, TcpConfig, TcpServer};
use tailwater_keyvalue::store::{Config, Store};

/// A key-value server that speaks memcached's text protocol.
///
/// Stock clients and tools work against it: get, gets, set, add, replace, append, prepend, cas, delete,
/// incr, decr, touch, stats, flush_all, verbosity, version, quit. Not there are gat, the meta commands,
/// the binary protocol, UDP, and authentication: anybody who reaches the port may read and write, so it
/// listens on this machine only unless told otherwise.
///
/// With --budget, a command that would wait longer than that for locks is answered `SERVER_ERROR busy`
/// at once. `stats locks` names the locks that are waited for.
#[derive(Parser, Debug)]
#[command(name = "tailwater-keyvalue", version, max_term_width = 100)]
struct Arguments {
    /// Where to listen; port 0 chooses a free one, which is printed
    #[arg(long, short, default_value = "127.0.0.1:11211", value_name = "HOST:PORT")]
    listen: String,

    /// Memory for everything in MiB: at least 4; when it is full, the items used least recently go
    #[arg(long, short, default_value_t = 64, value_name = "MIB")]
    memory: usize,

    /// Connections at a time, each a thread and a file descriptor; a further one takes the place of the one
    /// that has been idle longest, for at least 10 s, or is turned away
    #[arg(long, short, default_value_t = 1024, value_name = "COUNT",
          value_parser = at_least_one())]
    connections: u64,

    /// The same for connections from one address; of IPv6, from one /64 network [default: half of them]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one())]
    per_address: Option<u64>,

    /// A connection without a command for so many seconds ends; 0 for never
    #[arg(long, default_value_t = 3600, value_name = "S")]
    idle: u64,

    /// A peer that in so many seconds neither finishes its command, or takes its answers, nor moves 16 KiB of
    /// them, is cut off
    #[arg(long, default_value_t = 30, value_name = "S", value_parser = at_least_one())]
    patience: u64,

    /// Memory for commands and answers under way of all connections together in MiB, beyond 32 KiB of
    /// commands and 128 KiB of answers for each; when it is full, larger ones get SERVER_ERROR
    #[arg(long, default_value_t = 64, value_name = "MIB",
          value_parser = clap::value_parser!(u64).range(4..=1 << 20))]
    buffers: u64,

    /// Bytes of the smallest chunk; near the size of most items wastes least
    #[arg(long, default_value_t = 48, value_name = "BYTES")]
    chunk_min: usize,

    /// Each chunk size is larger by this than the one before, 1.05 to 4
    #[arg(long, short = 'f', default_value_t = 1.25)]
    factor: f64,

    /// Buckets as a power of two [default: by the memory]
    #[arg(long, value_name = "POWER")]
    hash_power: Option<u32>,

    /// Item locks as a power of two, at most the hash power [default: by the buckets, at most 12]
    #[arg(long, value_name = "POWER")]
    lock_power: Option<u32>,

    /// Which locks to use
    #[arg(long, value_enum, default_value_t = LockKind::Budgeted)]
    locks: LockKind,

    /// How long a command may wait for locks, in microseconds; none means for ever
    #[arg(long, value_name = "US")]
    budget: Option<u64>,

    /// Hold the slabs lock longer by so many microseconds, to see what a full lock does
    #[arg(long, default_value_t = 0, value_name = "US")]
    slabs_hold: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LockKind {
    /// tailwater's, which know the budget
    Budgeted,
    /// The standard library's, which do not
    Plain,
}

fn at_least_one() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=u64::from(u32::MAX))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let run = match arguments.locks {
        LockKind::Budgeted => serve::<Threads>(&arguments),
        LockKind::Plain => serve::<Plain>(&arguments),
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "tailwater-keyvalue: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve<L: Blocking>(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let memory =
        arguments.memory.checked_mul(1 << 20).ok_or("--memory: that is more than exists")?;
    let store = Store::<L>::new(Config {
        memory,
        chunk_min: arguments.chunk_min,
        factor: arguments.factor,
        hash_power: arguments.hash_power,
        lock_power: arguments.lock_power,
    })?;
    store.hold_slabs_for(Duration::from_micros(arguments.slabs_hold));
    let front = Front::new(store, arguments.budget.map(Duration::from_micros))
        .with_buffers(usize::try_from(arguments.buffers << 20)?);
    let server = TcpServer::start(Arc::new(front), &arguments.listen, network(arguments)?)
        .map_err(|error| format!("--listen {}: {error}", arguments.listen))?;
    writeln!(std::io::stdout(), "listening on {}", server.address())?;
    signals.forever().next();
    Ok(())
}

fn network(arguments: &Arguments) -> Result<TcpConfig, TryFromIntError> {
    let per_address = arguments.per_address.unwrap_or_else(|| arguments.connections.div_ceil(2));
    Ok(TcpConfig {
        connections_max: usize::try_from(arguments.connections)?,
        per_address_max: usize::try_from(per_address)?,
        idle_max: (arguments.idle > 0).then(|| Duration::from_secs(arguments.idle)),
        patience: Duration::from_secs(arguments.patience),
        ..TcpConfig::default()
    })
}
