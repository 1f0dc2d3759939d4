//! A block's command in a process group of its own, which ends with this program and within its time.

use crate::failure::Failure;
use crate::group::{Group, bound_to_this};
use crate::interrupt::Interrupt;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{PidfdFlags, pidfd_open};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tailwater_core::duration::format_duration;
use tailwater_core::words::clip;

/// What a block may print.
const BYTES_MAX: usize = 64 << 20;
/// So much of a block's last words is read. A line of an error is shorter.
const LAST_WORDS_MAX: usize = 4 << 10;
/// The environment variable that has the block's seed.
const SEED: &str = "TAILWATER_TUNE_SEED";

/// What a command said, and how it ended.
#[derive(Clone)]
pub(super) struct Said {
    name: String,
    pub(super) text: String,
    /// Its last line on standard error, where that was kept.
    complaint: String,
    status: ExitStatus,
}

impl Said {
    /// The same where it ended well.
    pub(super) fn succeeded(self) -> Result<Self, Failure> {
        if self.status.success() { Ok(self) } else { Err(self.failed("it did not end well")) }
    }

    pub(super) fn failed(&self, why: &str) -> Failure {
        let Self { name, complaint, status, .. } = self;
        let because = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        Failure::work(format!("{name}: {why} ({status}){because}"))
    }
}

/// Runs words with knobs of their process, and hears what they say. `input` is standard input, and the folder to be in. Words
/// with an input are this program's: what they complain of is kept for a failure, since blocks by the hundred say the same.
pub(super) fn run(
    words: &[String],
    launch: &[String],
    input: Option<(&str, &Path)>,
    (seed, limit): (u64, Duration),
    interrupt: &Interrupt,
) -> Result<Said, Failure> {
    let name = clip(&words.join(" "));
    let deadline = Instant::now() + limit;
    let complaints = input.map(|_| Complaints::new()).transpose()?;
    let mut group = start(words, launch, (input, complaints.as_ref()), seed)?;
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
    let complaint = complaints.map_or_else(String::new, |kept| kept.last());
    Ok(Said { name, text, complaint, status })
}

/// A process' standard error, in memory.
struct Complaints(File);

impl Complaints {
    fn new() -> Result<Self, Failure> {
        let memory = memfd_create("complaints", MemfdFlags::CLOEXEC).map_err(Failure::work)?;
        Ok(Self(memory.into()))
    }

    /// The same open file, so that what several processes write stands one behind the other.
    fn end(&self) -> Result<Stdio, Failure> {
        self.0.try_clone().map(Stdio::from).map_err(Failure::work)
    }

    /// The last line, without this program's name before it.
    fn last(&self) -> String {
        let length = self.0.metadata().map_or(0, |about| about.len());
        let from = length.saturating_sub(LAST_WORDS_MAX as u64);
        let mut bytes = vec![0; (length - from) as usize];
        // A line that cannot be read is missing from an error, and nothing else.
        if self.0.read_exact_at(&mut bytes, from).is_err() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        last.strip_prefix("tailwater: ").unwrap_or(last).to_owned()
    }
}

fn start(
    words: &[String],
    launch: &[String],
    (input, complaints): (Option<(&str, &Path)>, Option<&Complaints>),
    seed: u64,
) -> Result<Group, Failure> {
    let mut command = bound_to_this(launch, words)?;
    command.env(SEED, seed.to_string());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    if let Some((_, folder)) = input.filter(|(_, folder)| !folder.as_os_str().is_empty()) {
        command.current_dir(folder);
    }
    command.stdout(Stdio::piped());
    if let Some(complaints) = complaints {
        command.stderr(complaints.end()?);
    }
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
