//! A block's command in a process group of its own, which ends with this program and within its time.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tailwater_core::duration::format_duration;
use tailwater_core::words::clip;

/// What a block may print.
const BYTES_MAX: usize = 64 << 20;
/// What is killed and not gone by then cannot be killed.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// The environment variable that has the block's seed.
const SEED: &str = "TAILWATER_TUNE_SEED";

/// What a command said, and how it ended.
#[derive(Clone)]
pub(super) struct Said {
    name: String,
    pub(super) text: String,
    status: ExitStatus,
}

impl Said {
    /// The same where it ended well.
    pub(super) fn succeeded(self) -> Result<Self, Failure> {
        if self.status.success() { Ok(self) } else { Err(self.failed("it did not end well")) }
    }

    pub(super) fn failed(&self, why: &str) -> Failure {
        Failure::work(format!("{}: {why} ({})", self.name, self.status))
    }
}

/// Its process group; ended when dropped.
struct Group {
    child: Child,
    is_over: bool,
}

impl Group {
    fn pid(&self) -> Result<Pid, Failure> {
        let raw = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        raw.ok_or_else(|| Failure::work("the command has no process number"))
    }

    /// Ends all that is left of it, and says how the command itself ended.
    fn end(&mut self) -> Result<ExitStatus, Failure> {
        self.is_over = true;
        let pid = self.pid()?;
        // Before it is waited for: until then its number is no other's.
        let _ = kill_process_group(pid, Signal::KILL);
        if !ends(pid)? {
            return Err(Failure::work(format!(
                "the command cannot be ended, perhaps because it became another user's; end process {} by hand",
                self.child.id()
            )));
        }
        self.child.wait().map_err(Failure::work)
    }
}

/// Whether a process that was killed is gone in time. Knobs are put back either way.
fn ends(pid: Pid) -> Result<bool, Failure> {
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(Failure::work)?;
    let until = Instant::now() + ENDS_WITHIN;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(Failure::work)?;
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            found => return found.map(|ready| ready > 0).map_err(Failure::work),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.end();
        }
    }
}

/// Runs words with knobs of their process, and hears what they say. `input` is standard input, and the folder to be in.
pub(super) fn run(
    words: &[String],
    launch: &[String],
    input: Option<(&str, &Path)>,
    (seed, limit): (u64, Duration),
    interrupt: &Interrupt,
) -> Result<Said, Failure> {
    let name = clip(&words.join(" "));
    let deadline = Instant::now() + limit;
    let mut group = start(words, launch, input, seed)?;
    if let (Some((text, _)), Some(mut stdin)) = (input, group.child.stdin.take()) {
        // If it is gone already, what it does not say tells more than this write could.
        let _ = stdin.write_all(text.as_bytes());
    }
    let late = || {
        let limit = format_duration(limit);
        Failure::work(format!("{name}: it took longer than {limit}; give more by --block-limit"))
    };
    let ended = pidfd_open(group.pid()?, PidfdFlags::empty()).map_err(Failure::work)?;
    let bytes = hear(&mut group.child, &ended, (deadline, &name), interrupt)?.ok_or_else(late)?;
    if !interrupt.wait_beside_until(&ended, deadline)? {
        return Err(late());
    }
    // What it left running would disturb the next block.
    let status = group.end()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Said { name, text, status })
}

fn start(
    words: &[String],
    launch: &[String],
    input: Option<(&str, &Path)>,
    seed: u64,
) -> Result<Group, Failure> {
    let myself = std::env::current_exe()
        .map_err(|error| Failure::work(format!("cannot find my own program: {error}")))?;
    let mut command = Command::new(myself);
    command.args(["tune", "exec", "--parent", &std::process::id().to_string()]);
    for knob in launch {
        command.args(["--knob", knob]);
    }
    command.arg("--").args(words).env(SEED, seed.to_string());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    if let Some((_, folder)) = input.filter(|(_, folder)| !folder.as_os_str().is_empty()) {
        command.current_dir(folder);
    }
    command.stdout(Stdio::piped()).process_group(0);
    let started = command.spawn();
    let group = |child| Group { child, is_over: false };
    started.map(group).map_err(|error| Failure::work(format!("cannot start the command: {error}")))
}

/// All that it says until it says no more; `None` when its time is over.
fn hear(
    child: &mut Child,
    ended: &OwnedFd,
    (deadline, name): (Instant, &str),
    interrupt: &Interrupt,
) -> Result<Option<Vec<u8>>, Failure> {
    let mut stdout = child.stdout.take().ok_or_else(|| Failure::work("it cannot be heard"))?;
    let (mut said, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match interrupt.wait_beside_any(&[stdout.as_fd(), ended.as_fd()], deadline)? {
            None => return Ok(None),
            Some(0) => match stdout.read(&mut part).map_err(Failure::work)? {
                0 => return Ok(Some(said)),
                count => said.extend_from_slice(&part[..count]),
            },
            // It has ended and all that it said is read. What it left in the background may hold its output open.
            Some(_) => return Ok(Some(said)),
        }
        if said.len() > BYTES_MAX {
            return Err(Failure::work(format!("{name}: it printed more than {BYTES_MAX} bytes")));
        }
    }
}
