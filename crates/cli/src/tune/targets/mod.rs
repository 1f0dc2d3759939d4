//! What is measured: a run of a scenario, or a command that prints JSON.

mod command;
mod scenario;
mod gauge;
mod late;

pub(super) use late::Late;

use super::dial::{Dial, Offer, Setting};
use crate::failure::Failure;
use crate::values::duration;
use clap::Args;
use command::run;
use gauge::Gauge;
use scenario::ScenarioTarget;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tailwater_core::duration::format_duration;
use tailwater_program::interrupt::Interrupt;
use tailwater_tune::ab::{Better, Block, Guard};

/// Added to readings of guards that a command prints, which may be zero.
const FLOOR: f64 = 1e-6;
/// Where `tailwater tune drive`, and whoever else wants it judged, says how late its generator was (99th percentile, µs).
const COMMAND_LATE: &str = "/sent_late_p99_us";
/// The same of a scenario's run.
const RUN_LATE: &str = "/runs/0/lateness_p99_us";

#[derive(Args, Debug, Clone)]
pub(crate) struct TargetOptions {
    /// A block is a run of this scenario, which must be one: a demand, a controller and a number of clients, with
    /// `[capacity] fixed_rps`.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(super) scenario: Option<PathBuf>,
    /// The scenario's text, where it comes with the program; the file is then its name.
    #[arg(skip)]
    pub(super) scenario_text: Option<String>,
    /// The quantity that is compared. Of a scenario: cpu (of the server per request), p50, p99, p999 or goodput. Of a
    /// command: where it stands in the JSON that is printed, as /server/cpu_ns (RFC 6901); left out: all that is printed
    /// is a number.
    #[arg(long, value_name = "QUANTITY")]
    pub(super) metric: Option<String>,
    /// Which way the quantity shall go: less or more. Left out: more for goodput, otherwise less.
    #[arg(long, value_name = "WAY", value_parser = way)]
    pub(super) better: Option<Better>,
    /// A number of the printed JSON of which more is worse, as /errors; may be repeated. Scenarios have guards of their
    /// own: p99.9, requests that are late or refused, lost requests, memory.
    #[arg(long = "guard", value_name = "POINTER")]
    pub(super) guards: Vec<String>,
    /// How much worse than before a guard may be.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = super::percent)]
    pub(super) tolerate: f64,
    /// The longest that a block may take.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = duration)]
    pub(super) block_limit: Duration,
    /// How late a block's generator may be (99th percentile). A later block is void and made again, three times at most. Of
    /// commands it holds for those that print /sent_late_p99_us, as tailwater tune drive does.
    #[arg(long, value_name = "TIME", default_value = LATE_MAX, value_parser = duration)]
    pub(super) late_max: Duration,
    /// How long a block waits once its knobs are turned. Left out: as long as the slowest of them takes, which tailwater tune
    /// knobs tells.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) settle: Option<Duration>,
    /// The command to measure, behind --. {seed} in its words becomes the block's seed, {NAME} the value of --knob
    /// NAME=VALUE, {tailwater} this program.
    #[arg(last = true, value_name = "CMD")]
    pub(super) command: Vec<String>,
}

/// Some thirty times what a generator with a core of its own is late by on a quiet machine.
pub(super) const LATE_MAX: &str = "1ms";

fn way(text: &str) -> Result<Better, String> {
    match text {
        "less" => Ok(Better::Less),
        "more" => Ok(Better::More),
        _ => Err(format!("'{text}' found, less or more is needed")),
    }
}

/// What is measured in each block.
pub(super) struct Target {
    kind: Kind,
    metric: Gauge,
    better: Better,
    guards: Vec<(Guard, Gauge)>,
    limit: Duration,
    late_max: Duration,
    settle: Option<Duration>,
}

/// What came of a block.
pub(super) enum Played {
    Block(Block),
    /// Its generator was late.
    Void(Late),
}

enum Kind {
    Command(Vec<String>),
    Scenario(Box<ScenarioTarget>),
}

impl Target {
    pub(super) fn new(options: &TargetOptions) -> Result<Self, Failure> {
        let (kind, metric, mut guards) = match &options.scenario {
            Some(file) => {
                let scenario = ScenarioTarget::new(file, options.scenario_text.clone())?;
                let metric = gauge::of_scenario(options.metric.as_deref().unwrap_or("cpu"))?;
                let guards = gauge::guards(&metric, options.tolerate);
                (Kind::Scenario(Box::new(scenario)), metric, guards)
            }
            None if options.command.is_empty() => {
                return Err(Failure::usage(
                    "there is nothing to measure; give --scenario FILE, or a command behind --",
                ));
            }
            None => {
                let metric = gauge::at(options.metric.as_deref().unwrap_or(""))?;
                (Kind::Command(options.command.clone()), metric, Vec::new())
            }
        };
        for pointer in &options.guards {
            let tolerated = options.tolerate.ln_1p();
            let guard = Guard { name: pointer.clone(), floor: FLOOR, tolerated };
            guards.push((guard, gauge::at(pointer)?));
        }
        let better = options.better.unwrap_or(metric.usual());
        let TargetOptions { block_limit: limit, late_max, settle, .. } = *options;
        Ok(Self { kind, metric, better, guards, limit, late_max, settle })
    }

