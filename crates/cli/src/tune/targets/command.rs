//! A block's command in a process group of its own, which ends with this program and within its time.

use crate::failure::Failure;
use crate::group::{Group, bound_to_this};
use crate::interrupt::Interrupt;
use rustix::process::{PidfdFlags, pidfd_open};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tailwater_core::duration::format_duration;
use tailwater_core::words::clip;

/// What a block may print.
const BYTES_MAX: usize = 64 << 20;
/// So much of what a block complains of is kept, the last of it. A line is shorter.
const COMPLAINTS_MAX: usize = 4 << 10;
/// The environment variable that has the block's seed.
const SEED: &str = "TAILWATER_TUNE_SEED";

/// What a command said, and how it ended.
pub(super) struct Said {
    name: String,
    pub(super) text: String,
    pub(super) complaints: Complaints,
    status: ExitStatus,
}

impl Said {
    /// The same where it ended well.
    pub(super) fn succeeded(self) -> Result<Self, Failure> {
        if self.status.success() { Ok(self) } else { Err(self.failed("it did not end well")) }
    }

    pub(super) fn failed(&self, why: &str) -> Failure {
        let Self { name, complaints, status, .. } = self;
        Failure::work(format!("{name}: {why} ({status}){}", complaints.behind()))
    }
}

/// The end of what a block wrote to standard error, where that was kept.
#[derive(Default)]
pub(super) struct Complaints(Vec<u8>);

impl Complaints {
    fn take(&mut self, part: &[u8]) {
        self.0.extend_from_slice(part);
        self.0.drain(..self.0.len().saturating_sub(COMPLAINTS_MAX));
    }

    /// Its lines, without this program's name before them, and without what the runtime says of every panic.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.0);
        let lines = text.lines().map(|line| line.strip_prefix("tailwater: ").unwrap_or(line));
        let lines = lines.filter(|line| !line.trim().is_empty() && !line.starts_with("note: "));
        lines.map(str::to_owned).collect()
    }

    /// The last line, to stand behind an error.
    fn behind(&self) -> String {
        self.lines().pop().map_or_else(String::new, |line| format!(": {line}"))
    }
}

/// Runs words with knobs of their process, and hears what they say. `input` is standard input, and the folder to be in. Words
/// with an input are this program's: what they complain of is kept, since blocks by the hundred say the same.
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
    let ended = pidfd_open(group.pid()?, PidfdFlags::empty()).map_err(Failure::work)?;
    let Heard { said, complaints, end } = hear(&mut group.child, &ended, deadline, interrupt)?;
    let behind = complaints.behind();
    match end {
        End::Itself => {}
        End::Late => {
            let limit = format_duration(limit);
            return Err(Failure::work(format!(
                "{name}: it took longer than {limit}; give more by --block-limit{behind}"
            )));
        }
        End::TooMuch => {
            return Err(Failure::work(format!(
                "{name}: it printed more than {BYTES_MAX} bytes{behind}"
            )));
        }
    }
    // What it left running would disturb the next block.
    let status = group.end()?;
    let text = String::from_utf8_lossy(&said).into_owned();
    Ok(Said { name, text, complaints, status })
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
    if input.is_some() {
        command.stderr(Stdio::piped());
    }
    Group::start(&mut command)
        .map_err(|error| Failure::work(format!("cannot start the command: {error}")))
}

/// What a command said until it ended, or had to.
struct Heard {
    said: Vec<u8>,
    complaints: Complaints,
    end: End,
}

enum End {
    Itself,
    Late,
    TooMuch,
}

fn hear(
    child: &mut Child,
    ended: &OwnedFd,
    deadline: Instant,
    interrupt: &Interrupt,
) -> Result<Heard, Failure> {
    let stdout = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    let stderr = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    let mut pipes = [stdout, stderr];
    let (mut said, mut complaints, mut part) =
        (Vec::new(), Complaints::default(), vec![0; 1 << 16]);
    let end = loop {
        let open: Vec<usize> = (0..pipes.len()).filter(|at| pipes[*at].is_some()).collect();
        let mut sources: Vec<BorrowedFd<'_>> =
            pipes.iter().flatten().map(|pipe| pipe.as_fd()).collect();
        // Last: until all that it said is read, its end is not looked at. What it left in the background may hold a pipe open.
        sources.push(ended.as_fd());
        let Some(ready) = interrupt.wait_beside_any(&sources, deadline)? else { break End::Late };
        let Some(&at) = open.get(ready) else { break End::Itself };
        let count = match &mut pipes[at] {
            Some(pipe) => pipe.read(&mut part).map_err(Failure::work)?,
            None => 0,
        };
        match (at, &part[..count]) {
            (at, []) => pipes[at] = None,
            (0, part) => said.extend_from_slice(part),
            (_, part) => complaints.take(part),
        }
        if said.len() > BYTES_MAX {
            break End::TooMuch;
        }
    };
    Ok(Heard { said, complaints, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_complaint_stands_behind_an_error_and_is_that_of_a_panic() {
        let of = |text: &str| {
            let mut complaints = Complaints::default();
            complaints.take(text.as_bytes());
            complaints.behind()
        };
        assert_eq!(of(""), "");
        assert_eq!(of("tailwater: warning: x\ntailwater: no core 9\n"), ": no core 9");
        let panic = "thread 'main' panicked at a.rs:1:2:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(of(panic), ": index out of bounds");
    }

    #[test]
    fn of_a_flood_of_complaints_the_end_is_kept() {
        let mut complaints = Complaints::default();
        for number in 0..10_000 {
            complaints.take(format!("line {number}\n").as_bytes());
        }
        assert!(complaints.0.len() <= COMPLAINTS_MAX);
        assert_eq!(complaints.behind(), ": line 9999");
    }
}
