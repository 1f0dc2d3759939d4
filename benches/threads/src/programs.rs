//! tailwater's own program.

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) struct Programs {
    tailwater: PathBuf,
    root: PathBuf,
}

/// Serves until it is dropped.
pub(crate) struct Server {
    child: Child,
    greeting: Value,
}

impl Programs {
    /// # Errors
    /// What to type where it was not built.
    pub(crate) fn find() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        machine::tailwater().map(|tailwater| Self { tailwater, root })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.tailwater);
        command.args(args).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// Starts a server, which listens when this returns.
    pub(crate) fn serve(&self, args: &[&str]) -> Result<Server, String> {
        let args = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
        let mut command = self.command(&args);
        let started = command.stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("{command:?}: {error}"))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let greeting = serde_json::from_str(&line);
        let greeting = greeting.map_err(|error| format!("{command:?} said `{line}`: {error}"));
        Ok(Server { child, greeting: greeting? })
    }

    /// What the program says with these arguments, which is JSON.
    pub(crate) fn ask(&self, args: &[&str]) -> Result<Value, String> {
        let mut command = self.command(args);
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{command:?}: {error}"))
    }
}

impl Server {
    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        let said = &self.greeting["listening"];
        said.as_str().map_or_else(|| said.to_string(), ToOwned::to_owned)
    }

    /// What a front is told of it.
    pub(crate) fn as_tier(&self, name: &str) -> String {
        let nodes = self.greeting["nodes"].as_array();
        let nodes = nodes.map(|nodes| nodes.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        format!("{name}={}", nodes.map_or_else(|| self.address(), |nodes| nodes.join(",")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