    pub(super) fn offer(&self) -> Offer<'_> {
        match &self.kind {
            Kind::Command(words) => Offer { words, is_scenario: false },
            Kind::Scenario(_) => Offer { words: &[], is_scenario: true },
        }
    }

    pub(super) const fn better(&self) -> Better {
        self.better
    }

    /// How reports call the quantity.
    pub(super) fn metric(&self) -> &str {
        self.metric.name()
    }

    /// How reports call what is measured.
    pub(super) fn name(&self) -> String {
        match &self.kind {
            Kind::Command(words) => words.join(" "),
            Kind::Scenario(scenario) => scenario.name(),
        }
    }

    pub(super) const fn late_max(&self) -> Duration {
        self.late_max
    }

    /// How long a block waits once these are turned.
    pub(super) fn settle(&self, dials: &[Dial]) -> Duration {
        let slowest = || dials.iter().map(Dial::settle).max().unwrap_or_default();
        self.settle.unwrap_or_else(slowest)
    }

    pub(super) fn guards(&self) -> Vec<Guard> {
        self.guards.iter().map(|(guard, _)| guard.clone()).collect()
    }

    /// Refuses a setting that the target would refuse, before anything is measured.
    pub(super) fn check(&self, dials: &[Dial], setting: &Setting) -> Result<(), Failure> {
        match &self.kind {
            Kind::Command(_) => Ok(()),
            Kind::Scenario(scenario) => scenario.with(dials, setting).map(drop),
        }
    }

    /// The words that start a block, for people.
    pub(super) fn words(&self, dials: &[Dial], setting: &Setting, seed: u64) -> Vec<String> {
        let launch = launch(dials, setting);
        let words = match &self.kind {
            Kind::Command(words) => filled(words, dials, setting, seed),
            Kind::Scenario(scenario) => scenario.words_for_people(dials, setting, seed),
        };
        if launch.is_empty() {
            return words;
        }
        let mut all: Vec<String> = ["tailwater", "tune", "exec"].map(String::from).into();
        all.extend(launch.into_iter().flat_map(|knob| ["--knob".into(), knob]));
        all.push("--".into());
        all.extend(words);
        all
    }

    /// How late the generator was, where that is too late.
    fn late(&self, json: &Value) -> Option<String> {
        let pointer = match &self.kind {
            Kind::Command(_) => COMMAND_LATE,
            Kind::Scenario(_) => RUN_LATE,
        };
        let late_us = json.pointer(pointer).and_then(Value::as_f64)?;
        let most = self.late_max;
        let is_late = late_us > most.as_secs_f64() * 1e6;
        is_late.then(|| {
            format!("its lateness (p99) was {late_us:.0} µs, above {}", format_duration(most))
        })
    }

    /// Measures a block, with the lines in which it told of causes. Its noise is the machine's, and not told here.
    pub(super) fn block(
        &self,
        (dials, setting): (&[Dial], &Setting),
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<(Played, Vec<String>), Failure> {
        let launch = launch(dials, setting);
        let said = match &self.kind {
            Kind::Command(words) => {
                let words = filled(words, dials, setting, seed);
                run(&words, &launch, None, (seed, self.limit), interrupt)?.succeeded()?
            }
            Kind::Scenario(scenario) => {
                let words = scenario.words(seed)?;
                let text = scenario.with(dials, setting)?;
                let input = Some((text.as_str(), scenario.folder()));
                run(&words, &launch, input, (seed, self.limit), interrupt)?
            }
        };
        let json = gauge::json(&said.text).map_err(|why| said.failed(&why))?;
        if let Some(late) = self.late(&json) {
            let causes = causes(said.complaints);
            return Ok((Played::Void(Late::of(late, &causes)), causes));
        }
        let invalid = match &self.kind {
            Kind::Command(_) => None,
            Kind::Scenario(_) => scenario::invalid(&json).map_err(|why| said.failed(&why))?,
        };
        let read = |gauge: &Gauge| gauge.read(&json).map_err(|why| said.failed(&why));
        let guards = self.guards.iter().map(|(_, gauge)| match read(gauge)? {
            // It would count as zero, and so would a worse one: the guard could never be raised.
            below if below < 0.0 => Err(said.failed(&negative(gauge.name(), below))),
            reading => Ok(reading),
        });
        let guards = guards.collect::<Result<_, Failure>>()?;
        let metric = read(&self.metric)?;
        let block = Block { metric, guards, noise: Vec::new(), invalid, void: 0 };
        Ok((Played::Block(block), causes(said.complaints)))
    }
}

/// Why a guard's reading is none.
fn negative(name: &str, found: f64) -> String {
    format!("the guard {name} is {found}; a number of at least 0 is needed, of which more is worse")
}

/// Complaints but for the run's own conclusion, which says no more than that the block does not count.
fn causes(complaints: Vec<String>) -> Vec<String> {
    complaints.into_iter().filter(|line| !line.starts_with("there is no result")).collect()
}

/// What `tailwater tune exec` is told.
fn launch(dials: &[Dial], setting: &Setting) -> Vec<String> {
    dials.iter().zip(setting).filter_map(|(dial, value)| dial.launch(value)).collect()
}

/// A command's words with values for the names in braces.
fn filled(words: &[String], dials: &[Dial], setting: &Setting, seed: u64) -> Vec<String> {
    let myself = std::env::current_exe().unwrap_or_else(|_| "tailwater".into());
    let fill = |word: &String| {
        let word = word.replace("{seed}", &seed.to_string());
        let word = word.replace("{tailwater}", &myself.display().to_string());
        dials.iter().zip(setting).fold(word, |word, (dial, value)| dial.fill(&word, value))
    };
    words.iter().map(fill).collect()
}
