//! `tailwater run`: a scenario file on loopback or in simulation, and what is said about it.

mod account;
mod busiest;
pub(crate) mod cores;
mod course;
mod deployment;
mod flags;
pub(crate) mod foreign;
mod generator;
pub(crate) mod launched;
mod loopback;
mod member;
mod options;
mod others;
pub(crate) mod output;
mod process;
mod program;
mod simulation;
mod spoiled;
mod stage;
mod stand;
mod unchanged;
mod watch;

use crate::failure::{Failure, complain};
use crate::folder::{Folder, PARTIAL, RESULT};
use crate::prepare::prepare;
use crate::progress::Progress;
use crate::scenarios::Said;
use crate::{applications, notes, scenarios};
use busiest::Busiest;
use loopback::Loopback;
pub(crate) use options::{Driver, PictureOptions, RunOptions};
pub(crate) use others::tell as tell_of_others;
use simulation::Simulation;
use spoiled::Advice;
pub(crate) use stage::Stage;
pub(crate) use stand::Stand;
use std::io::Write as _;
use std::path::Path;
use tailwater_core::Rate;
use tailwater_experiment::{Shard, Unfinished, check, pieces};
use tailwater_load::application::{Whose, check_count};
use tailwater_program::interrupt::Interrupt;
use tailwater_sim::{Failure as Trouble, Simulator};
use tailwater_stats::result::{DataUsed, Experiment};
use tailwater_workload::Scenario;
use watch::Watcher;

pub(crate) fn run(options: &RunOptions) -> Result<(), Failure> {
    let scenario = scenarios::parse(&options.file, &scenarios::read(&options.file)?)?;
    let is_simulated = options.on == Driver::Sim;
    // Before the work: it may be ended for what they say.
    for note in notes::of(&scenario, (!is_simulated, is_simulated)) {
        complain(&format!("note: {note}"));
    }
    concluded(options, scenario)
}

/// What there is to say of all runs together.
pub(crate) struct Conclusion {
    /// Some run is valid.
    pub(crate) counts: bool,
    /// In all runs.
    pub(crate) wrong_answers: u64,
}

impl Conclusion {
    fn of(experiment: &Experiment) -> Self {
        Self {
            counts: experiment.runs.iter().any(|run| run.verdict.valid),
            wrong_answers: experiment.runs.iter().map(|run| run.answers.wrong).sum(),
        }
    }

    /// Fails with a wrong answer, or without a run that counts. A short version needs none: that the scenario works is
    /// all that it is to show.
    pub(crate) fn verdict(&self, short: bool) -> Result<(), Failure> {
        // Sound runs beside it do not mend a wrong answer, and a short version least of all.
        if self.wrong_answers > 0 {
            return Err(Failure::work(format!(
                "{} answers of the server were wrong; the service or its data are at fault: tailwater data check looks \
                 at the data",
                self.wrong_answers
            )));
        }
        if self.counts || short {
            return Ok(());
        }
        Err(Failure::work(
            "there is no result: no run is valid; the lines above and the JSON say why",
        ))
    }
}

/// Runs a scenario and tells everything.
pub(crate) fn concluded(options: &RunOptions, scenario: Scenario) -> Result<(), Failure> {
    let conclusion = play(options, scenario, &output::for_people)?;
    conclusion.verdict(is_short(options.short))
}

/// Whether a short version was asked for, by the flag or by the environment.
pub(crate) fn is_short(said: bool) -> bool {
    said || std::env::var_os("TAILWATER_SHORT").is_some_and(|value| value == "1")
}

