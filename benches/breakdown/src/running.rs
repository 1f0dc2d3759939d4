//! A process that is ended when it goes out of sight.

use crate::Result;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to do what is waited for, such as preparing its data.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const EVERY: Duration = Duration::from_millis(10);

/// One that has been started.
pub(crate) struct Running {
    child: Child,
    name: String,
}

impl Running {
    pub(crate) fn start(name: &str, command: &mut Command) -> Result<Self> {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = piped.spawn().map_err(|error| format!("could not start {name}: {error}"))?;
        Ok(Self { child, name: name.to_owned() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its first line, as JSON: that of a server says where it listens.
    pub(crate) fn greeting(&mut self) -> Result<serde_json::Value> {
        let said = self.child.stdout.as_mut().ok_or("its output was read already")?;
        let mut line = String::new();
        // It says one line; if it ends instead, that line stays empty.
        let _ = BufReader::new(said).read_line(&mut line);
        serde_json::from_str(&line)
            .map_err(|_| format!("{} did not start; it has said why", self.name))
    }

    /// The number of its child.
    pub(crate) fn child(&mut self) -> Result<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid());
        let mut found = None;
        self.until(|| {
            let told = std::fs::read_to_string(&path).unwrap_or_default();
            found = told.split_whitespace().next().and_then(|pid| pid.parse().ok());
            found.is_some()
        })?;
        found.ok_or_else(|| format!("{} has no child", self.name))
    }

    /// Waits for that; an error where it ends before.
    pub(crate) fn until(&mut self, mut is_so: impl FnMut() -> bool) -> Result {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            self.is_there()?;
            if Instant::now() >= until {
                return Err(format!("{}: waited for in vain for {PATIENCE:?}", self.name));
            }
            std::thread::sleep(EVERY);
        }
        Ok(())
    }

    /// An error where it has ended.
    pub(crate) fn is_there(&mut self) -> Result {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("{} ended too early ({status})", self.name)),
            Err(error) => Err(format!("{}: {error}", self.name)),
        }
    }

    /// Waits for its end, which must be a good one, and has what it said as JSON.
    pub(crate) fn says(mut self) -> Result<serde_json::Value> {
        let mut said = String::new();
        if let Some(mut output) = self.child.stdout.take() {
            output.read_to_string(&mut said).map_err(|error| error.to_string())?;
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("{} ended with {status}", self.name));
        }
        serde_json::from_str(&said).map_err(|error| format!("{} said no JSON: {error}", self.name))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended, and then nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
