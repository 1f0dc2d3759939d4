//! Runs somebody else's program, and passes on to it what this one is told.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use tailwater_program::{status, unignored};

/// Signals that someone else sends to this program go to the one that is recorded.
const FORWARDED: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];

/// Waits for the program, and hands it the signals that come meanwhile.
pub(super) fn run(command: &mut Command) -> Result<ExitStatus, Failure> {
    run_and_tell(command, |_| {})
}

/// The same; says its number as soon as it has one.
pub(super) fn run_and_tell(
    command: &mut Command,
    tell: impl FnOnce(u32),
) -> Result<ExitStatus, Failure> {
    // What is ignored here is so in the program too, as `nohup` wants it: were it handled here, it would be at its default
    // there.
    let mut signals = Signals::new(unignored(&status(), &FORWARDED)).map_err(Failure::work)?;
    let handle = signals.handle();
    let mut child = command.spawn().map_err(|error| unstarted(command.get_program(), &error))?;
    tell(child.id());
    let forward = forwarder(&child);
    let forwarding = std::thread::spawn(move || signals.forever().for_each(forward));
    let status = wait(&mut child);
    handle.close();
    let _ = forwarding.join();
    status
}

/// Shells, too, look for a name without a slash on the PATH alone.
fn unstarted(program: &OsStr, error: &io::Error) -> Failure {
    let failure = Failure::usage(format!("{}: {error}", program.display()));
    let is_name = Path::new(program).components().count() == 1;
    if error.kind() == io::ErrorKind::NotFound && is_name && Path::new(program).is_file() {
        return failure.and(&format!("`./{}`?", program.display()));
    }
    failure
}

fn wait(child: &mut Child) -> Result<ExitStatus, Failure> {
    child.wait().map_err(Failure::work)
}

/// What is typed at a terminal reaches the program anyway: it shares this one's process group.
fn forwarder(child: &Child) -> impl Fn(i32) + Send + 'static {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::IsTerminal as _;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let typed = std::io::stdin().is_terminal();
    move |number| {
        let sent_by_terminal = typed && matches!(number, SIGINT | SIGQUIT | SIGWINCH);
        if let (Some(pid), Some(signal), false) =
            (pid, Signal::from_named_raw(number), sent_by_terminal)
        {
            // The program may be gone by now.
            let _ = kill_process(pid, signal);
        }
    }
}

/// As shells tell it: the code, or 128 and the signal.
pub(super) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_not_handled() {
        let status = "Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000000003\n";
        let expected = [SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];
        assert_eq!(
            unignored(status, &FORWARDED),
            expected,
            "SIGHUP and SIGINT are the first two numbers"
        );
        assert_eq!(unignored("", &FORWARDED), FORWARDED);
    }

    #[test]
    fn deaths_by_signal_are_told_as_shells_do() {
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
    }
}