/// Runs a scenario and says what was found, to people by `tell`.
pub(crate) fn play(
    options: &RunOptions,
    scenario: Scenario,
    tell: &dyn Fn(&Experiment) -> String,
) -> Result<Conclusion, Failure> {
    let data = options.data.path_for(&scenario)?;
    refuse(options, &scenario, &data)?;
    let short = is_short(options.short);
    let scenario = as_asked(scenario, options, short);
    if options.on == Driver::Loopback {
        refuse_too_many(&scenario, &data)?;
    }
    let mark = |shard: Shard| Ok(shard.mark(&scenario, program::digest()?));
    let mark = options.shard.map(mark).transpose()?;
    // Before the work: a result that cannot be written would be lost.
    let out = options.out.as_deref().map(Folder::prepare_for_result).transpose()?;
    if let Some(folder) = &out {
        folder.refuse_short(RESULT, short)?;
        folder.refuse_shard(mark.as_ref())?;
    }
    let interrupt = Interrupt::watch()?;
    let Made { mut experiment, failure, blame } =
        made(options, &scenario, (&data, short), &interrupt)?;
    experiment.shard = mark;
    experiment.short = short;
    let ended = interrupt.signal().map(Failure::signal).or(failure);
    if let Some(ended) = &ended {
        let all = options.shard.unwrap_or(Shard::WHOLE).runs(&scenario);
        experiment = cut_short(all, experiment, ended)?;
    }
    let text = serde_json::to_string_pretty(&experiment).map_err(Failure::work)?;
    // What something has ended is less than an earlier whole result, which stays as it is.
    let aside = out.as_ref().filter(|folder| ended.is_some() && folder.holds_whole_result());
    let own = out.as_ref().filter(|_| aside.is_none());
    let own = own.map(|folder| (folder, options.pictures.look()));
    let told = output::deliver((&experiment, &text), tell, options.json, own);
    aside.map_or(Ok(()), |folder| folder.write(PARTIAL, &text))?;
    told?;
    if let Some(blame) = blame {
        // Standard error may be closed, which changes nothing.
        let _ = writeln!(std::io::stderr(), "tailwater: {blame}");
    }
    match ended {
        None => Ok(Conclusion::of(&experiment)),
        Some(ended) => Err(ended.and(&kept(aside))),
    }
}

/// The scenario with what flags say instead of it.
fn as_asked(scenario: Scenario, options: &RunOptions, short: bool) -> Scenario {
    let mut scenario = if short { scenario.shorten() } else { scenario };
    scenario.seed = options.seed.unwrap_or(scenario.seed);
    scenario.repetitions = options.repetitions.unwrap_or(scenario.repetitions);
    scenario
}

/// Where to find what was run before the end; `aside` holds an earlier whole result, too.
fn kept(aside: Option<&Folder<'_>>) -> String {
    match aside {
        None => "the result holds what was run before".to_owned(),
        Some(folder) => format!(
            "what was run before is in {}, as the folder held a whole result",
            folder.path().join(PARTIAL).display()
        ),
    }
}

/// Everything that can be refused before a folder is made or a process started.
fn refuse(options: &RunOptions, scenario: &Scenario, data: &Path) -> Result<(), Failure> {
    check(scenario).map_err(Failure::usage)?;
    match options.on {
        Driver::Loopback => {
            refuse_on_sockets(scenario, data)?;
            if options.threads.is_some() {
                let why = "--threads is given, but runs over sockets would disturb each other";
                return Err(Failure::usage(format!("{why}; leave it out, or type --on sim")));
            }
            if options.shard.is_some() {
                let why = "--shard is given, but what machines measure over sockets is no part of one result";
                return Err(Failure::usage(format!("{why}; leave it out, or type --on sim")));
            }
            Ok(())
        }
        Driver::Sim => {
            scenario.needs_sockets().map_or(Ok(()), Err).map_err(Failure::usage)?;
            match options.shard {
                Some(shard) if pieces(scenario, shard, false) == 0 => Err(Failure::usage(format!(
                    "--shard is {shard}, but there is no run for it; fewer shards are needed"
                ))),
                _ => Ok(()),
            }
        }
    }
}

/// The same of what sockets cannot play.
fn refuse_on_sockets(scenario: &Scenario, data: &Path) -> Result<(), Failure> {
    scenario.needs_simulator().map_or(Ok(()), Err).map_err(Failure::usage)?;
    applications::of(scenario, data).map_err(Failure::usage)?;
    launched::knobs(scenario).map_err(Failure::usage)?;
    cores::check(scenario)?;
    foreign::check(scenario)
}

/// Refuses runs of more requests than the application's oracle can hold, as far as that is known ahead: what follows a
/// capacity that is measured is looked at when the run begins.
fn refuse_too_many(scenario: &Scenario, data: &Path) -> Result<(), Failure> {
    let application = applications::of(scenario, data).map_err(Failure::usage)?;
    let capacity = scenario.capacity.fixed.unwrap_or(Rate(0.0));
    let each = scenario.configurations();
    let mut counts = each.iter().map(|one| one.demand_plan(capacity).requests());
    counts.try_for_each(|requests| check_count(&*application, requests)).map_err(Failure::usage)
}

/// What came of an experiment.
struct Made {
    /// Everything, or what was run before a signal or a failure.
    experiment: Experiment,
    failure: Option<Failure>,
    /// Why runs do not count, where others were the cause.
    blame: Option<String>,
}

