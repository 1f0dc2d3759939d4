//! How the simulator grows: the testbed of Breakwater §5.1 at 850,000 requests/s for four simulated
//! seconds, from a thousand to a million clients. Each size runs in a process of its own, so that its
//! peak memory is its own.
//!
//! `fleet [--short]`; `fleet --clients N --seconds S` is one row. Needs Linux's `/proc`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::process::{Command, ExitCode};
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::Rate;
use tailwater_sim::{Intended, World, simulate_with};
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Service, Stream};

const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];
const RPS: f64 = 850_000.0;
const USAGE: &str = "usage: fleet [--short] | fleet --clients N --seconds S";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        [] => table("4"),
        ["--short"] => table("0.2"),
        ["--clients", clients, "--seconds", seconds] => row(clients, seconds),
        _ => Err(format!("found {args:?}; {USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("fleet: {message}");
            ExitCode::FAILURE
        }
    }
}

/// A row for each size, each from a process of its own.
fn table(seconds: &str) -> Result<(), String> {
    let me = std::env::current_exe().map_err(|error| format!("who am I: {error}"))?;
    println!("{RPS} requests/s, {seconds} s simulated, breakwater (default)");
    println!("  clients   events  CPU time  ns/event  peak memory  bytes/client  goodput/s");
    for clients in SIZES {
        let clients = clients.to_string();
        let mut command = Command::new(&me);
        let status = command.args(["--clients", &clients, "--seconds", seconds]).status();
        match status {
            Ok(status) if status.success() => {}
            other => return Err(format!("the run of {clients} clients ended with {other:?}")),
        }
    }
    Ok(())
}

fn row(clients: &str, seconds: &str) -> Result<(), String> {
    let clients: u32 = clients.parse().map_err(|_| format!("found {clients} clients; {USAGE}"))?;
    let seconds: f64 = seconds.parse().map_err(|_| format!("found {seconds} s; {USAGE}"))?;
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
    let (peak, cpu) = (peak_bytes()?, cpu_time()?);
    println!(
        "{clients:9} {:7.1}M {:7.2} s {:9.0} {:8.1} MiB {:13.0} {:10.0}",
        trace.events as f64 / 1e6,
        cpu.as_secs_f64(),
        cpu.as_nanos() as f64 / trace.events as f64,
        peak as f64 / f64::from(1 << 20),
        (peak - before) as f64 / f64::from(clients),
        run.goodput_rps,
    );
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
