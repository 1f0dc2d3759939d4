//! `tailwater tune exec`: a program with knobs of its process set, in this very process.

use crate::failure::Failure;
use clap::Args;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{
    CpuSet, current_timer_slack, disable_transparent_huge_pages, sched_getaffinity,
    sched_setaffinity, set_current_timer_slack, transparent_huge_pages_are_disabled,
};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tailwater_core::Nanos as _;
use tailwater_core::duration::{format_duration, parse_duration};
use tailwater_core::pace::Scheduling;
use tailwater_load::scheduling::schedule;
use tailwater_program::bound::end_with;
use tailwater_tune::knobs::{self, INHERITED, Launch, Lever};

#[derive(Args, Debug)]
pub(crate) struct ExecOptions {
    /// A knob of the process, as nice=5; may be repeated. tailwater tune knobs lists them.
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    knobs: Vec<String>,
    /// End when this process has ended, which is the parent.
    #[arg(long, hide = true, value_name = "PID")]
    parent: Option<i32>,
    /// The program and its arguments. Put -- before it where these look like options.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    command: Vec<OsString>,
}

/// Returns only when the program cannot be started.
pub(super) fn exec(options: &ExecOptions) -> Result<(), Failure> {
    if let Some(parent) = options.parent {
        end_with(parent)?;
    }
    let (program, arguments) = options.command.split_first().expect("clap wants one word");
    let mut command = Command::new(program);
    command.args(arguments);
    let refused = |said: &str, why: String| Failure::work(format!("{said}: {why}"));
    let mut set: Vec<(&str, Launch, String)> = Vec::new();
    for said in &options.knobs {
        let (launch, value) = parse(said)?;
        if value != INHERITED {
            apply(&mut command, launch, &value).map_err(|why| refused(said, why))?;
            // Of one that is set twice the last counts.
            set.retain(|(_, before, _)| *before != launch);
            set.push((said, launch, value));
        }
    }
    // Behind all of them: a class of real time takes a slack back that was set before it.
    for (said, launch, value) in set {
        verify(launch, &value).map_err(|why| refused(said, why))?;
    }
    let error = command.exec();
    Err(Failure::work(format!("{}: {error}", program.display())))
}

fn parse(said: &str) -> Result<(Launch, String), Failure> {
    let needed =
        || Failure::usage(format!("'{said}' found, NAME=VALUE of a process knob is needed"));
    let (name, value) = said.split_once('=').ok_or_else(needed)?;
    let Some(Lever::Launch(launch)) = knobs::find(name).map(|knob| knob.lever) else {
        return Err(needed());
    };
    let value = launch.parse(value).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
    Ok((launch, value))
}

/// Sets one knob of this process, or of the command's environment.
fn apply(command: &mut Command, launch: Launch, value: &str) -> Result<(), String> {
    let kernel = |error: rustix::io::Errno| error.to_string();
    match launch {
        Launch::Nice => {
            let nice = value.parse().map_err(|_| "no number".to_owned())?;
            setpriority_process(None, nice).map_err(kernel)
        }
        Launch::Scheduling => schedule(value.parse().map_err(|_| "no class".to_owned())?)
            .map_err(|error| error.to_string()),
        Launch::Cpus => sched_setaffinity(None, &set_of(value)).map_err(kernel),
        Launch::TimerSlack => {
            let time = parse_duration(value).map_err(|error| error.to_string())?;
            set_current_timer_slack(NonZeroU64::new(time.nanos())).map_err(kernel)
        }
        Launch::NoHugePages => disable_transparent_huge_pages(true).map_err(kernel),
        Launch::Preload(known) => {
            let files = known.iter().find(|(name, _)| *name == value).map_or(&[][..], |of| of.1);
            let library = library(files).ok_or("the library is not installed")?;
            join(command, "LD_PRELOAD", library.into_os_string());
            Ok(())
        }
        Launch::Variable { .. } | Launch::Tunable { .. } | Launch::Flag { .. } => {
            if let Some((name, text)) = launch.variable(value) {
                if matches!(launch, Launch::Tunable { .. }) {
                    join(command, name, text.into());
                } else {
                    command.env(name, text);
                }
            }
            Ok(())
        }
    }
}

/// Whether this process has what was set: the kernel leaves out CPUs that are not there, and gives threads of real-time
/// classes no slack, without a word.
fn verify(launch: Launch, value: &str) -> Result<(), String> {
    let Some(found) = own(launch) else { return Ok(()) };
    let is_same = match launch {
        // The command's alone: this process keeps its own.
        Launch::Preload(_)
        | Launch::Variable { .. }
        | Launch::Tunable { .. }
        | Launch::Flag { .. } => return Ok(()),
        Launch::Cpus => sched_getaffinity(None).is_ok_and(|set| set == set_of(value)),
        Launch::TimerSlack => parse_duration(&found).ok() == parse_duration(value).ok(),
        _ => found == value,
    };
    if is_same {
        return Ok(());
    }
    Err(format!("{value} was set and {found} is read back: the kernel did not take it"))
}

