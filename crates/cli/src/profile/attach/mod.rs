//! `tailwater profile attach`: records a program that runs already, by a process beside it.

mod recorder;
mod flight;
mod top;

use super::build;
use super::percentile::percentile;
use super::record::{
    Beside, Lines, Retained, Scanning, Whose, all_of, check_room, conclude, make_room,
};
use crate::failure::{Failure, tell};
use crate::values::duration;
use clap::Args;
use flight::{Flight, SlowCall, slow_call};
use recorder::{Outcome, Post, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use tailwater_report::time;

pub(super) use top::{TopOptions, top};

#[derive(Args, Debug)]
pub(crate) struct AttachOptions {
    /// The number of the process, as `pgrep NAME` finds it.
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
    /// The trace; what was there is replaced.
    #[arg(
        short,
        long,
        visible_alias = "out",
        value_name = "TRACE",
        default_value = "tailwater.trace"
    )]
    output: PathBuf,
    /// Detach after so long, such as 10s. Without it, detach by Ctrl-C.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    length: Option<Duration>,
    #[command(flatten)]
    scanning: Scanning,
    /// Record also what the operating system did with the program's threads, in TRACE.kernel, as `record --kernel` does. System
    /// calls are counted of the threads that run at the beginning.
    #[arg(long)]
    kernel: bool,
    #[command(flatten)]
    lines: Lines,
    /// Keep only requests above this percentile of all, such as p99.9, with all that happened meanwhile, so that hours take
    /// little room. Up to 100,000 requests are kept. TRACE.kernel and TRACE.lines are not cut down.
    #[arg(long, value_name = "PERCENTILE", value_parser = percentile)]
    keep: Option<f64>,
    /// Keep only what happened within so long before the end, such as 30s, as a flight recorder does: calls, waits and
    /// marks. With --kernel and --lines, TRACE.kernel and TRACE.lines are of the same time. At most two million of these are held
    /// in memory, in some 200 MB. So are as many facts of the kernel, in up to 500 MB, and as many samples, in 200 MB.
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "keep")]
    last: Option<Duration>,
    /// Detach once a call of a function took longer for sure, such as 'handle*>10ms'; it is looked for from the first tenth of
    /// a second on. The name is as shown or as the linker has it, and `*` stands for anything.
    #[arg(long, value_name = "GLOB>TIME", value_parser = slow_call, requires = "last")]
    until: Option<SlowCall>,
}

impl AttachOptions {
    fn keeps_part(&self) -> bool {
        self.keep.is_some() || self.last.is_some()
    }
}

pub(super) fn attach(options: &AttachOptions) -> Result<(), Failure> {
    let program = build::recorder()?;
    check_room(&options.output)?;
    let trace = std::path::absolute(&options.output).map_err(Failure::usage)?;
    let written = if options.keeps_part() { all_of(&trace) } else { trace.clone() };
    check_room(&written)?;
    let post = Post::open()?;
    let mut part = None;
    // Before the trace begins, so that it has all of that time.
    let whose = Whose::Running(options.pid);
    let beside = Beside::start((options.kernel, &options.lines), &trace, whose, options.last);
    let mut command = command(&program, options.pid, &written, &options.scanning);
    let outcome = run(&mut command, options.length, &post, |name| {
        let until = match options.length {
            Some(length) => format!("for {}", time(length.as_secs_f64() * 1e6)),
            None => "until Ctrl-C".into(),
        };
        let started = Part::start(options, &trace, &post);
        if started.is_err() {
            post.bell().ring();
        }
        part = Some(started);
        tell(&format!("Recording {name} ({}) {until}.", options.pid));
    });
    let Some((name, began)) = begun(&outcome) else {
        beside.discard();
        // What follows the trace ends before its files are left.
        let _ = part.map(|part| part.and_then(Part::finish));
        return Err(refused(options.pid, &outcome?));
    };
    // First: the last moments end when the trace does.
    let beside = beside.finish();
    let kept = part.map_or(Ok(String::new()), |part| part.and_then(Part::finish));
    let outcome = outcome?;
    let (took, kept) = (began.elapsed(), kept?);
    let found = conclude(&options.output, took, options.scanning.counters())?;
    tell(&format!("{} {found}{kept}{beside}", ending(&outcome, &name, options.pid)));
    if outcome.status.success() { Ok(()) } else { Err(failed(&options.output, &outcome)) }
}

/// The program's name and when recording began, where it did.
fn begun(outcome: &Result<Outcome, Failure>) -> Option<(String, Instant)> {
    outcome.as_ref().ok()?.begun.clone()
}

/// What of the recording stays.
enum Part {
    All,
    /// The slowest requests, of a recording that began then.
    Slowest(Retained, SystemTime),
    /// The last moments.
    Last(Flight),
}

impl Part {
    /// Recording has begun: the recorder has replaced what it writes. Before that, a refusal would cost a trace of before.
    fn start(options: &AttachOptions, trace: &Path, post: &Post) -> Result<Self, Failure> {
        if options.keeps_part() {
            make_room(&options.output)?;
        }
        Ok(match (options.keep, options.last) {
            (Some(above), _) => {
                let bell = post.bell();
                let retained = Retained::start(trace, above, move |_| bell.ring());
                Self::Slowest(retained, SystemTime::now())
            }
            (None, Some(last)) => {
                Self::Last(Flight::start(trace, last, options.until.clone(), post.bell()))
            }
            (None, None) => Self::All,
        })
    }

    /// What stays, in words.
    fn finish(self) -> Result<String, Failure> {
        match self {
            Self::All => Ok(String::new()),
            Self::Slowest(retained, since) => retained.finish(since),
            Self::Last(flight) => flight.finish(),
        }
    }
}

fn command(program: &Path, pid: u32, trace: &Path, scanning: &Scanning) -> Command {
    let mut command = Command::new(program);
    command.arg(pid.to_string()).arg(trace);
    // It has a runtime too, which is to record nothing of its own.
    command.env_remove("TAILWATER_PROFILE_OUT");
    scanning.tell(&mut command);
    command
}

/// Why recording ended, as a sentence.
fn ending(outcome: &Outcome, name: &str, pid: u32) -> String {
    match outcome.over.as_deref() {
        Some("gone") => format!("{name} ({pid}) has ended."),
        Some("replaced") => format!("{name} ({pid}) has become another program."),
        Some("late") => format!(
            "Detached from {name} ({pid}): the recorder stood still for seconds, and the program took it for dead."
        ),
        Some(_) => format!("Detached from {name} ({pid})."),
        None => format!("The recorder of {name} ({pid}) was killed."),
    }
}

fn refused(pid: u32, outcome: &Outcome) -> Failure {
    match (outcome.status.code(), outcome.complaint.as_str()) {
        (Some(_), complaint) if !complaint.is_empty() => {
            Failure::usage(format!("process {pid}: {complaint}"))
        }
        _ => Failure::work(format!("process {pid}: the recorder ended: {}", outcome.status)),
    }
}

fn failed(trace: &Path, outcome: &Outcome) -> Failure {
    let trace = trace.display();
    match outcome.status.code() {
        Some(_) => Failure::work(format!("{trace}: {}", outcome.complaint)),
        None => Failure::work(format!(
            "{trace}: the recorder was killed ({}); what it had written is there",
            outcome.status
        )),
    }
}
