//! `tailwater tune drive`: one block of a server that is not ours: started afresh, loaded in its own protocol, and ended.

use crate::failure::{Failure, say};
use crate::guard::guarded;
use crate::two_cores;
use crate::values::{duration, rate};
use clap::Args;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::json;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tailwater_load::foreign::{ForeignFindings, ForeignPlan, Protocol, run};
use tailwater_program::group::free_port;
use tailwater_program::guarded::Guarded;

/// How long a server may take until it listens.
const STARTS_WITHIN: Duration = Duration::from_secs(20);
/// How long a guard may take to end what its server has left behind, once connections to that are lost.
const GOES_WITHIN: Duration = Duration::from_secs(2);
/// Between two tries to connect, and between two looks at whether a server has gone.
const TRIES_EVERY: Duration = Duration::from_millis(5);
/// What mends a server that has left: one in the background is no child of its guard, which could not end it.
const FOREGROUND: &str =
    "it has to stay in the foreground: memcached without -d, redis-server without daemonize";

#[derive(Args, Debug)]
pub(crate) struct DriveOptions {
    /// The server's protocol: memcached or redis.
    #[arg(value_parser = protocol)]
    protocol: Protocol,
    /// Requests per second, with exponential gaps.
    #[arg(long, value_name = "RPS", default_value_t = 20_000.0, value_parser = rate)]
    rate: f64,
    /// How long is counted.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    measure: Duration,
    /// How long requests go before anything is counted.
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = duration)]
    warm_up: Duration,
    /// Connections, which take turns by chance.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    connections: u32,
    /// Keys, with values of 10 to 1,000 bytes, each set once before anything is asked.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    keys: u32,
    /// The share of requests that are GETs; the others are SETs.
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = super::percent)]
    gets: f64,
    /// Decides times, keys and connections.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// The server and its arguments, behind --. {port} in its words becomes the port to listen on, on 127.0.0.1.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

fn protocol(text: &str) -> Result<Protocol, String> {
    let found = Protocol::ALL.iter().find(|(name, _)| *name == text);
    found.map(|(_, protocol)| *protocol).ok_or_else(|| {
        let names = Protocol::ALL.map(|(name, _)| name).join(" or ");
        format!("'{text}' found, {names} is needed")
    })
}

pub(super) fn drive(options: &DriveOptions) -> Result<(), Failure> {
    let cores = Cores::find()?;
    let (mut server, address) = start(options, cores.as_ref())?;
    if let Some(cores) = &cores {
        cores.take_ours()?;
    }
    let plan = ForeignPlan {
        protocol: options.protocol,
        address,
        server_pid: server.pid(),
        connections: options.connections as usize,
        keys: options.keys,
        gets: options.gets,
        requests_per_second: options.rate,
        warm_up: options.warm_up,
        measure: options.measure,
        seed: options.seed,
        // Without a core of its own it would take the server's.
        spins: cores.is_some(),
    };
    let found = run(&plan);
    // First: what the load says of a server that has gone is that its connections were lost.
    if !server.is_there() || found.is_err() && has_gone(&mut server) {
        let name = &options.command[0];
        return Err(Failure::work(format!(
            "{name}: it ended while it was measured, or went into the background; {FOREGROUND}"
        )));
    }
    let found = found.map_err(Failure::work)?;
    say(&told(&found).to_string())
}

/// Whether it goes soon: a guard is there a little longer than the connections of what it ends.
fn has_gone(server: &mut Guarded) -> bool {
    let until = Instant::now() + GOES_WITHIN;
    while server.is_there() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(TRIES_EVERY);
    }
    true
}

/// What was found, by the names that --metric and --guard take.
fn told(found: &ForeignFindings) -> serde_json::Value {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let served = found.served.max(1) as f64;
    let unanswered = found.intended.saturating_sub(found.answered);
    json!({
        "cpu_ns_per_request": found.server.cpu.as_nanos() as f64 / served,
        "p50_us": us(found.latency.quantile(0.5)),
        "p99_us": us(found.latency.quantile(0.99)),
        "p999_us": us(found.latency.quantile(0.999)),
        "unanswered": unanswered as f64 / found.intended.max(1) as f64,
        "sent_late_p99_us": us(found.lateness.quantile(0.99)),
        "requests": found.intended,
        "memory_bytes": found.memory,
    })
}

/// A core for the load, and all others for the server.
struct Cores {
    ours: CpuSet,
    servers: CpuSet,
}

impl Cores {
    /// None where this process may use one core only.
    fn find() -> Result<Option<Self>, Failure> {
        let Some((_, load)) = two_cores::two()? else { return Ok(None) };
        let mut servers = sched_getaffinity(None).map_err(Failure::work)?;
        servers.unset(load as usize);
        let mut ours = CpuSet::new();
        ours.set(load as usize);
        Ok(Some(Self { ours, servers }))
    }

    fn take_ours(&self) -> Result<(), Failure> {
        sched_setaffinity(None, &self.ours).map_err(Failure::work)
    }
}

/// Starts the server under a guard, and waits until it listens.
fn start(options: &DriveOptions, cores: Option<&Cores>) -> Result<(Guarded, SocketAddr), Failure> {
    if !options.command.iter().any(|word| word.contains("{port}")) {
        return Err(Failure::usage(
            "no word of the server's command has {port}; put it where the port to listen on stands",
        ));
    }
    let address = free_port()?;
    let port = address.port().to_string();
    let words: Vec<String> =
        options.command.iter().map(|word| word.replace("{port}", &port)).collect();
    // The child has the cores of the thread that starts it.
    if let Some(cores) = cores {
        sched_setaffinity(None, &cores.servers).map_err(Failure::work)?;
    }
    let mut server = guarded(&words, None)?;
    server.greet()?;
    listens(&mut server, address, &words[0])?;
    Ok((server, address))
}

fn listens(server: &mut Guarded, address: SocketAddr, name: &str) -> Result<(), Failure> {
    let until = Instant::now() + STARTS_WITHIN;
    loop {
        let is_open = TcpStream::connect(address).is_ok();
        // What listens may be another's at the same port, or a daemon that the server has left behind.
        if !server.is_there() {
            return Err(Failure::work(format!(
                "{name}: it ended before it listened, or went into the background; its guard has said how it ended, and \
                 {FOREGROUND}"
            )));
        }
        if is_open {
            return Ok(());
        }
        if Instant::now() >= until {
            let time = STARTS_WITHIN.as_secs();
            return Err(Failure::work(format!(
                "{name}: after {time} s it does not listen on {address}; {{port}} in its words is the port that it is given"
            )));
        }
        std::thread::sleep(TRIES_EVERY);
    }
}
