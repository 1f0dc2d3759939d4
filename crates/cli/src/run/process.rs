//! The processes of an experiment, which end when they are dropped, and by themselves when this process is gone.

use crate::bound::bound_to_this;
use crate::failure::Failure;
use crate::scenarios::Said;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;
use tailwater_core::threads::Model;
use tailwater_program::interrupt::Interrupt;

/// This very program: server and load must be of the same build.
pub(super) fn myself() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::work(format!("cannot find my own program: {error}")))
}

/// Starts a program with what it is to read, and says where it can be heard, and told more.
pub(super) fn start(
    what: &str,
    mut program: Command,
    input: &[u8],
) -> Result<(Child, ChildStdout, ChildStdin), Failure> {
    let trouble = |error| Failure::work(format!("cannot start {what}: {error}"));
    let mut child =
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(trouble)?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (mut stdin, stdout) = pipes.ok_or_else(|| trouble(ErrorKind::BrokenPipe.into()))?;
    // If it is gone already, what it does not say tells more than this write could.
    let _ = stdin.write_all(input);
    Ok((child, stdout, stdin))
}

/// A server in a process of its own; ended when dropped.
pub(super) struct ServerProcess {
    child: Child,
    /// The server ends when this is closed. `None`: it was.
    reader: Option<BufReader<ChildStdout>>,
    /// By which it is told its speed and its model.
    stdin: ChildStdin,
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
    /// Starts `tailwater serve` with these flags; [`Self::hear`] waits for it. `said` is what it reads on
    /// standard input. One that `may_stop` hears of nothing while it stands still, so that the kernel ends it with this
    /// process. `knobs` of its process are set before it begins.
    pub(super) fn spawn(
        (flags, may_stop): (&[String], bool),
        knobs: &[String],
        said: &Said,
    ) -> Result<Self, Failure> {
        let input = serde_json::to_vec(said).map_err(Failure::work)?;
        let own = [myself()?.display().to_string(), "serve".into(), "--while-read".into()];
        let words = [&own, flags].concat();
        let program = match (may_stop, knobs.is_empty()) {
            (true, _) => bound_to_this(knobs, &words)?,
            (false, true) => of_words(&words),
            (false, false) => of_words(&with_knobs(knobs, &words)),
        };
        let (child, stdout, stdin) = start("the server", program, &input)?;
        let reader = Some(BufReader::new(stdout));
        Ok(Self { child, reader, stdin, address: String::new(), nodes: Vec::new() })
    }

    /// Whether it listens by now.
    pub(super) fn serves(&mut self, interrupt: &Interrupt) -> Result<bool, Failure> {
        let speaks = match &self.reader {
            Some(reader) => interrupt.wait_beside_until(reader.get_ref(), Instant::now())?,
            None => true,
        };
        if speaks {
            self.hear(interrupt)?;
        }
        Ok(speaks)
    }

    /// Waits until it listens.
    pub(super) fn hear(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut line = String::new();
        if let Some(reader) = &mut self.reader {
            interrupt.wait_beside(reader.get_ref())?;
            // It says one line; if it ends instead, that line stays empty.
            let _ = reader.read_line(&mut line);
        }
        let unsaid = |_| Failure::work("the server did not start; it has said why");
        let greeting: Greeting = serde_json::from_str(&line).map_err(unsaid)?;
        (self.address, self.nodes) = (greeting.listening, greeting.nodes);
        Ok(())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did though nothing asked it to.
    pub(super) fn ended(&mut self) -> Option<String> {
        ended(&mut self.child)
    }

    /// It is no more, with all that it knew.
    pub(super) fn kill(&mut self) {
        // It may have ended, and then nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// It stands still, or goes on. One that is gone hears nothing.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Its handlers compute at this share of their speed from now on.
    pub(super) fn set_speed(&mut self, share: f64) {
        // As above.
        let _ = writeln!(self.stdin, "speed {share}");
    }

    /// New requests are served by this model from now on.
    pub(super) fn set_model(&mut self, model: Model) {
        // As above.
        let _ = writeln!(self.stdin, "model {model}");
    }
}

/// What sets knobs of its process and becomes the program of these words, which is this one.
fn with_knobs(knobs: &[String], words: &[String]) -> Vec<String> {
    let own = [words[0].as_str(), "tune", "exec"].map(String::from);
    let knobs = knobs.iter().flat_map(|knob| ["--knob".to_owned(), knob.clone()]);
    own.into_iter().chain(knobs).chain(["--".into()]).chain(words.iter().cloned()).collect()
}

fn of_words(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// How a process ended, if it did though nothing asked it to.
pub(super) fn ended(child: &mut Child) -> Option<String> {
    match child.try_wait() {
        Ok(None) => None,
        Ok(Some(status)) => Some(format!("ended during the run ({status})")),
        Err(error) => Some(format!("cannot be asked whether it is there: {error}")),
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.reader.take());
        let _ = self.child.wait();
    }
}
