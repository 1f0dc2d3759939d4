//! `tailwater load`: load on any server, from flags. A signal cuts it short, and what was measured before is told.

use crate::args::LoadOptions;
use crate::failure::{Failure, say};
use crate::job::{
    Asks, Begins, Job, Kind, Loses, OpenJob, OpenOutcome, Outcome, ServiceJob, Waiting, Watching,
};
use crate::machine;
use crate::prepare::prepare;
use crate::scenarios::{self, Said};
use crate::terminal;
use std::cell::{OnceCell, RefCell};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::Nanos;
use tailwater_core::duration::format_duration;
use tailwater_experiment::{capacity, drain};
use tailwater_load::EarlyEnd;
use tailwater_load::application::Whose;
use tailwater_load::meter::Metered;
use tailwater_program::interrupt::Interrupt;
use tailwater_report::table;
use tailwater_stats::result::{DataUsed, Experiment, LoadMark, Manifest, RunVerdict};
use tailwater_stats::{Rules, discard, judge};
use tailwater_workload::limits;
use tailwater_workload::scenario::Capacity;

pub(crate) fn load(options: &LoadOptions) -> Result<(), Failure> {
    let (job, data) = job(options)?;
    let asks = job.asks.named()?;
    // Set when the load begins: by then data are prepared and connections made.
    let begun = RefCell::default();
    let begins = |Begins { measured_from_ns }: Begins| {
        let generator = machine::generator(options.pace, options.scheduling);
        let mark = LoadMark {
            measured_from_unix_ms: machine::unix_ms_at(measured_from_ns),
            asks: asks.clone(),
            ..LoadMark::default()
        };
        begun.replace((Manifest { generator, ..machine::here() }, Some(mark)));
        Ok(())
    };
    let interrupt: OnceCell<Arc<Interrupt>> = OnceCell::new();
    let outcome = job.perform(&begins, &|| cut(&interrupt));
    let ended = interrupt.get().and_then(|noted| noted.signal()).map(Failure::signal);
    let outcome = outcome.map_err(|failure| match &ended {
        Some(ended) => ended.clone().and(&failure.to_string()),
        None => failure,
    })?;
    match outcome {
        Outcome::Closed { points } => {
            let asked = match &job.kind {
                Kind::Closed { in_flight, .. } => in_flight.len(),
                Kind::Open(_) => 0,
            };
            report_capacity(options, (&points, asked), ended)
        }
        Outcome::Open(outcome) => report(options, *outcome, (data, ended), begun.into_inner()),
        Outcome::Failed { why, .. } => Err(Failure::work(why)),
    }
}

/// From now on a signal ends the load early. Before, it ended the program: nothing was measured.
fn cut(interrupt: &OnceCell<Arc<Interrupt>>) -> Result<EarlyEnd, Failure> {
    let noted = Arc::new(Interrupt::watch()?);
    // A job asks for it once.
    let _ = interrupt.set(noted.clone());
    Ok(EarlyEnd::when(move || noted.signal().is_some()))
}

/// Times are held to the limits of scenario files: in a window of no length nothing is measured.
fn check_times(options: &LoadOptions) -> Result<(), Failure> {
    within("--slo", options.controller.slo, &limits::SLO)?;
    within("--warm-up", options.warm_up, &(Duration::ZERO..=limits::DURATION_MAX))?;
    within("--duration", options.duration, &(limits::DURATION_MIN..=limits::DURATION_MAX))
}

fn within(flag: &str, found: Duration, known: &RangeInclusive<Duration>) -> Result<(), Failure> {
    if known.contains(&found) {
        return Ok(());
    }
    let [found, least, most] = [found, *known.start(), *known.end()].map(format_duration);
    Err(Failure::usage(format!("{flag} is {found}; a time from {least} to {most} is needed")))
}

/// With what a result must tell of the data that it is made with.
fn job(options: &LoadOptions) -> Result<(Job, Vec<DataUsed>), Failure> {
    check_times(options)?;
    let LoadOptions { pace, scheduling, .. } = *options;
    if let Some(why) = scheduling.conflict(pace) {
        return Err(Failure::usage(format!(
            "--scheduling is {scheduling}, and {why}: --pace sleep"
        )));
    }
    if let (Some(why), Some(_)) = (options.arrivals.misfit(options.duration), options.rate) {
        return Err(Failure::usage(format!("--arrivals is {}: {why}", options.arrivals)));
    }
    let (asks, data) = asks(options)?;
    let kind = match options.rate {
        None => {
            let of = Capacity { duration: options.duration, ..said_capacity(&asks)? };
            let ask = capacity::closed_loop(&of, options.clients, options.seed);
            Kind::Closed {
                in_flight: ask.in_flight,
                settle_ns: ask.settle.nanos(),
                measure_ns: ask.measure.nanos(),
            }
        }
        Some(rate) if rate > 0.0 && rate.is_finite() => Kind::Open(OpenJob {
            steps: vec![(rate, rate, (options.warm_up + options.duration).nanos())],
            arrivals: options.arrivals,
            warm_up_ns: options.warm_up.nanos(),
            measure_ns: options.duration.nanos(),
            drain_ns: drain(options.controller.slo).nanos(),
            bin_ns: None,
            at_unix_s: options.at,
        }),
        Some(rate) => {
            return Err(Failure::usage(format!("--rate is {rate}; above 0 is needed")));
        }
    };
    let controller = match kind {
        Kind::Closed { .. } => Spec::named("none"),
        Kind::Open(_) => options.controller.spec(),
    };
    let job = Job {
        addresses: vec![options.connect.to_string()],
        clients: options.clients,
        threads: options.threads,
        cores: options.cores.clone(),
        pace,
        scheduling,
        controller,
        slo_ns: options.controller.slo.nanos(),
        seed: options.seed,
        asks,
        server: Metered { pids: options.server_pid.into_iter().collect(), ..Metered::default() },
        tiers: Vec::new(),
        loses: Loses::default(),
        // Without its process no CPU time is read.
        server_waits: options.server_pid.map_or(Waiting::Partly, |_| Waiting::Asleep),
        watching: Watching::Nothing,
        kind,
    };
    Ok((job, data))
}

