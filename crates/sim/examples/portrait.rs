//! The course of the pool with a million clients, as JSON: `portrait COMMIT DEMAND:SEED...`, such as
//! `portrait $(git rev-parse HEAD) 1.87:1`. `docs/breakwater.md` draws pool against delay from it.
//!
//! The server is that of `scenarios/ablations/crowds.toml`. It is watched for four seconds, from two seconds after the
//! start on: by then every client has registered. The commit is written down, and not looked at.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::{Instant, Nanos, Rate};
use tailwater_sim::{Intended, World, simulate};
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Service, Stream};

const USAGE: &str = "usage: portrait COMMIT DEMAND:SEED..., demand as a share of the capacity";

const CLIENTS: u32 = 1_000_000;
const SLO: Duration = Duration::from_micros(400);
const SERVICE: Service =
    Service { distribution: Distribution::Exponential, mean: Duration::from_micros(10) };
const WARM_UP: Duration = Duration::from_secs(2);
const MEASURE: Duration = Duration::from_secs(4);
/// One value of the course.
const BIN: Duration = Duration::from_millis(5);
/// Ten of them for each.
const SAMPLE: Duration = Duration::from_micros(500);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((commit, asked)) = args.split_first().and_then(|(commit, runs)| {
        let runs: Option<Vec<(f64, u64)>> = runs.iter().map(|run| parse(run)).collect();
        Some((commit, runs.filter(|runs| !runs.is_empty())?))
    }) else {
        eprintln!("found {args:?}; {USAGE}");
        return ExitCode::from(2);
    };
    let mut courses = Vec::new();
    for (demand, seed) in asked {
        match play(demand, seed) {
            Ok(course) => courses.push(course.to_string()),
            Err(found) => {
                eprintln!("{demand} times the capacity, seed {seed}: {found}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{{\"driver\":\"sim\",\"commit\":{},\"clients\":{CLIENTS},\"bin_us\":{},\"courses\":[\n{}\n]}}",
        json!(commit),
        BIN.nanos() / 1_000,
        courses.join(",\n")
    );
    ExitCode::SUCCESS
}

/// Demand as a share of the capacity, and the seed.
fn parse(run: &str) -> Option<(f64, u64)> {
    let (demand, seed) = run.split_once(':')?;
    let demand = demand.parse().ok().filter(|demand: &f64| (0.01..=100.0).contains(demand))?;
    Some((demand, seed.parse().ok()?))
}

/// The course of one run; the lowest and the highest goodput in a fifth of a second are told at once.
fn play(demand: f64, seed: u64) -> Result<Value, String> {
    let world = World {
        clients: CLIENTS,
        slo: SLO,
        warm_up: WARM_UP,
        measure: MEASURE,
        bin: Some(BIN),
        sample: Some(SAMPLE),
        ..World::paper(seed)
    };
    let per_request = SERVICE.mean + world.node.costs.per_request();
    let capacity_rps = f64::from(world.node.cores) / per_request.as_secs_f64();
    let rate = Rate(demand * capacity_rps);
    let plan = DemandPlan::constant(rate, WARM_UP + MEASURE, Arrivals::Poisson);
    let stream = Stream::new(&plan, CLIENTS, &SERVICE, seed).map_err(|error| error.to_string())?;
    let built = Spec::named("breakwater").build(&world.node.site(SLO, seed));
    let controller = built.map_err(|error| error.to_string())?;
    let (run, trace) = simulate(&world, &mut stream.map(Intended::from), &controller)
        .map_err(|broken| broken.to_string())?;
    let series = run.series.ok_or("found no bins")?;
    let goodput = series.goodput_rps.iter().map(|rps| rounded(rps / capacity_rps, 1e3));
    let goodput: Vec<f64> = goodput.collect();
    let mut samples = trace.stretches(Instant::ZERO + WARM_UP, BIN);
    samples.truncate(goodput.len());
    let fifths = goodput.chunks(40).map(|bins| bins.iter().sum::<f64>() / bins.len() as f64);
    let (low, high) =
        fifths.fold((f64::INFINITY, 0.0), |(low, high), it| (it.min(low), it.max(high)));
    eprintln!(
        "{demand} times the capacity, seed {seed}: {low:.2} to {high:.2} of it in fifths of a second"
    );
    let delay = |delay: Duration| rounded(delay.nanos() as f64 / 1e3, 10.0);
    Ok(json!({
        "demand": demand,
        "seed": seed,
        "pool": samples.iter().map(|sample| sample.pool).collect::<Vec<u32>>(),
        "issued": samples.iter().map(|sample| sample.issued).collect::<Vec<u32>>(),
        "delay_us": samples.iter().map(|sample| delay(sample.delay)).collect::<Vec<f64>>(),
        "goodput_of_capacity": goodput,
    }))
}

/// To so many parts of one.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
