//! A block's command in a process group of its own, which ends with this program and within its time.

use crate::bound::bound_to_this;
use crate::complaints::Complaints;
use crate::failure::Failure;
use rustix::process::{PidfdFlags, pidfd_open};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tailwater_core::duration::format_duration;
use tailwater_core::words::clip;
use tailwater_program::group::Group;
use tailwater_program::interrupt::Interrupt;

/// What a block may print.
const BYTES_MAX: usize = 64 << 20;
/// Between two looks at how much it complains of, which wakes nobody.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The environment variable that has the block's seed.
const SEED: &str = "TAILWATER_TUNE_SEED";

/// What a command said, and how it ended.
pub(super) struct Said {
    name: String,
    pub(super) text: String,
    /// The last lines that it wrote to standard error, where these were kept.
    pub(super) complaints: Vec<String>,
    status: ExitStatus,
}

impl Said {
    /// The same where it ended well.
    pub(super) fn succeeded(self) -> Result<Self, Failure> {
        if self.status.success() { Ok(self) } else { Err(self.failed("it did not end well")) }
    }

    pub(super) fn failed(&self, why: &str) -> Failure {
        let Self { name, complaints, status, .. } = self;
        Failure::work(format!("{name}: {why} ({status}){}", behind(complaints)))
    }
}

/// The last line, to stand behind an error.
fn behind(complaints: &[String]) -> String {
    complaints.last().map_or_else(String::new, |line| format!(": {line}"))
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
    let kept = input.map(|_| Complaints::new()).transpose()?;
    let mut group = start(words, launch, (input, kept.as_ref()), seed)?;
    if let (Some((text, _)), Some(mut stdin)) = (input, group.child.stdin.take()) {
        // If it is gone already, what it does not say tells more than this write could.
        let _ = stdin.write_all(text.as_bytes());
    }
    let ended = pidfd_open(group.pid()?, PidfdFlags::empty()).map_err(Failure::work)?;
    let (said, end) = hear(&mut group.child, &ended, (deadline, kept.as_ref()), interrupt)?;
    let complaints = || kept.as_ref().map_or_else(Vec::new, Complaints::lines);
    let failed = |why: &str| Failure::work(format!("{name}: {why}{}", behind(&complaints())));
    match end {
        End::Itself => {}
        End::Late => {
            let limit = format_duration(limit);
            let why = format!("it took longer than {limit}; give more by --block-limit");
            return Err(failed(&why));
        }
        End::TooMuch => return Err(failed(&format!("it printed more than {BYTES_MAX} bytes"))),
    }
    // What it left running would disturb the next block.
    let status = group.end()?;
    let (text, complaints) = (String::from_utf8_lossy(&said).into_owned(), complaints());
    Ok(Said { name, text, complaints, status })
}

fn start(
    words: &[String],
    launch: &[String],
    (input, kept): (Option<(&str, &Path)>, Option<&Complaints>),
    seed: u64,
) -> Result<Group, Failure> {
    let mut command = bound_to_this(launch, words)?;
    command.env(SEED, seed.to_string());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    if let Some((_, folder)) = input.filter(|(_, folder)| !folder.as_os_str().is_empty()) {
        command.current_dir(folder);
    }
    command.stdout(Stdio::piped());
    if let Some(kept) = kept {
        command.stderr(kept.end()?);
    }
    Group::start(&mut command)
        .map_err(|error| Failure::work(format!("cannot start the command: {error}")))
}

/// Why a command is heard no more.
enum End {
    Itself,
    Late,
    TooMuch,
}

/// All that it says until it ends, or has to.
fn hear(
    child: &mut Child,
    ended: &OwnedFd,
    (deadline, kept): (Instant, Option<&Complaints>),
    interrupt: &Interrupt,
) -> Result<(Vec<u8>, End), Failure> {
    let mut stdout = child.stdout.take();
    let (mut said, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        // The end comes last: what it left in the background may hold its output open.
        let sources: Vec<_> =
            stdout.iter().map(|pipe| pipe.as_fd()).chain([ended.as_fd()]).collect();
        let look = deadline.min(Instant::now() + LOOK_EVERY);
        let ready = interrupt.wait_beside_any(&sources, look)?;
        match (ready, &mut stdout) {
            (Some(0), Some(pipe)) => match pipe.read(&mut part).map_err(Failure::work)? {
                0 => stdout = None,
                count => said.extend_from_slice(&part[..count]),
            },
            (Some(_), _) => return Ok((said, End::Itself)),
            (None, _) if Instant::now() >= deadline => return Ok((said, End::Late)),
            (None, _) => {}
        }
        let complained = kept.map_or(0, Complaints::bytes);
        if said.len() > BYTES_MAX || complained > BYTES_MAX as u64 {
            return Ok((said, End::TooMuch));
        }
    }
}
