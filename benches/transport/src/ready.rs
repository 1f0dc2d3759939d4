//! How a server tells its starter that it can be called: one line of JSON on standard output, the
//! same for our peers and for `tailwater serve`.

use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::SocketAddr;

/// The line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// Where it listens.
    pub(crate) listening: SocketAddr,
    /// The process whose CPU time counts.
    pub(crate) pid: u32,
}

/// Says that this process can be called at `listening`.
pub(crate) fn announce(listening: SocketAddr) -> Result<(), String> {
    let ready = Ready { listening, pid: std::process::id() };
    let line = serde_json::to_string(&ready).map_err(|error| error.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| format!("nobody reads our standard output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_one_that_tailwater_prints() {
        let line = r#"{"listening":"127.0.0.1:4711","pid":9}"#;
        let ready: Ready = serde_json::from_str(line).unwrap();
        assert_eq!(ready.listening.port(), 4711);
        assert_eq!(serde_json::to_string(&ready).unwrap(), line);
    }
}
