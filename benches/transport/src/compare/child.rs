//! Other processes: started, heard within a time limit, and ended with us, however we end.

use crate::drive::{Outcome, PATIENCE};
use crate::patience::Patience;
use crate::poller::Reception;
use crate::protocol::Name;
use crate::ready::Ready;
use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program and its arguments.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LeashArgs {
    /// The program, then its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Becomes that program, which the kernel kills as soon as the thread that started it ends. A killed
/// experiment thus leaves no server behind that spins on a core.
pub(crate) fn leash(args: &LeashArgs) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    let [program, rest @ ..] = &args.command[..] else {
        return Err("found no program to run".to_owned());
    };
    let error = Command::new(program).args(rest).exec();
    Err(format!("cannot start {}: {error}", program.display()))
}

/// This very program.
pub(super) fn ourselves() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("cannot tell our own path: {error}"))
}

/// A server that has said where it listens; killed when dropped.
#[derive(Debug)]
pub(super) struct Server {
    _child: Leashed,
    pub(super) ready: Ready,
}

impl Server {
    pub(super) fn start(program: &Path, args: &[String]) -> Result<Self, String> {
        let mut child = Leashed::start(program, args)?;
        let line = child.hear(PATIENCE, Until::Line)?;
        let ready: Ready = serde_json::from_str(&line).map_err(|error| {
            format!(
                "{} said `{}`, needed {{\"listening\":\"ADDRESS\",\"pid\":N}}: {error}",
                program.display(),
                line.trim_end()
            )
        })?;
        if ready.pid != child.0.id() {
            return Err(format!(
                "found the process id {} in what {} said, needed its own, {}",
                ready.pid,
                program.display(),
                child.0.id()
            ));
        }
        Ok(Self { _child: child, ready })
    }
}

/// What the generator is told.
pub(super) struct Load {
    pub(super) protocol: Name,
    pub(super) connections: u32,
    pub(super) outstanding: u32,
    pub(super) reception: Reception,
    pub(super) warmup_ms: u64,
    pub(super) window: Duration,
    pub(super) core: usize,
    /// Another process that is part of the experiment.
    pub(super) beside: Option<u32>,
}

/// Runs the generator in a process of its own and waits for what it found.
pub(super) fn drive(server: Ready, load: &Load) -> Result<Outcome, String> {
    let protocol = load.protocol.to_possible_value();
    let options = [
        ("--protocol", protocol.map_or(String::new(), |value| value.get_name().to_owned())),
        ("--connect", server.listening.to_string()),
        ("--server-pid", server.pid.to_string()),
        ("--connections", load.connections.to_string()),
        ("--outstanding", load.outstanding.to_string()),
        ("--reception", load.reception.to_string()),
        ("--warmup-ms", load.warmup_ms.to_string()),
        ("--window-ms", load.window.as_millis().to_string()),
        ("--core", load.core.to_string()),
    ];
    let beside = load.beside.map(|pid| ["--beside-pid".to_owned(), pid.to_string()]);
    let mut args = vec!["drive".to_owned()];
    args.extend(beside.into_iter().flatten());
    args.extend(options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
    let mut child = Leashed::start(&ourselves()?, &args)?;
    // Connecting, greeting and draining are each bounded by the generator itself.
    let limit = 4 * PATIENCE + Duration::from_millis(load.warmup_ms) + load.window;
    let said = child.hear(limit, Until::End)?;
    let status = child.0.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("the generator ended with {status}"));
    }
    serde_json::from_str(&said).map_err(|error| format!("the generator said `{said}`: {error}"))
}

/// A child process that does not outlive us.
#[derive(Debug)]
struct Leashed(Child);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Line,
    End,
}

/// Longest wait at once.
const SLICE: Duration = Duration::from_millis(100);
/// More is not listened to.
const SAID_MAX: usize = 64 << 10;

impl Leashed {
    fn start(program: &Path, args: &[String]) -> Result<Self, String> {
        let mut command = Command::new(ourselves()?);
        command.arg("leash").arg("--").arg(program).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn();
        child.map(Self).map_err(|error| format!("cannot start {}: {error}", program.display()))
    }

    /// What the child says on its standard output, sleeping meanwhile.
    fn hear(&mut self, limit: Duration, until: Until) -> Result<String, String> {
        let out = self.0.stdout.as_mut().ok_or("the child's output is not ours")?;
        let mut said = Vec::new();
        let mut patience = Patience::of(limit);
        while !patience.is_over() {
            let mut wanted = [PollFd::new(out, PollFlags::IN)];
            let timeout = Timespec { tv_sec: 0, tv_nsec: SLICE.subsec_nanos().into() };
            match poll(&mut wanted, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
            let mut part = [0; 4 << 10];
            let read = out.read(&mut part).map_err(|error| error.to_string())?;
            said.extend_from_slice(&part[..read]);
            let enough = read == 0 || until == Until::Line && said.contains(&b'\n');
            if enough || said.len() > SAID_MAX {
                return Ok(String::from_utf8_lossy(&said).into_owned());
            }
        }
        Err(format!("the child did not come to an end in {limit:?}"))
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
