//! How late a generator comes that sleeps, on the core of the leaves.
//!
//! Front and leaves are those of `scenarios/chain-two-cores.toml`, and so is the generator. Beside it on the same core runs
//! a loop that does nothing but sleep until times of the same kind: what the machine does to any sleeper. Then the generator
//! comes alone, before all normal threads of its core (`fifo:1`), where the kernel lets it.

use crate::programs::{Programs, Server};
use crate::report::{Pace, Paced, Report};
use crate::{Verdict, quantile};
use machine::Origin;
use rustix::thread::{ClockId, CpuSet, Timespec, clock_nanosleep_absolute};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater::{Instant, now};
use tailwater_core::Rng;
use tailwater_stats::result::Spread;

const SCENARIO: &str = "scenarios/chain-two-cores.toml";
const RATES_RPS: [u32; 4] = [100, 500, 1_000, 2_000];
/// The core of leaves, generator and bare loop, as the scenario has it.
const CORE: usize = 1;
const P95_MAX_US: f64 = 100.0;
const P99_RATIO_MAX: f64 = 1.2;
const PART: &str = "pace";

/// A run of the generator.
#[derive(Clone, Copy)]
struct Load {
    rate: u32,
    seconds: u64,
    seed: u64,
    scheduling: &'static str,
}

/// One repetition at one rate.
struct Seen {
    generator: Generator,
    bare: Late,
    /// Before all normal threads; none where it may not be scheduled so.
    first: Option<Generator>,
}

/// A generator's lateness, and whether its audit of itself passed.
#[derive(Clone, Copy)]
struct Generator {
    late: Late,
    passed: bool,
}

/// Lateness at the 95th and the 99th percentile, in microseconds.
#[derive(Clone, Copy)]
struct Late {
    p95: f64,
    p99: f64,
}

pub(crate) fn run(report: &mut Report, repetitions: usize, seconds: u64) -> Verdict {
    println!("pace: {RATES_RPS:?} requests/s, {repetitions} times {seconds} s each");
    let origin = Origin::now();
    let programs = Programs::find()?;
    let leaves = programs.serve(&["--scenario", SCENARIO, "--tier", "leaf", "--core", "1"])?;
    let reached = leaves.as_tier("leaf");
    let front =
        programs.serve(&["--scenario", SCENARIO, "--core", "0", "--downstream", &reached])?;
    let mut seen: Vec<Vec<Seen>> = RATES_RPS.map(|_| Vec::new()).into();
    for repetition in 0..repetitions {
        for (rate, seen) in RATES_RPS.into_iter().zip(&mut seen) {
            let load = Load { rate, seconds, seed: repetition as u64, scheduling: "normal" };
            let (generator, bare) = both(&programs, &front, load)?;
            let first = first(&programs, &front, load)?;
            seen.push(Seen { generator, bare, first });
        }
    }
    let rates = RATES_RPS.into_iter().zip(&seen).map(|(rate, seen)| summary(rate, seen)).collect();
    judge(report, Pace { origin, rates });
    Ok(())
}

/// The generator, and the bare loop for as long as it runs.
fn both(programs: &Programs, front: &Server, load: Load) -> Result<(Generator, Late), String> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let bare = scope.spawn(|| bare(f64::from(load.rate), load.seed, &ended));
        let generator = generator(programs, front, load);
        ended.store(true, Relaxed);
        let bare = bare.join().map_err(|_| "the bare loop has panicked")??;
        Ok((generator?, bare))
    })
}

/// The generator before all normal threads. None where the kernel refuses that.
fn first(programs: &Programs, front: &Server, load: Load) -> Result<Option<Generator>, String> {
    match generator(programs, front, Load { scheduling: "fifo:1", ..load }) {
        Ok(generator) => Ok(Some(generator)),
        Err(why) if why.contains("cannot be scheduled as") => Ok(None),
        Err(why) => Err(why),
    }
}

fn generator(programs: &Programs, front: &Server, load: Load) -> Result<Generator, String> {
    let Load { rate, seconds, seed, scheduling } = load;
    let (rate, seed) = (rate.to_string(), seed.to_string());
    let duration = format!("{seconds}s");
    let address = front.address();
    let said = programs.ask(&[
        "load",
        "--connect",
        &address,
        "--scenario",
        SCENARIO,
        "--clients",
        "20",
        "--pace",
        "sleep",
        "--scheduling",
        scheduling,
        "--core",
        "1",
        "--rate",
        &rate,
        "--warm-up",
        "200ms",
        "--duration",
        &duration,
        "--slo",
        "2ms",
        "--seed",
        &seed,
        "--json",
    ])?;
    let run = &said["runs"][0];
    let number = |key: &str| run[key].as_f64().ok_or_else(|| format!("`load` told no {key}"));
    if number("goodput_rps")? <= 0.0 {
        return Err("no request was answered in time".into());
    }
    let held = |what: &str| {
        run["audit"][what].as_bool().ok_or_else(|| format!("`load` told no audit: {what}"))
    };
    let passed = held("exponential")? && held("offered")?;
    let late = Late { p95: number("lateness_p95_us")?, p99: number("lateness_p99_us")? };
    Ok(Generator { late, passed })
}