fn asks(options: &LoadOptions) -> Result<(Asks, Vec<DataUsed>), Failure> {
    let Some(file) = &options.scenario else {
        let service = ServiceJob {
            distribution: options.distribution.to_string(),
            mean_ns: options.mean.nanos(),
            sleeps: options.sleep,
        };
        return Ok((Asks::Service(service), Vec::new()));
    };
    let scenario = scenarios::parse(file, &scenarios::read(file)?)?;
    let data = options.data.path_for(&scenario)?;
    let used = prepare(&scenario, &data, Whose::All, &|| Ok(()))?;
    Ok((Asks::Scenario(Said::of(&scenario, &data)), used))
}

/// How `run` would sweep: as the scenario says, where there is one.
fn said_capacity(asks: &Asks) -> Result<Capacity, Failure> {
    match asks {
        Asks::Service(_) => Ok(Capacity::default()),
        Asks::Scenario(said) => Ok(said.parse().map_err(Failure::usage)?.capacity),
    }
}

/// Of so many points that were asked for.
fn report_capacity(
    options: &LoadOptions,
    (points, asked): (&[(u32, f64)], usize),
    ended: Option<Failure>,
) -> Result<(), Failure> {
    let cut_short = match &ended {
        Some(ended) if points.is_empty() => {
            return Err(ended.clone().and("no point was measured"));
        }
        Some(ended) if points.len() < asked => {
            Some(format!("{ended}, after {} of {asked} points", points.len()))
        }
        _ => None,
    };
    let plateau = capacity::plateau(points);
    if options.json {
        let mut told = serde_json::json!({ "capacity_rps": plateau, "points": points });
        if let Some(why) = &cut_short {
            told["cut_short"] = why.as_str().into();
        }
        say(&told.to_string())?;
    } else {
        for (in_flight, rate) in points {
            say(&format!("{in_flight:>6} in flight  {:>8.1} k requests/s", rate / 1e3))?;
        }
        say(&format!("{:>6} {:>19.1} k requests/s", "plateau", plateau / 1e3))?;
        say_cut_short(cut_short.as_deref())?;
    }
    ended.map_or(Ok(()), |ended| Err(told(ended, cut_short.as_deref())))
}

fn say_cut_short(why: Option<&str>) -> Result<(), Failure> {
    why.map_or(Ok(()), |why| say(&format!("It was cut short: {why}.")))
}

/// A signal, which may have come when all was measured.
fn told(ended: Failure, cut_short: Option<&str>) -> Failure {
    ended.and(match cut_short {
        Some(_) => "what was measured before is told",
        None => "all was measured before",
    })
}

/// Those of `run`. A server that is not known here cannot be held to any.
fn rules(options: &LoadOptions) -> Rules {
    let usual = Rules::default();
    let is_known = options.server_pid.is_some();
    let most = if is_known { usual.server_involuntary_max_per_s } else { f64::INFINITY };
    Rules { server_involuntary_max_per_s: most, ..usual }
}

/// By the rules of `run`. A server that answered wrongly or did not stay fails the work, after what was measured is told.
fn report(
    options: &LoadOptions,
    outcome: OpenOutcome,
    (data, ended): (Vec<DataUsed>, Option<Failure>),
    (manifest, load): (Manifest, Option<LoadMark>),
) -> Result<(), Failure> {
    let trouble = outcome.trouble();
    let measured = Duration::from_nanos(outcome.measured_ns);
    let is_part = measured < options.duration;
    let cut_short = ended.as_ref().filter(|_| is_part).map(|ended| {
        let [part, whole] = [measured, options.duration].map(|length| length.as_secs_f64());
        format!("{ended}, after {part:.1} of {whole:.1} s")
    });
    let mut run = outcome.run;
    run.latency_counts_ns = outcome.latency_counts_ns;
    let spec = options.controller.spec();
    run.asked.controller.clone_from(&spec.name);
    run.asked.profile = spec.profile;
    run.rates.asked_rps = options.rate.unwrap_or(0.0);
    let rules = rules(options);
    let (broken, noise) = (judge(&run, &rules), discard(&run, &rules));
    run.verdict = RunVerdict::of(broken.into_iter().chain(noise).chain(trouble.clone()));
    let experiment = Experiment {
        scenario: "load".into(),
        arrivals: options.arrivals.to_string(),
        driver: "loopback".into(),
        seed: options.seed,
        slo_us: run.asked.slo_us,
        runs: vec![run],
        data,
        load: load.map(|mark| LoadMark { measured_ms: measured.as_secs_f64() * 1e3, ..mark }),
        cut_short: cut_short.clone(),
        manifest,
        ..Experiment::default()
    };
    if options.json {
        say(&serde_json::to_string_pretty(&experiment).map_err(Failure::work)?)?;
    } else {
        say(table(&experiment, terminal::style()).trim_end())?;
        say_cut_short(cut_short.as_deref())?;
    }
    match (ended, trouble) {
        (None, None) => Ok(()),
        (None, Some(why)) => Err(Failure::work(why)),
        (Some(ended), None) => Err(told(ended, cut_short.as_deref())),
        (Some(ended), Some(why)) => Err(told(ended, cut_short.as_deref()).and(&why)),
    }
}
