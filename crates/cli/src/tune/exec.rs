//! `tailwater tune exec`: a program with knobs of its process set, in this very process.

use crate::failure::Failure;
use clap::Args;
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setpriority_process};
use rustix::thread::{
    CpuSet, disable_transparent_huge_pages, sched_setaffinity, set_current_timer_slack,
};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use tailwater_core::Nanos as _;
use tailwater_core::duration::parse_duration;
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
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(Failure::work)?;
        // It may have ended before the wish was told.
        if getppid().is_none_or(|now| now.as_raw_nonzero().get() != parent) {
            return Err(Failure::work("what started this has ended"));
        }
    }
    let (program, arguments) = options.command.split_first().expect("clap wants one word");
    let mut command = Command::new(program);
    command.args(arguments);
    for said in &options.knobs {
        let (launch, value) = parse(said)?;
        if value != INHERITED {
            apply(&mut command, launch, &value)
                .map_err(|why| Failure::work(format!("{said}: {why}")))?;
        }
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
        Launch::Cpus => {
            let mut set = CpuSet::new();
            knobs::cpus(value).into_iter().flatten().for_each(|cpu| set.set(cpu));
            sched_setaffinity(None, &set).map_err(kernel)
        }
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