/// Sleeps until times of a Poisson process, and tells how late it woke.
fn bare(rate: f64, seed: u64, ended: &AtomicBool) -> Result<Late, String> {
    let mut core = CpuSet::new();
    core.set(CORE);
    let pinned = rustix::thread::sched_setaffinity(None, &core);
    pinned.map_err(|error| format!("cannot pin to core {CORE}: {error}"))?;
    // The kernel lets timers of a normal thread be 50 µs late, so that it wakes for several at once. The generator's have no such slack.
    let exact = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN));
    exact.map_err(|error| format!("cannot set the slack of timers: {error}"))?;
    let mut rng = Rng::from_seed(seed).split("bare loop");
    let (mut at, mut late) = (now(), Vec::new());
    while !ended.load(Relaxed) {
        at = at + Duration::from_secs_f64(rng.exponential(1.0 / rate));
        sleep_until(at)?;
        late.push(now().since(at).as_nanos() as u64);
    }
    let [p95, p99] = [0.95, 0.99].map(|share| quantile(&mut late, share) as f64 / 1e3);
    Ok(Late { p95, p99 })
}

fn sleep_until(at: Instant) -> Result<(), String> {
    let time = Timespec {
        tv_sec: (at.as_nanos() / 1_000_000_000) as i64,
        tv_nsec: (at.as_nanos() % 1_000_000_000) as i64,
    };
    loop {
        match clock_nanosleep_absolute(ClockId::Monotonic, &time) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn summary(rate: u32, seen: &[Seen]) -> Paced {
    let median = |all: Vec<f64>| Spread::of(&all).median;
    let all_of = |of: fn(&Seen) -> f64| median(seen.iter().map(of).collect());
    let first: Option<Vec<Generator>> = seen.iter().map(|it| it.first).collect();
    let of_first = |of: fn(&Generator) -> f64| {
        first.as_ref().map(|first| median(first.iter().map(of).collect()))
    };
    let found = Paced {
        rate_rps: f64::from(rate),
        repetitions: seen.len(),
        generator_p95_us: all_of(|it| it.generator.late.p95),
        generator_p99_us: all_of(|it| it.generator.late.p99),
        bare_p95_us: all_of(|it| it.bare.p95),
        bare_p99_us: all_of(|it| it.bare.p99),
        audits_passed: Some(seen.iter().filter(|it| it.generator.passed).count()),
        first_p95_us: of_first(|it| it.late.p95),
        first_p99_us: of_first(|it| it.late.p99),
        first_audits_passed: first
            .as_ref()
            .map(|first| first.iter().filter(|it| it.passed).count()),
    };
    let Paced { generator_p95_us, generator_p99_us, bare_p95_us, bare_p99_us, repetitions, .. } =
        &found;
    let passed = found.audits_passed.unwrap_or_default();
    println!(
        "  {rate:>5}/s: generator p95 {generator_p95_us:.0} µs, p99 {generator_p99_us:.0} µs; bare loop p95 \
         {bare_p95_us:.0} µs, p99 {bare_p99_us:.0} µs; audits passed {passed} of {repetitions}"
    );
    if let Paced {
        first_p95_us: Some(p95),
        first_p99_us: Some(p99),
        first_audits_passed: Some(passed),
        ..
    } = found
    {
        println!(
            "  {rate:>5}/s: generator under fifo:1 p95 {p95:.0} µs, p99 {p99:.0} µs; audits passed {passed} of {repetitions}"
        );
    }
    found
}

fn judge(report: &mut Report, pace: Pace) {
    report.begin(PART);
    let rates = &pace.rates;
    let worst = |of: fn(&Paced) -> f64| rates.iter().map(of).fold(0.0, f64::max);
    let p95 = worst(|it| it.generator_p95_us);
    let ratio = worst(|it| it.generator_p99_us / it.bare_p99_us);
    let late = format!("{p95:.0} µs at the worst rate");
    report.judge(PART, "lateness of the generator at most 100 µs (p95)", late, p95 <= P95_MAX_US);
    let than = format!("{ratio:.2} × at the worst rate");
    let goal = "p99 at most 1.2 × that of a loop that only sleeps";
    report.judge(PART, goal, than, ratio <= P99_RATIO_MAX);
    match rates.iter().map(|it| it.first_p95_us).collect::<Option<Vec<_>>>() {
        Some(all) => {
            let p95 = all.into_iter().fold(0.0, f64::max);
            let late = format!("{p95:.0} µs at the worst rate");
            let goal =
                "lateness (p95) before all normal threads of its core (`fifo:1`), at most 100 µs";
            report.judge(PART, goal, late, p95 <= P95_MAX_US);
        }
        None => println!(
            "left out: the generator under fifo:1, which the kernel refuses; root may have it, and so may a user with \
             the limit that `ulimit -r 1` shows"
        ),
    }
    let (told, held) = audits(rates, |it| it.audits_passed);
    report.judge(PART, "the generator's audit passes in most runs", told, held);
    if rates.iter().all(|it| it.first_audits_passed.is_some()) {
        let (told, held) = audits(rates, |it| it.first_audits_passed);
        report.judge(PART, "the same under `fifo:1`", told, held);
    }
    report.pace = Some(pace);
}

/// At which rates audits failed in half of the runs or more, and whether there is none.
fn audits(rates: &[Paced], passed: fn(&Paced) -> Option<usize>) -> (String, bool) {
    let failing = rates.iter().filter(|it| 2 * passed(it).unwrap_or_default() <= it.repetitions);
    let failing: Vec<String> = failing.map(|it| format!("{:.0}/s", it.rate_rps)).collect();
    if failing.is_empty() {
        return ("at each rate".into(), true);
    }
    (format!("not at {}", failing.join(", ")), false)
}
