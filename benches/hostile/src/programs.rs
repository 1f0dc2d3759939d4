//! The server: tailwater's own program.

use serde::Deserialize;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Where the programs are.
pub(crate) struct Programs {
    tailwater: PathBuf,
}

impl Programs {
    pub(crate) fn find() -> Result<Self, String> {
        ::machine::tailwater().map(|tailwater| Self { tailwater })
    }
}

/// A server on core 0, killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
}

#[derive(Deserialize)]
struct Ready {
    listening: SocketAddr,
    pid: u32,
}

impl Server {
    pub(crate) fn start(programs: &Programs) -> Result<Self, String> {
        let mut child = Command::new(&programs.tailwater)
            .args(["serve", "--listen", "127.0.0.1:0", "--core", "0", "--slo", "20ms"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let out = child.stdout.take().ok_or("the server's output is not ours")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        let ready = serde_json::from_str::<Ready>(&line);
        let ready = ready.map_err(|error| format!("the server said `{line}`: {error}"))?;
        Ok(Self { child, address: ready.listening, pid: ready.pid })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
