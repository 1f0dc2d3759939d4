//! From symptom to cause on three programs that are not ours: what clients see, what the profiler says of it, and what
//! clients see once the cause is gone (`docs/profiling-guide.md`).
//!
//! [`Subject`] lists the programs; [`service`] runs a server under load beside a second client, [`sqlite`] a program with
//! SQLite in it. [`result`] is what is kept of it.

mod attached;
mod clocked;
mod full;
mod kept;
mod killed;
mod memcached;
mod open;
mod options;
mod own;
mod planted;
mod recorded;
mod redis;
mod result;
mod service;
mod sqlite;
mod tails;
mod visitor;
mod watch;

pub(crate) use attached::{AttachedArgs, attached};
pub(crate) use clocked::clocked;
pub(crate) use full::{FullArgs, full};
pub(crate) use kept::{KeptArgs, kept};
pub(crate) use killed::{KilledArgs, killed};
pub(crate) use options::{OptionsArgs, options};
pub(crate) use planted::planted;
pub(crate) use recorded::{RecordedArgs, recorded};
pub(crate) use tails::{TailsArgs, tails};

use crate::Result;
use crate::trial::Trial;
use clap::{Args, ValueEnum};
use machine::Origin;
use machine::command::output;
use result::{GuideResult, Reading, Said};
use service::Service;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct GuideArgs {
    #[command(flatten)]
    of: Tried,
    /// Repetitions, each of before, after, after, before.
    #[arg(long, default_value_t = 3)]
    quads: usize,
    /// How long each run counts.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
}

/// A server under load that is recorded, several times.
#[derive(Args, Debug)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    of: Tried,
    /// Each on a fresh server.
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// How long each is under load.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
}

/// Which of the programs is tried, and its build.
#[derive(Args, Debug)]
struct Tried {
    /// Which program.
    #[arg(value_enum)]
    subject: Subject,
    #[command(flatten)]
    trial: Trial,
    /// One more option of `tailwater profile attach`, such as --with=--scanners=0; may be given several times.
    #[arg(long = "with", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    /// Big keys that expire.
    Redis,
    /// A tool that lists all keys.
    Memcached,
    /// A log that is copied back within a commit.
    Sqlite,
}

/// Whether the cause is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    Before,
    After,
}

/// One run: of what, how, how long, and where a trace of it goes, if any.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    program: &'a Path,
    folder: &'a Path,
    variant: Variant,
    length: Duration,
    trace: Option<&'a Path>,
}

impl Subject {
    fn run(self, run: Run<'_>) -> Result<Reading> {
        match self {
            Self::Redis => service::run(&redis::SERVICE, run),
            Self::Memcached => service::run(&memcached::SERVICE, run),
            Self::Sqlite => sqlite::run(run),
        }
    }

    /// What is changed once the cause is known.
    fn change(self) -> &'static str {
        match self {
            Self::Redis => redis::CHANGE,
            Self::Memcached => memcached::CHANGE,
            Self::Sqlite => sqlite::CHANGE,
        }
    }

    /// What is asked of the trace, in the order of the page: the words after `tailwater profile`.
    fn questions(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Redis => redis::QUESTIONS,
            Self::Memcached => memcached::QUESTIONS,
            Self::Sqlite => sqlite::QUESTIONS,
        }
    }
}

/// Records, asks, and measures before and after. The result is written when all of it is there.
pub(crate) fn guide(args: &GuideArgs) -> Result {
    args.of.trial.make_folder()?;
    let result = GuideResult {
        title: args.of.trial.title.clone(),
        origin: Origin::now(),
        seconds: args.seconds,
        change: args.of.subject.change().to_owned(),
        said: asked(args)?,
        quads: quads(args)?,
    };
    machine::result::write(&args.of.trial.out, &result)?;
    println!("{}", result.summary());
    Ok(())
}

/// A run is recorded, and the trace asked.
fn asked(args: &GuideArgs) -> Result<Vec<Said>> {
    let trace = args.of.trial.folder.join("trace");
    let recorded = args.of.subject.run(args.run(Variant::Before, Some(&trace)))?;
    println!("recorded, {}", recorded.line());
    answers(&args.of.trial.program, &trace, args.of.subject.questions())
}

/// What a trace answers, where its program lies, as paths are then short.
fn answers(program: &Path, trace: &Path, questions: &[&[&str]]) -> Result<Vec<Said>> {
    let absolute =
        |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let (trace, program) = (absolute(trace)?, absolute(program)?);
    let beside = program.parent().ok_or("a program lies in a folder")?;
    let ask = |words: &&[&str]| {
        let mut command = Command::new("tailwater");
        command.current_dir(beside).arg("profile").args(*words).arg(&trace);
        Ok(Said { typed: typed(words), output: output(&mut command)? })
    };
    questions.iter().map(ask).collect()
}

/// As it is typed beside the trace.
fn typed(words: &[&str]) -> String {
    let quoted = words
        .iter()
        .map(|word| if word.contains('*') { format!("'{word}'") } else { (*word).to_owned() });
    let all: Vec<String> = quoted.collect();
    format!("tailwater profile {} trace", all.join(" "))
}

/// Before, after, after, before, so often; a run in which nothing is recorded.
fn quads(args: &GuideArgs) -> Result<Vec<[Reading; 4]>> {
    const ORDER: [Variant; 4] = [Variant::Before, Variant::After, Variant::After, Variant::Before];
    let quad = |number| {
        let mut readings = [Reading::default(); 4];
        for (reading, variant) in readings.iter_mut().zip(ORDER) {
            *reading = args.of.subject.run(args.run(variant, None))?;
            println!("{number}, {variant:?}: {}", reading.line());
        }
        Ok(readings)
    };
    (1..=args.quads).map(quad).collect()
}

impl Tried {
    /// As a server; its folder is there then.
    fn server(&self) -> Result<&'static Service> {
        let service = match self.subject {
            Subject::Redis => &redis::SERVICE,
            Subject::Memcached => &memcached::SERVICE,
            Subject::Sqlite => return Err("SQLite is no server; say redis or memcached".to_owned()),
        };
        self.trial.make_folder()?;
        Ok(service)
    }
}

impl GuideArgs {
    fn run<'a>(&'a self, variant: Variant, trace: Option<&'a Path>) -> Run<'a> {
        let (program, folder) = (&*self.of.trial.program, &*self.of.trial.folder);
        Run { program, folder, variant, length: Duration::from_secs(self.seconds), trace }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_can_be_typed() {
        let shown = typed(&["report", "--function", "do_*"]);
        assert_eq!(shown, "tailwater profile report --function 'do_*' trace");
    }
}
