//! A server under load whose recording fills its disk: whether the recorder ends and says so, the server goes on, and the trace
//! is readable up to there. The disk is a small file system in memory, which only root can mount.

use super::Tried;
use super::killed::read_up_to_there;
use super::recorded::{closed, filled};
use super::service::{Server, Service};
use crate::Result;
use clap::Args;
use machine::Origin;
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;
use tailwater_profile::trace::Ending;

/// As long as the recording would go on, if it had room.
const LOADED_FOR: Duration = Duration::from_secs(3);
/// How long a server must go on answering after it.
const AFTERWARDS: Duration = Duration::from_millis(200);
/// What a recorder ends with where its trace is not whole, and the kernel's words for why.
const INCOMPLETE: i32 = 1;
const NO_ROOM: &str = "No space left";
/// The trace is copied out, as the file system goes with the name space that it is mounted in.
const RECORD: &str = r#""$@"; code=$?; cp "$0/full.trace" "$0.trace"; exit $code"#;

#[derive(Args, Debug)]
pub(crate) struct FullArgs {
    #[command(flatten)]
    of: Tried,
    /// Recordings of one server, each on a disk of its own.
    #[arg(long, default_value_t = 10)]
    times: u64,
    /// Room of each disk, less than three seconds of the trace take.
    #[arg(long, default_value_t = 512)]
    kilobytes: u64,
}

#[derive(Debug, Default, Serialize)]
struct Full {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    kilobytes: u64,
    times: u64,
    /// The recorder ended with its code for that, and said that there is no room.
    told: u64,
    /// The server gave right answers all the time, and for a while after it.
    survived: u64,
    /// Traces that could be read up to the block for which there was no room, with a call in them.
    readable: u64,
    /// Calls in all of these.
    calls: u64,
}

/// Fills the disks, and writes what was left.
pub(crate) fn full(args: &FullArgs) -> Result {
    let service = args.of.server()?;
    let disk = args.of.trial.folder.join("disk");
    std::fs::create_dir_all(&disk).map_err(|error| format!("{}: {error}", disk.display()))?;
    // Before a server is started and filled.
    may_mount(inside(&disk, args.kilobytes, "true").output())?;
    let program: &Path = &args.of.trial.program;
    let mut server = filled(service, program)?;
    let mut found = Full {
        title: args.of.trial.title.clone(),
        origin: Origin::now(),
        kilobytes: args.kilobytes,
        ..Full::default()
    };
    for _ in 0..args.times {
        if !found.once(service, args, &server, &disk)? {
            server = filled(service, program)?;
        }
    }
    // The next one finds all as it should be.
    machine::command::output(
        &mut server.attach(AFTERWARDS, &args.of.trial.folder.join("after.trace")),
    )?;
    server.end()?;
    machine::result::write(&args.of.trial.out, &found)?;
    println!("{}", found.summary());
    Ok(())
}

/// A command that does this where the disk is mounted.
fn inside(disk: &Path, kilobytes: u64, then: &str) -> Command {
    let mut command = Command::new("unshare");
    let line = format!("mount -t tmpfs -o size={kilobytes}k none \"$0\" && {{ {then}; }}");
    command.args(["--mount", "sh", "-c", &line]).arg(disk);
    command.stdin(Stdio::null());
    command
}

fn may_mount(tried: std::io::Result<Output>) -> Result {
    let why = match tried {
        Ok(done) if done.status.success() => return Ok(()),
        Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        Err(error) => format!("unshare: {error}"),
    };
    Err(format!("no small disk could be mounted ({why}); run it as root"))
}

/// Whether a recorder ended for want of room, and said so.
fn says_so(done: &Output) -> bool {
    done.status.code() == Some(INCOMPLETE)
        && String::from_utf8_lossy(&done.stderr).contains(NO_ROOM)
}

impl Full {
    /// One recording. Whether the server goes on.
    fn once(
        &mut self,
        service: &Service,
        args: &FullArgs,
        server: &Server,
        disk: &Path,
    ) -> Result<bool> {
        let trace = disk.with_extension("trace");
        // One that is left from before would be read in place of none.
        let _ = std::fs::remove_file(&trace);
        let mut attach = server.attach(LOADED_FOR, &disk.join("full.trace"));
        attach.args(&args.of.options);
        let mut recording = inside(disk, self.kilobytes, RECORD);
        recording.arg(attach.get_program()).args(attach.get_args());
        let (loaded, done) = thread::scope(|scope| {
            let load = scope.spawn(|| closed(service, server.address(), LOADED_FOR));
            let done = recording.output();
            (load.join().expect("it does not panic"), done)
        });
        let done = done.map_err(|error| format!("unshare: {error}"))?;
        if done.status.success() {
            return Err(format!(
                "{} KiB had room for {LOADED_FOR:?} of the trace; say fewer by --kilobytes",
                self.kilobytes
            ));
        }
        self.times += 1;
        let is_told = says_so(&done);
        if !is_told {
            eprintln!("{}", String::from_utf8_lossy(&done.stderr).trim());
        }
        self.told += u64::from(is_told);
        let goes_on = loaded.is_ok() && closed(service, server.address(), AFTERWARDS).is_ok();
        self.survived += u64::from(goes_on);
        let (is_readable, calls) = read_up_to_there(&trace, &[Ending::Unfinished, Ending::Cut])?;
        self.readable += u64::from(is_readable && calls > 0);
        self.calls += calls;
        Ok(goes_on)
    }

    fn summary(&self) -> String {
        let Self { title, kilobytes, times, told, survived, readable, calls, .. } = self;
        format!(
            "{title}: of {times} recordings on disks of {kilobytes} KiB {told} ended and said why; the server went on after {survived}; \
             {readable} traces readable up to there, {calls} calls in them"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Output {
        Command::new("sh").args(["-c", line]).output().expect("a shell")
    }

    #[test]
    fn a_recorder_that_ends_otherwise_has_not_said_that_there_is_no_room() {
        assert!(says_so(&said(
            "echo the trace is incomplete: No space left on device >&2; exit 1"
        )));
        for other in ["echo No space left >&2", "echo File too large >&2; exit 1", "kill -KILL $$"]
        {
            assert!(!says_so(&said(other)), "{other}");
        }
    }

    #[test]
    fn who_may_not_mount_is_told_who_may() {
        assert_eq!(may_mount(Ok(said("true"))), Ok(()));
        let why = may_mount(Ok(said("echo Operation not permitted >&2; exit 1"))).unwrap_err();
        assert!(why.contains("Operation not permitted") && why.contains("as root"), "{why}");
    }

    #[test]
    fn the_trace_is_copied_out_and_the_recorders_code_kept() {
        let folder = std::env::temp_dir().join(format!("profile-full-{}", std::process::id()));
        let disk = folder.join("disk");
        std::fs::create_dir_all(&disk).expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", RECORD]).arg(&disk).args([
            "sh",
            "-c",
            "echo x > \"$0\"/full.trace; exit 1",
        ]);
        let done = command.arg(&disk).output().expect("a shell");
        assert_eq!(done.status.code(), Some(1), "{}", String::from_utf8_lossy(&done.stderr));
        let copied = std::fs::read_to_string(disk.with_extension("trace"));
        assert_eq!(copied.expect("it was copied"), "x\n");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }
}
