//! A block's command in a process group of its own, which ends with this program and within its time.

use crate::failure::Failure;
use crate::group::{Group, bound_to_this};
use crate::interrupt::Interrupt;
use rustix::process::{PidfdFlags, pidfd_open};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tailwater_core::duration::format_duration;
use tailwater_core::words::clip;

/// What a block may print.
const BYTES_MAX: usize = 64 << 20;
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
    let mut command = bound_to_this(launch, words)?;
    command.env(SEED, seed.to_string());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    if let Some((_, folder)) = input.filter(|(_, folder)| !folder.as_os_str().is_empty()) {
        command.current_dir(folder);
    }
    command.stdout(Stdio::piped());
    Group::start(&mut command)
        .map_err(|error| Failure::work(format!("cannot start the command: {error}")))
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
