//! How the simulator grows: the testbed of Breakwater §5.1 at 850,000 requests/s for four simulated
//! seconds, from a thousand to a million clients. Each size runs in a process of its own, so that its
//! peak memory is its own.
//!
//! [`size`] is what such a process does. Needs Linux's `/proc`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use clap::Parser;
use machine::Origin;
use machine::result::write;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::Rate;
use tailwater_sim::{Intended, World, simulate_with};
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Service, Stream};

const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];
const RPS: f64 = 850_000.0;

/// Time and memory of the simulator from a thousand to a million clients.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Simulated seconds.
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Runs of each size.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Writes every run as JSON to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A fifth of a second, once: shows only that everything works.
    #[arg(long)]
    short: bool,
    /// Simulates this size alone, and prints its run as JSON.
    #[arg(long, hide = true)]
    clients: Option<u32>,
}

/// Everything that was measured.
#[derive(Serialize)]
struct Report {
    short: bool,
    #[serde(flatten)]
    origin: Origin,
    rate_rps: f64,
    /// That were simulated in each run.
    seconds: f64,
    /// All sizes, then all again.
    runs: Vec<Run>,
}

#[derive(Serialize, Deserialize)]
struct Run {
    clients: u32,
    events: u64,
    cpu_ns: u64,
    /// The most memory that the process has had resident.
    peak_bytes: u64,
    /// What of that came with the simulation, for each client.
    bytes_per_client: f64,
    goodput_rps: f64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.clients {
        Some(clients) => size(clients, args.seconds),
        None => table(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("fleet: {message}");
            ExitCode::FAILURE
        }
    }
}

/// A row for each run.
fn table(args: &Args) -> Result<(), String> {
    let (seconds, repetitions) =
        if args.short { (0.2, 1) } else { (args.seconds, args.repetitions) };
    let origin = Origin::now();
    println!("{RPS} requests/s, {seconds} s simulated, breakwater (default)");
    println!("  clients   events  CPU time  ns/event  peak memory  bytes/client  goodput/s");
    let mut runs = vec![];
    for _ in 0..repetitions {
        for clients in SIZES {
            let run = apart(clients, seconds)?;
            run.print();
            runs.push(run);
        }
    }
    let report = Report { short: args.short, origin, rate_rps: RPS, seconds, runs };
    args.out.as_ref().map_or(Ok(()), |path| write(path, &report))
}

/// A run in a process of its own.
fn apart(clients: u32, seconds: f64) -> Result<Run, String> {
    let me = std::env::current_exe().map_err(|error| format!("who am I: {error}"))?;
    let mut command = Command::new(&me);
    command.args(["--clients", &clients.to_string(), "--seconds", &seconds.to_string()]);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the run of {clients} clients, {}: {error}", output.status))
}

impl Run {
    fn print(&self) {
        let &Self { clients, events, cpu_ns, peak_bytes, bytes_per_client, goodput_rps } = self;
        println!(
            "{clients:9} {:7.1}M {:7.2} s {:9.0} {:8.1} MiB {bytes_per_client:13.0} {goodput_rps:10.0}",
            events as f64 / 1e6,
            cpu_ns as f64 / 1e9,
            cpu_ns as f64 / events as f64,
            peak_bytes as f64 / f64::from(1 << 20),
        );
    }
}

fn size(clients: u32, seconds: f64) -> Result<(), String> {
    let half = Duration::from_secs_f64(seconds / 2.0);
    let world = World { clients, warm_up: half, measure: half, ..World::paper(1) };
    let service =
        Service { distribution: Distribution::Exponential, mean: Duration::from_micros(10) };
    let plan = DemandPlan::constant(Rate(RPS), 2 * half, Arrivals::Poisson);
    let stream = Stream::new(&plan, clients, &service, world.seed).map_err(|e| e.to_string())?;
    let spec = Spec::named("breakwater");
    spec.build(&world.node.site(world.slo, world.seed)).map_err(|error| error.to_string())?;
    let mut build =
        |_| spec.build(&world.node.site(world.slo, world.seed)).expect("it was built before");
    let before = peak_bytes()?;
    let mut intended = stream.map(Intended::from);
    let (run, trace) =
        simulate_with(&world, &mut intended, &mut build).map_err(|e| e.to_string())?;
    let (peak_bytes, cpu) = (peak_bytes()?, cpu_time()?);
    let run = Run {
        clients,
        events: trace.events,
        cpu_ns: u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX),
        peak_bytes,
        bytes_per_client: (peak_bytes - before) as f64 / f64::from(clients),
        goodput_rps: run.rates.goodput_rps,
    };
    println!("{}", serde_json::to_string(&run).map_err(|error| error.to_string())?);
    Ok(())
}

/// The most memory that this process has had resident.
fn peak_bytes() -> Result<u64, String> {
    let status = read("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| "found no VmHWM in /proc/self/status".into())
}

/// CPU time of this process, which other processes on the machine change little.
fn cpu_time() -> Result<Duration, String> {
    let text = read("/proc/self/schedstat")?;
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok());
    ns.map(Duration::from_nanos).ok_or_else(|| "found no time in /proc/self/schedstat".into())
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("could not read {path}: {error}"))
}
