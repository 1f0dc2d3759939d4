//! The processes of an experiment: servers and load jobs, which end when they are dropped, and by themselves
//! when this process is gone.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::job::{Job, Outcome};
use crate::scenarios::Said;
use serde::Deserialize;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// This very program: server and load must be of the same build.
fn myself() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::work(format!("cannot find my own program: {error}")))
}

/// Starts this program with what it is to read, and says where it can be heard.
fn start(what: &str, arguments: &[String], input: &[u8]) -> Result<(Child, ChildStdout), Failure> {
    let trouble = |error| Failure::work(format!("cannot start {what}: {error}"));
    let mut child = Command::new(myself()?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(trouble)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it is gone already, what it does not say tells more than this write could.
        let _ = stdin.write_all(input);
    }
    let stdout = child.stdout.take().ok_or_else(|| trouble(ErrorKind::BrokenPipe.into()))?;
    Ok((child, stdout))
}

/// A server in a process of its own; ended when dropped.
pub(super) struct ServerProcess {
    child: Child,
    /// The server ends when this is closed. `None`: it was.
    reader: Option<BufReader<ChildStdout>>,
    pub(super) address: String,
    /// Of a tier: the addresses of its nodes.
    pub(super) nodes: Vec<String>,
}

#[derive(Deserialize)]
struct Greeting {
    listening: String,
    nodes: Vec<String>,
}

impl ServerProcess {
    /// Starts `tailwater serve` with these flags and waits until it listens. `said` is what it reads on
    /// standard input.
    pub(super) fn start(
        flags: &[String],
        said: &Said,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let input = serde_json::to_vec(said).map_err(Failure::work)?;
        let arguments = [&["serve".into(), "--while-read".into()], flags].concat();
        let (child, stdout) = start("the server", &arguments, &input)?;
        let mut reader = BufReader::new(stdout);
        let waited = interrupt.wait_beside(reader.get_ref());
        let mut line = String::new();
        if waited.is_ok() {
            // It says one line; if it ends instead, that line stays empty.
            let _ = reader.read_line(&mut line);
        }
        let (address, nodes) = (String::new(), Vec::new());
        let mut server = Self { child, reader: Some(reader), address, nodes };
        waited?;
        match serde_json::from_str::<Greeting>(&line) {
            Ok(greeting) => (server.address, server.nodes) = (greeting.listening, greeting.nodes),
            Err(_) => return Err(Failure::work("the server did not start; it has said why")),
        }
        Ok(server)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did though nothing asked it to.
    pub(super) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(format!("ended during the run ({status})")),
            Err(error) => Some(format!("cannot be asked whether it is there: {error}")),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.reader.take());
        let _ = self.child.wait();
    }
}

/// A load generator; killed when dropped, unless it has ended.
struct JobProcess(Child);

impl Drop for JobProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Does a job in a process of its own and waits for it, asleep.
pub(super) fn perform(job: &Job, interrupt: &Interrupt) -> Result<Outcome, Failure> {
    let text = serde_json::to_vec(job).map_err(Failure::work)?;
    let (child, stdout) = start("the load generator", &["job".into()], &text)?;
    let mut process = JobProcess(child);
    let said = hear(stdout, interrupt)?;
    let status = process.0.wait().map_err(Failure::work)?;
    match serde_json::from_slice(&said) {
        Ok(Outcome::Failed { usage: true, why }) => Err(Failure::Usage(why)),
        Ok(Outcome::Failed { usage: false, why }) => Err(Failure::Work(why)),
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(Failure::work(format!(
            "the load generator ended with {status}, and its outcome cannot be read: {error}"
        ))),
    }
}

/// All that it says until it ends.
fn hear(mut stdout: ChildStdout, interrupt: &Interrupt) -> Result<Vec<u8>, Failure> {
    let mut said = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        interrupt.wait_beside(&stdout)?;
        match stdout.read(&mut part).map_err(Failure::work)? {
            0 => return Ok(said),
            count => said.extend_from_slice(&part[..count]),
        }
    }
}
