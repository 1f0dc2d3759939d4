//! `proxies`: what a request costs two proxies before the same memcacheds.
//!
//! `README.md` says how it is measured.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod blocks;
mod programs;

use blocks::{Block, Quad, Rate};
use clap::{Parser, Subcommand};
use machine::Origin;
use programs::{Folder, Memcached, Programs, Proxy};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use tailwater_router::nodes::NodesConfig;
use tailwater_router::{FrontConfig, Router};

/// The least share of nutcracker's requests per second of processor time.
const GOAL: f64 = 0.9;
/// Requests per second: proxy and memcacheds share a core, which they leave idle for a part of the time.
const RATES: [u32; 3] = [5_000, 15_000, 30_000];

/// What a request costs tailwater's router before memcacheds, and what it costs nutcracker.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Quads for each rate.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    quads: u32,
    /// How long a block is measured, in milliseconds.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(100..=60_000))]
    window_ms: u32,
    /// Shows only that everything works.
    #[arg(long)]
    short: bool,
    /// Writes the result here, too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Subcommand)]
enum Role {
    /// The router, until it is ended.
    #[command(hide = true)]
    Router { listen: String, nodes: Vec<String> },
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    origin: Origin,
    nutcracker: String,
    goal: f64,
    rates: Vec<Rate>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.role {
        Some(Role::Router { listen, nodes }) => serve(listen, nodes),
        None => measure(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("proxies: {error}");
            ExitCode::from(2)
        }
    }
}

/// As `tailwater-router` does by its defaults.
fn serve(listen: &str, nodes: &[String]) -> Result<bool, String> {
    let nodes: Result<Vec<_>, _> = nodes.iter().map(|node| node.parse()).collect();
    let nodes = nodes.map_err(|error| format!("a node's address: {error}"))?;
    let router = Router::start(&NodesConfig::new(nodes), listen, FrontConfig::default());
    let _router = router.map_err(|error| error.to_string())?;
    loop {
        std::thread::park();
    }
}

/// Whether the goal was met.
fn measure(arguments: &Arguments) -> Result<bool, String> {
    let programs = Programs::find()?;
    let folder = Folder::new()?;
    let nodes = [Memcached::start()?, Memcached::start()?];
    let nodes = nodes.each_ref().map(|node| node.address.to_string());
    let (quads, window_ms, rates) = match arguments.short {
        true => (1, 300, &RATES[..1]),
        false => (arguments.quads, arguments.window_ms, &RATES[..]),
    };
    let mut report = Report {
        origin: Origin::now(),
        nutcracker: programs.nutcracker_version()?,
        goal: GOAL,
        rates: Vec::new(),
    };
    for &rps in rates {
        let block = |proxy: Proxy, seed: u64| {
            let command = programs.command(proxy, &nodes, &folder)?;
            Block::measure(&programs.tailwater, rps, window_ms, seed, &command)
        };
        let quads: Result<Vec<Quad>, String> = (0..quads)
            .map(|number| {
                eprint!("\r{rps} requests/s, quad {} of {quads} ", number + 1);
                Quad::measure(u64::from(rps) << 32 | u64::from(number), &block)
            })
            .collect();
        eprintln!();
        let rate = Rate::of(rps, quads?);
        println!("{rate}");
        report.rates.push(rate);
    }
    if let Some(file) = &arguments.out {
        machine::result::write(file, &report)?;
    }
    Ok(arguments.short || report.rates.iter().all(|rate| rate.median >= GOAL))
}