/// Runs it by its driver, as far as nothing ends it.
fn made(
    options: &RunOptions,
    scenario: &Scenario,
    (data, short): (&Path, bool),
    interrupt: &Interrupt,
) -> Result<Made, Failure> {
    match options.on {
        Driver::Loopback => {
            let used = prepared(scenario, data, interrupt)?;
            let mut made = on_sockets(scenario, (data, &used), short, interrupt);
            made.experiment.data = used;
            Ok(made)
        }
        Driver::Sim => Ok(simulate(scenario, options, interrupt)),
    }
}

fn on_sockets(
    scenario: &Scenario,
    (data, used): (&Path, &[DataUsed]),
    short: bool,
    interrupt: &Interrupt,
) -> Made {
    others::tell();
    let busiest = Busiest::begin();
    let progress = Progress::new(pieces(scenario, Shard::WHOLE, true));
    let mut driver = Loopback::new(scenario, (Said::of(scenario, data), used), interrupt);
    let watcher = Watcher::new(&progress, interrupt);
    // Of a short version no run has to count.
    let mut watcher =
        if short { watcher } else { watcher.advising(Advice::new(scenario, &busiest)) };
    let played = tailwater_experiment::run(scenario, &mut driver, &mut watcher);
    let made = Made::of(played, |failure| failure);
    Made { blame: busiest.blame(&made.experiment), ..made }
}

/// Prepares the data of the application, once for all processes. A signal ends it.
pub(crate) fn prepared(
    scenario: &Scenario,
    data: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<DataUsed>, Failure> {
    let goes_on =
        || interrupt.signal().map_or(Ok(()), |signal| Err(Failure::signal(signal).to_string()));
    let prepared = prepare(scenario, data, Whose::All, &goes_on);
    match interrupt.signal() {
        Some(signal) => Err(Failure::signal(signal).and("its data were not prepared")),
        None => prepared,
    }
}

/// Simulated runs that are under way when a signal comes are done first.
fn simulate(scenario: &Scenario, options: &RunOptions, interrupt: &Interrupt) -> Made {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let shard = options.shard.unwrap_or(Shard::WHOLE);
    let progress = Progress::new(pieces(scenario, shard, false));
    let within = progress.within();
    let advance = |share| within.advance(share);
    let simulator = Simulator::new(scenario).telling(&advance);
    let stops = || interrupt.signal().is_some();
    let threads = options.threads.unwrap_or(available).max(1);
    let mut driver = Simulation { simulator, threads, stops: &stops };
    let mut watcher = Watcher::new(&progress, interrupt);
    let played = tailwater_experiment::run_shard(scenario, shard, &mut driver, &mut watcher);
    Made::of(played, |trouble| match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    })
}

impl Made {
    fn of<F>(
        played: Result<Experiment, Unfinished<F>>,
        failure_of: impl FnOnce(F) -> Failure,
    ) -> Self {
        let (experiment, failure) = match played {
            Ok(all) => (all, None),
            Err(Unfinished { failure, made }) => (*made, Some(failure_of(failure))),
        };
        Self { experiment, failure, blame: None }
    }
}

/// What was run of so many runs before the signal or the failure, if anything was; else that.
fn cut_short(all: u64, mut experiment: Experiment, ended: &Failure) -> Result<Experiment, Failure> {
    if experiment.runs.is_empty() {
        return Err(match ended {
            Failure::Signal(..) => Failure::clone(ended).and("no run took place"),
            failure => Failure::clone(failure),
        });
    }
    let why = format!("{ended}, after {} of {all} runs", experiment.runs.len());
    experiment.cut_short = Some(why);
    Ok(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::Run;

    /// It was said to be 5 of all runs of the experiment.
    #[test]
    fn what_was_run_is_told_of_so_many_runs() {
        let made = Experiment { runs: vec![Run::default(); 5], ..Experiment::default() };
        let ended = Failure::work("the disk is full");
        let made = cut_short(6, made, &ended).expect("some runs");
        assert_eq!(made.cut_short.as_deref(), Some("the disk is full, after 5 of 6 runs"));
        assert!(cut_short(6, Experiment::default(), &ended).is_err());
    }

    #[test]
    fn a_wrong_answer_fails_whatever_else_is_sound() {
        for (counts, wrong_answers, short, sound) in [
            (true, 0, false, true),
            (false, 0, true, true),
            (false, 0, false, false),
            (true, 1, false, false),
            (true, 1, true, false),
        ] {
            let verdict = Conclusion { counts, wrong_answers }.verdict(short);
            assert_eq!(verdict.is_ok(), sound, "{counts} {wrong_answers} {short}");
        }
    }
}
