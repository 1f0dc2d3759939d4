//! `tailwater suite traits`: what services ask of the operating system, as chapter II of the thesis characterises them.
//!
//! Sriraman, *Enabling Hyperscale Web Services* (2021), §2.5: saturation, latency at three loads, and per tier system calls,
//! context switches, waits for a core and softirqs. `measure` plays the runs, and `found` has their medians.
//! `quantity` says what is told of a tier, `switching` what its switches take, `answered` how many requests had an answer.
//! `text` and `page` show it, `cost` says what watching takes.

mod loads;
mod quantity;
mod switching;
mod answered;
mod found;
mod cost;
mod measure;
mod text;
mod page;

use crate::data_folder::DataFolder;
use crate::failure::{Failure, say};
use crate::folder::Folder;
use crate::input::{RESULT_BYTES_MAX, text_within};
use crate::run::{Conclusion, is_short};
use crate::services::SERVICES;
use crate::values::{duration, key_value, rate};
use clap::Args;
use cost::BLOCKS;
use found::{Found, LoadFound, RunsFound, ServiceFound};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tailwater_core::pace::Scheduling;
use tailwater_core::threads::Model;
use tailwater_program::interrupt::Interrupt;
use tailwater_stats::result::Manifest;
use tailwater_workload::limits::REPETITIONS_MAX;

pub(super) const HELP: &str = "Examples:
  tailwater suite traits
  tailwater suite traits setalgebra router --duration 10s --repetitions 5 --out traits
  tailwater suite traits hdsearch --cost --rate 700 --json > hdsearch.json
  tailwater suite traits hdsearch --scheduling fifo:1
  tailwater suite traits setalgebra --model adb:4
  tailwater suite traits --from results/suite-traits.json --out traits

Loads are the thesis': 100, 1,000 and 10,000 requests per second; of one that is above 0.6 of its capacity here, a share of \
capacity stands in. Counts of system calls, waits for a core and softirqs take root, or CAP_PERFMON and a tracefs that may \
be read; without, all else is told, with what is missing and what to type. One wrong answer voids its run, and the exit \
code is 1.";

#[derive(Args, Debug)]
pub(crate) struct TraitsOptions {
    /// Shows what was found before, and measures nothing: a file of --json, or traits.json of --out.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["services", "set", "leaves", "model", "rate", "duration", "repetitions", "seed", "scheduling", "cost", "short", "data"])]
    from: Option<PathBuf>,
    /// The services, as tailwater suite list names them; left out: all.
    #[arg(value_name = "NAME")]
    services: Vec<String>,
    /// Changes a setting of the service, of which one must be named; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Instead of the scenarios' numbers of leaves.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    leaves: Option<u32>,
    /// How the mid-tier's threads share the work, instead of the scenarios': adb:4 is the thesis' design (tailwater serve
    /// --help has the words).
    #[arg(long)]
    model: Option<Model>,
    /// Asks at this rate alone, in requests per second, instead of the thesis' loads.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<f64>,
    /// How long each run is measured; the thesis has 30 s.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    duration: Duration,
    /// Instead of the scenarios' number of repetitions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=REPETITIONS_MAX as i64))]
    repetitions: Option<u32>,
    /// Instead of the scenarios' seed: decides which queries are asked when.
    #[arg(long)]
    seed: Option<u64>,
    /// How the kernel schedules the generator's threads, which share a core with the leaves: normal, or fifo:1 (before
    /// all normal threads; with the right to it).
    #[arg(long)]
    scheduling: Option<Scheduling>,
    /// Measures what the watch costs, and no loads: runs of each service with it, with each part of it and without, in
    /// blocks that go there and back.
    #[arg(long)]
    cost: bool,
    /// Blocks of --cost, of ten runs each: with more of them the interval is narrower.
    #[arg(long, value_name = "N", requires = "cost", default_value_t = BLOCKS, value_parser = clap::value_parser!(u32).range(1..=100))]
    blocks: u32,
    /// A short version: one repetition, lowest and highest load. Its numbers prove that it works, and nothing else. Also
    /// by TAILWATER_SHORT=1.
    #[arg(long)]
    short: bool,
    /// Print what was found as one JSON object.
    #[arg(long)]
    json: bool,
    /// Write JSON, pictures and an HTML page here.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    data: DataFolder,
}

/// The file of `--out` with all numbers.
const JSON: &str = "traits.json";
/// The same of what was measured until something ended it.
const PARTIAL: &str = "traits-cut-short.json";