/// What this process has of a knob, and what it starts inherits; `None` of what no process can be asked for.
pub(super) fn own(launch: Launch) -> Option<String> {
    match launch {
        Launch::Nice => getpriority_process(None).ok().map(|nice| nice.to_string()),
        Launch::Scheduling => scheduling(&std::fs::read_to_string("/proc/thread-self/stat").ok()?),
        Launch::Cpus => tailwater_rt::cpu::list(),
        Launch::TimerSlack => {
            current_timer_slack().ok().map(|ns| format_duration(Duration::from_nanos(ns)))
        }
        Launch::NoHugePages => {
            let is_off = transparent_huge_pages_are_disabled().ok()?;
            Some(if is_off { "never" } else { "as the kernel has it" }.into())
        }
        Launch::Variable { name, .. } | Launch::Flag { name, .. } => {
            std::env::var(name).ok().filter(|value| !value.is_empty())
        }
        Launch::Preload(_) | Launch::Tunable { .. } => None,
    }
}

/// The class that a thread's line tells (proc_pid_stat(5)): the priority is the 40th word, the policy the 41st. The name,
/// which may have spaces, is the second, in parentheses.
fn scheduling(stat: &str) -> Option<String> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace().skip(37);
    let priority: u8 = words.next()?.parse().ok()?;
    let class = match words.next()? {
        "0" => Scheduling::Normal,
        "1" => Scheduling::Fifo(priority),
        "2" => Scheduling::RoundRobin(priority),
        "3" => Scheduling::Batch,
        "5" => Scheduling::Idle,
        other => return Some(format!("policy {other}")),
    };
    Some(class.to_string())
}

fn set_of(list: &str) -> CpuSet {
    let mut set = CpuSet::new();
    knobs::cpus(list).into_iter().flatten().for_each(|cpu| set.set(cpu));
    set
}

/// Sets a variable that is a list, behind what it has already.
fn join(command: &mut Command, name: &str, text: OsString) {
    let own = command.get_envs().find(|(known, _)| *known == name);
    let before =
        own.and_then(|(_, value)| value.map(OsString::from)).or_else(|| std::env::var_os(name));
    let whole = match before.filter(|before| !before.is_empty()) {
        Some(mut before) => {
            before.push(":");
            before.push(text);
            before
        }
        None => text,
    };
    command.env(name, whole);
}

/// Where the first of these libraries lies.
pub(super) fn library(files: &[&str]) -> Option<PathBuf> {
    let triples = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let triples = triples.map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-linux-gnu"))
    });
    let fixed = ["/usr/local/lib", "/usr/lib64", "/usr/lib"].map(PathBuf::from);
    let folders: Vec<PathBuf> = triples.chain(fixed).collect();
    let places = files.iter().flat_map(|file| folders.iter().map(move |folder| folder.join(file)));
    places.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_read_from_behind_the_name_whatever_that_is() {
        let line = |name: &str, priority: u32, policy: u32| {
            let rest = vec!["0"; 36].join(" ");
            format!("7 ({name}) S {rest} {priority} {policy} 0 0\n")
        };
        for (priority, policy, class) in
            [(0, 0, "normal"), (3, 1, "fifo:3"), (9, 2, "rr:9"), (0, 3, "batch"), (0, 5, "idle")]
        {
            assert_eq!(scheduling(&line("a) b 1", priority, policy)).as_deref(), Some(class));
        }
        assert_eq!(scheduling(&line("x", 0, 6)).as_deref(), Some("policy 6"));
        assert_eq!(scheduling("7 (x) S 0"), None);
    }

    #[test]
    fn cpus_are_those_that_are_listed() {
        for (list, listed) in [("0", &[0][..]), ("0-1,3", &[0, 1, 3]), ("2,5-7", &[2, 5, 6, 7])] {
            let set = set_of(list);
            let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
            assert_eq!(cpus, listed);
        }
    }

    #[test]
    fn what_the_kernel_has_left_out_is_no_success() {
        // Far more CPUs than any machine of a test has.
        let why = verify(Launch::Cpus, "0-1023").unwrap_err();
        assert!(why.contains("is read back: the kernel did not take it"), "{why}");
        let own = own(Launch::Cpus).expect("this is Linux");
        assert_eq!(verify(Launch::Cpus, &own), Ok(()));
    }
}
