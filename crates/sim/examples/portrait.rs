//! The course of the pool with a million clients, as JSON: `portrait CONTROLLER COMMIT DEMAND:SEED...`.
//! `docs/breakwater.md` draws pool against delay from it, and has a command.
//!
//! The server has ten cores and the default costs of `[sim]`. It is watched for four seconds, from two seconds after the
//! start on: by then most clients have registered. The commit is written down, and not looked at.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::{Instant, Nanos, Rate};
use tailwater_sim::{Costs, Intended, Link, NodeSpec, Sample, World, simulate};
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Service, Stream};

const USAGE: &str =
    "usage: portrait CONTROLLER COMMIT DEMAND:SEED..., demand as a share of the capacity";

const CLIENTS: u32 = 1_000_000;
const SLO: Duration = Duration::from_micros(400);
const SERVICE: Service =
    Service { distribution: Distribution::Exponential, mean: Duration::from_micros(10) };
const WARM_UP: Duration = Duration::from_secs(2);
const MEASURE: Duration = Duration::from_secs(4);
/// One value of the course: the mean of ten samples.
const BIN: Duration = Duration::from_millis(5);
const SAMPLE: Duration = Duration::from_micros(500);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (controller, commit, runs) = match &args[..] {
        [controller, commit, runs @ ..] if !runs.is_empty() => (controller, commit, runs),
        _ => return refused(&args),
    };
    let Some(runs) = runs.iter().map(|run| parse(run)).collect::<Option<Vec<_>>>() else {
        return refused(&args);
    };
    let played = runs.into_iter().map(|(demand, seed)| play(controller, demand, seed));
    match played.collect::<Result<Vec<Value>, String>>() {
        Ok(courses) => {
            let bin_us = BIN.nanos() / 1_000;
            println!(
                "{}",
                json!({ "driver": "sim", "commit": commit, "bin_us": bin_us, "courses": courses })
            );
            ExitCode::SUCCESS
        }
        Err(found) => {
            eprintln!("{found}");
            ExitCode::FAILURE
        }
    }
}

fn refused(args: &[String]) -> ExitCode {
    eprintln!("found {args:?}; {USAGE}");
    ExitCode::from(2)
}

/// Demand as a share of the capacity, and the seed.
fn parse(run: &str) -> Option<(f64, u64)> {
    let (demand, seed) = run.split_once(':')?;
    let demand = demand.parse().ok().filter(|demand: &f64| (0.01..=100.0).contains(demand))?;
    Some((demand, seed.parse().ok()?))
}

/// The course of one run.
fn play(controller: &str, demand: f64, seed: u64) -> Result<Value, String> {
    let costs = Costs {
        receive: Duration::from_nanos(1_700),
        send: Duration::from_nanos(2_700),
        shed: Duration::from_micros(1),
    };
    let world = World {
        node: NodeSpec { costs, parse_every: Duration::from_micros(50), ..NodeSpec::paper() },
        link: Link { delay: Duration::from_nanos(12_500), jitter: Duration::ZERO },
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
    let built = Spec::named(controller).build(&world.node.site(SLO, seed));
    let controller = built.map_err(|error| error.to_string())?;
    let (run, trace) = simulate(&world, &mut stream.map(Intended::from), &controller)
        .map_err(|broken| broken.to_string())?;
    let goodput_rps = run.series.ok_or("found no bins")?.goodput_rps;
    let from = Instant::ZERO + WARM_UP;
    let measured = &trace.samples[trace.samples.partition_point(|sample| sample.at < from)..];
    let bin = |sample: &Sample| sample.at.nanos_since(from) / BIN.nanos();
    let bins = measured.chunk_by(|a, b| bin(a) == bin(b)).take(goodput_rps.len());
    let bins: Vec<&[Sample]> = bins.collect();
    let means = |of: fn(&Sample) -> f64| -> Vec<f64> {
        let mean = |bin: &&[Sample]| bin.iter().map(of).sum::<f64>() / bin.len() as f64;
        bins.iter().map(mean).map(rounded).collect()
    };
    Ok(json!({
        "demand": demand,
        "seed": seed,
        "pool": means(|sample| f64::from(sample.pool)),
        "issued": means(|sample| f64::from(sample.issued)),
        "delay_us": means(|sample| sample.delay.nanos() as f64 / 1e3),
        "goodput_of_capacity":
            goodput_rps.iter().map(|rps| rounded(rps / capacity_rps)).collect::<Vec<f64>>(),
    }))
}

/// To thousandths.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
