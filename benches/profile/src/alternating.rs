//! Two commands at once, of which one runs while the other stands still. What slows the machine down slows both down, so that
//! parts of one's time can be compared with parts of the other's.

use crate::Result;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// How long one runs before the other does: short beside the parts that are compared, of a second.
const TURN: Duration = Duration::from_millis(250);

/// Runs both to their ends; what each has said. The first begins.
pub(crate) fn alternate([first, second]: [Command; 2]) -> Result<[String; 2]> {
    let mut all = [Running::start(first)?, Running::start(second)?];
    all[1].signal(Signal::STOP)?;
    let mut at = 0;
    while !(all[0].has_ended()? && all[1].has_ended()?) {
        thread::sleep(TURN);
        let next = 1 - at;
        if !all[next].has_ended()? {
            all[at].signal(Signal::STOP)?;
            all[next].signal(Signal::CONT)?;
            at = next;
        }
    }
    let [first, second] = all;
    Ok([first.said()?, second.said()?])
}

/// A command, and what it has started, in a group of processes of their own. They end with this.
struct Running {
    child: Child,
    status: Option<ExitStatus>,
}

impl Running {
    fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let program = command.get_program().display().to_string();
        let child =
            command.spawn().map_err(|error| format!("could not start {program}: {error}"))?;
        Ok(Self { child, status: None })
    }

    fn has_ended(&mut self) -> Result<bool> {
        self.status = self.child.try_wait().map_err(|error| error.to_string())?;
        Ok(self.status.is_some())
    }

    /// To the whole group, unless it has ended: its number may be another's then.
    fn signal(&mut self, signal: Signal) -> Result {
        if self.has_ended()? {
            return Ok(());
        }
        kill_process_group(Pid::from_child(&self.child), signal)
            .map_err(|error| format!("could not signal a program: {error}"))
    }

    /// Once it has ended. It says less than a pipe holds.
    fn said(mut self) -> Result<String> {
        let [mut said, mut complaint] = [String::new(), String::new()];
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let read = out.map(|mut out| out.read_to_string(&mut said)).transpose();
        read.and(err.map(|mut err| err.read_to_string(&mut complaint)).transpose())
            .map_err(|error| error.to_string())?;
        match self.status {
            Some(status) if status.success() => Ok(said),
            status => Err(format!("ended with {status:?}:\n{}", complaint.trim())),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            // Nothing is left to do where it cannot be ended.
            let _ = self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn both_run_to_their_ends_and_one_that_fails_is_told() {
        let pair = [shell("sleep 0.3; echo a"), shell("echo b")];
        assert_eq!(alternate(pair), Ok(["a\n".to_owned(), "b\n".to_owned()]));
        let failing = alternate([shell("echo a"), shell("echo no room >&2; exit 3")]);
        assert!(failing.unwrap_err().contains("no room"));
    }

    #[test]
    fn what_stands_still_is_stopped_with_all_that_it_has_started() {
        let mut still = Running::start(shell("sleep 100 & wait")).expect("it starts");
        still.signal(Signal::STOP).expect("it runs");
        let group = still.child.id().to_string();
        let stopped = || {
            let processes = std::fs::read_dir("/proc").expect("it is there").flatten();
            let stats = processes
                .filter_map(|one| std::fs::read_to_string(one.path().join("stat")).ok())
                .filter_map(|stat| Some(stat.rsplit_once(") ")?.1.to_owned()));
            // State, parent and group come first.
            let ours = stats.filter(|stat| stat.split(' ').nth(2) == Some(group.as_str()));
            ours.filter(|stat| stat.starts_with('T')).count()
        };
        while stopped() == 0 {
            thread::yield_now();
        }
        still.signal(Signal::CONT).expect("it is there");
        while stopped() > 0 {
            thread::yield_now();
        }
        drop(still);
        assert!(!std::path::Path::new(&format!("/proc/{group}")).exists());
    }
}
