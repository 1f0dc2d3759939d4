//! A program of others under `tailwater guard`: it ends with this process, however that ends.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use serde::Deserialize;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// The program and its guard; both end when this is dropped.
pub(crate) struct Guarded {
    /// As its command has it.
    name: String,
    pub(crate) guard: Child,
    /// The guard ends its program when this is closed. `None`: it was.
    reader: Option<BufReader<ChildStdout>>,
    /// The program's own; 0 until the guard has said.
    pid: u32,
}

/// What a guard says, in one line.
#[derive(Deserialize)]
struct Greeting {
    pid: u32,
}

impl Guarded {
    /// Starts it on this core, or on those of the thread that calls.
    pub(crate) fn start(words: &[String], core: Option<u32>) -> Result<Self, Failure> {
        let name = &words[0];
        let trouble = |error| Failure::work(format!("cannot start {name}: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(trouble)?);
        command.arg("guard");
        if let Some(core) = core {
            command.args(["--cpus", &core.to_string()]);
        }
        // A group of its own: what kills this process' group would kill the guard, too, and leave the program behind.
        command.arg("--").args(words).process_group(0);
        let mut guard =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(trouble)?;
        let reader = guard.stdout.take().map(BufReader::new);
        Ok(Self { name: name.clone(), guard, reader, pid: 0 })
    }

    /// The program's process number; 0 until the guard has said it.
    pub(crate) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the guard's line.
    pub(crate) fn greet(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        if let Some(reader) = &mut self.reader {
            let _ = reader.read_line(&mut line);
        }
        let greeting = serde_json::from_str::<Greeting>(&line);
        let name = &self.name;
        let unsaid = |_| Failure::work(format!("{name} did not start; its guard has said why"));
        self.pid = greeting.map_err(unsaid)?.pid;
        Ok(())
    }

    /// Whether the guard has said its line by now.
    pub(crate) fn greets(&mut self, interrupt: &Interrupt) -> Result<bool, Failure> {
        if self.pid != 0 {
            return Ok(true);
        }
        if let Some(reader) = &self.reader
            && !interrupt.wait_beside_until(reader.get_ref(), Instant::now())?
        {
            return Ok(false);
        }
        self.greet().map(|()| true)
    }

    /// Whether it runs still.
    pub(crate) fn is_there(&mut self) -> bool {
        matches!(self.guard.try_wait(), Ok(None))
    }

    /// It is no more: the guard kills all of its process group, and what has left that.
    pub(crate) fn kill(&mut self) {
        drop(self.reader.take());
        let _ = self.guard.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}