pub(super) fn traits(options: &TraitsOptions) -> Result<(), Failure> {
    let names = services(options)?;
    let folder = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    let refuse =
        |short: bool| folder.as_ref().map_or(Ok(()), |folder| folder.refuse_short(JSON, short));
    let (found, ended) = match &options.from {
        Some(file) => {
            let found = earlier(file)?;
            refuse(found.short)?;
            (found, None)
        }
        None => {
            refuse(is_short(options.short))?;
            measured(&names, options)?
        }
    };
    let json = serde_json::to_string_pretty(&found).map_err(Failure::work)?;
    match (&folder, &found.cut_short) {
        (Some(folder), None) => write(folder, &found, &json)?,
        // An earlier whole result stays as it is.
        (Some(folder), Some(_)) => folder.write(PARTIAL, &json)?,
        (None, _) => {}
    }
    say(&if options.json { json } else { text::text(&found) })?;
    ended.map_or(Ok(()), Err)?;
    if let Some(why) = &found.cut_short {
        return Err(Failure::work(format!("it was cut short: {why}")));
    }
    conclusion(&found).verdict(found.short)
}

/// What was found, and what ended it before the last service.
fn measured(names: &[&str], options: &TraitsOptions) -> Result<(Found, Option<Failure>), Failure> {
    let interrupt = Interrupt::watch()?;
    let switch_us = switching::costs()?;
    let short = is_short(options.short);
    let (manifest, services) = (Manifest::default(), Vec::new());
    let mut found = Found { manifest, short, switch_us, cut_short: None, services };
    for name in names {
        match measure::service(name, options, &interrupt, &found.switch_us) {
            Ok((service, manifest)) => {
                // The result began when its first service did.
                if found.services.is_empty() {
                    found.manifest = manifest;
                }
                found.services.push(service);
            }
            Err(failure) if found.services.is_empty() => return Err(failure),
            Err(failure) => {
                let failure = failure.and(&format!("{name} and what comes after it is missing"));
                found.cut_short = Some(failure.to_string());
                return Ok((found, Some(failure)));
            }
        }
    }
    Ok((found, None))
}

/// What a file says that was written before.
fn earlier(file: &Path) -> Result<Found, Failure> {
    let text = text_within(file, RESULT_BYTES_MAX)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let trouble = |why: &str| {
        let file = file.display();
        Failure::usage(format!("{file}: {why}; is it of suite traits --json, of this version?"))
    };
    let found: Found = serde_json::from_str(&text).map_err(|error| trouble(&error.to_string()))?;
    if found.services.is_empty() { Err(trouble("it has no service")) } else { Ok(found) }
}

/// The services by name; all where none is named.
fn services(options: &TraitsOptions) -> Result<Vec<&str>, Failure> {
    if !options.set.is_empty() && options.services.len() != 1 {
        return Err(Failure::usage(format!(
            "--set is given with {} services, and each has settings of its own; name one",
            options.services.len()
        )));
    }
    let mut names: Vec<&str> = Vec::new();
    let all = SERVICES.iter().map(|service| service.kind.name);
    match options.services.is_empty() {
        true => names.extend(all),
        false => names.extend(options.services.iter().map(String::as_str)),
    }
    // Before the work: a name that is wrong would be found after minutes.
    names.iter().try_for_each(|name| super::choice::find(name).map(|_| ()))?;
    Ok(names)
}

fn write(folder: &Folder<'_>, found: &Found, json: &str) -> Result<(), Failure> {
    folder.write(JSON, json)?;
    folder.remove(PARTIAL)?;
    let pictures = page::pictures(found);
    for name in page::names(SERVICES.iter().map(|service| service.kind.name)) {
        match pictures.iter().find(|(drawn, _)| *drawn == name) {
            Some((_, svg)) => folder.write(&format!("{name}.svg"), svg)?,
            None => folder.remove(&format!("{name}.svg"))?,
        }
    }
    folder.write("index.html", &page::page(found, &pictures))
}

/// Loads of which a run counts, without the watch and with it, or what the watch costs.
fn has_numbers(service: &ServiceFound) -> bool {
    match &service.cost {
        Some(cost) => cost.whole.cpu.is_some(),
        None => {
            let counts = |of: fn(&LoadFound) -> &RunsFound| {
                service.loads.iter().any(|load| of(load).valid > 0)
            };
            counts(|load| &load.plain) && counts(|load| &load.watched)
        }
    }
}

/// Wrong answers of runs beside the loads count, too.
fn conclusion(found: &Found) -> Conclusion {
    let loads = || found.services.iter().flat_map(|one| &one.loads);
    let costs = found.services.iter().filter_map(|one| one.cost.as_ref());
    Conclusion {
        // Of each service, or its table would have no number that counts.
        counts: found.services.iter().all(has_numbers),
        wrong_answers: loads()
            .map(|load| load.plain.wrong_answers + load.watched.wrong_answers)
            .sum::<u64>()
            + costs.map(|cost| cost.wrong_answers).sum::<u64>(),
    }
}
