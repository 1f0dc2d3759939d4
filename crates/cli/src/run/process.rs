//! The processes of an experiment: servers that are stopped whatever happens, and load jobs.

use crate::failure::Failure;
use crate::job::{Job, Outcome};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// This very program: server and load must be of the same build.
fn myself() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::work(format!("cannot find my own program: {error}")))
}

/// A server in a process of its own; stopped when dropped.
pub(super) struct ServerProcess {
    child: Child,
    pub(super) address: String,
}

#[derive(Deserialize)]
struct Greeting {
    listening: String,
}

impl ServerProcess {
    /// Starts `tailwater serve` with these flags and waits until it listens. `scenario` is what it reads
    /// on standard input.
    pub(super) fn start(flags: &[String], scenario: &str) -> Result<Self, Failure> {
        let mut child = Command::new(myself()?)
            .arg("serve")
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::work(format!("cannot start the server: {error}")))?;
        if let Some(mut stdin) = child.stdin.take() {
            // If it is gone already, the line that is missing below says so.
            let _ = stdin.write_all(scenario.as_bytes());
        }
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            // It says one line; if it ends instead, that line stays empty.
            let _ = BufReader::new(stdout).read_line(&mut line);
        }
        let mut server = Self { child, address: String::new() };
        match serde_json::from_str::<Greeting>(&line) {
            Ok(greeting) => server.address = greeting.listening,
            Err(_) => return Err(Failure::work("the server did not start; it has said why")),
        }
        Ok(server)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// Does a job in a process of its own and waits for it, asleep.
pub(super) fn perform(job: &Job) -> Result<Outcome, Failure> {
    let mut child = Command::new(myself()?)
        .arg("job")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::work(format!("cannot start the load generator: {error}")))?;
    let text = serde_json::to_vec(job).map_err(Failure::work)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it is gone already, its exit status says more than this write could.
        let _ = stdin.write_all(&text);
    }
    let output = child.wait_with_output().map_err(Failure::work)?;
    match serde_json::from_slice(&output.stdout) {
        Ok(Outcome::Failed { usage: true, why }) => Err(Failure::Usage(why)),
        Ok(Outcome::Failed { usage: false, why }) => Err(Failure::Work(why)),
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(Failure::work(format!(
            "the load generator ended with {}, and its outcome cannot be read: {error}",
            output.status
        ))),
    }
}
