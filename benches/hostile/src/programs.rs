//! The server and the honest client: tailwater's own programs.

use serde::Deserialize;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Requests per second of the honest clients: a quarter of what core 0 can do.
const RATE: u32 = 5_000;
const MEAN: &str = "50us";
/// Generous, so that the shared core 1 does not decide about goodput.
const SLO: &str = "20ms";
const CLIENTS: u32 = 10;

/// Where the programs are.
pub(crate) struct Programs {
    tailwater: PathBuf,
}

impl Programs {
    pub(crate) fn find() -> Result<Self, String> {
        let target = std::env::var_os("TAILWATER_TARGET").map(PathBuf::from);
        let target =
            target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
        let tailwater = target.join("release/tailwater");
        if tailwater.exists() {
            return Ok(Self { tailwater });
        }
        Err(format!(
            "found no {}; type: cargo build --release --package tailwater-cli",
            tailwater.display()
        ))
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
            .args(["serve", "--listen", "127.0.0.1:0", "--core", "0", "--slo", SLO])
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

/// What the honest client saw.
#[derive(Deserialize)]
pub(crate) struct Honest {
    pub(crate) goodput_rps: f64,
    pub(crate) offered_rps: f64,
    pub(crate) p99_us: f64,
}

#[derive(Deserialize)]
struct Experiment {
    runs: Vec<Honest>,
}

impl Honest {
    pub(crate) fn run(
        programs: &Programs,
        server: &Server,
        window: Duration,
    ) -> Result<Self, String> {
        let (rate, clients) = (RATE.to_string(), CLIENTS.to_string());
        let (address, pid) = (server.address.to_string(), server.pid.to_string());
        let duration = format!("{}ms", window.as_millis());
        let flags = [
            ("--connect", address.as_str()),
            ("--clients", &clients),
            ("--rate", &rate),
            ("--mean", MEAN),
            ("--slo", SLO),
            ("--warm-up", "1s"),
            ("--duration", &duration),
            ("--core", "1"),
            ("--server-pid", &pid),
        ];
        let flags = flags.iter().flat_map(|(name, value)| [*name, *value]);
        let output = Command::new(&programs.tailwater)
            .arg("load")
            .args(flags)
            .arg("--json")
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the honest client ended with {}: {said}", output.status));
        }
        let found = serde_json::from_slice::<Experiment>(&output.stdout);
        let found = found.map_err(|error| format!("the honest client's result: {error}"))?;
        found.runs.into_iter().next().ok_or_else(|| "the honest client has no run".to_owned())
    }
}
