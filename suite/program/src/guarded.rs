//! A program of others under a [guard](crate::guard): it ends with this process, however that ends.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// The program and its guard; both end when this is dropped.
#[derive(Debug)]
pub struct Guarded {
    /// As its command has it.
    name: String,
    /// The guard's process.
    pub guard: Child,
    /// The guard ends its program when this is closed. `None`: it was.
    reader: Option<BufReader<ChildStdout>>,
    /// The program's own; 0 until the guard has said.
    pid: u32,
}

impl Guarded {
    /// Starts a program of this name by the command of its guard, which is one that calls [`guard`](crate::guard::guard).
    ///
    /// # Errors
    /// When the guard does not start.
    pub fn start(name: &str, guard: &mut Command) -> Result<Self, Failure> {
        // A group of its own: what kills this process' group would kill the guard, too, and leave the program behind.
        guard.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
        let trouble = |error| Failure::work(format!("cannot start {name}: {error}"));
        let mut guard = guard.spawn().map_err(trouble)?;
        let reader = guard.stdout.take().map(BufReader::new);
        Ok(Self { name: name.into(), guard, reader, pid: 0 })
    }

    /// The program's process number; 0 until the guard has said it.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the guard's line.
    ///
    /// # Errors
    /// When the guard has ended without it.
    pub fn greet(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        if let Some(reader) = &mut self.reader {
            let _ = reader.read_line(&mut line);
        }
        let name = &self.name;
        let unsaid = |_| Failure::work(format!("{name} did not start; its guard has said why"));
        self.pid = line.trim().parse::<u32>().map_err(unsaid)?;
        Ok(())
    }

    /// Whether the guard has said its line by now.
    ///
    /// # Errors
    /// As above, and a signal.
    pub fn greets(&mut self, interrupt: &Interrupt) -> Result<bool, Failure> {
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
    pub fn is_there(&mut self) -> bool {
        matches!(self.guard.try_wait(), Ok(None))
    }

    /// It is no more: the guard kills all of its process group, and what has left that.
    pub fn kill(&mut self) {
        drop(self.reader.take());
        let _ = self.guard.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}
