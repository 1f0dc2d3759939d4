//! A server in a process of its own, so that its CPU time can be told from the generator's.

use crate::peer::Peer;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that has said where it listens; ended when dropped, and when we end.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(peer: Peer, core: usize, certificates: &Path) -> Result<Self, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot tell our own path: {error}"))?;
        let mut command = Command::new(program);
        command.args(["serve", "--peer", peer.name(), "--core", &core.to_string()]);
        command.arg("--certificates").arg(certificates);
        // Its standard input ends when we do.
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = child.map_err(|error| format!("cannot start a server: {error}"))?;
        let mut server = Self { child, port: 0 };
        server.port = server.hear()?;
        Ok(server)
    }

    fn hear(&mut self) -> Result<u16, String> {
        let out = self.child.stdout.take().ok_or("the server's output is not ours")?;
        let mut line = String::new();
        let heard = BufReader::new(out).read_line(&mut line);
        heard.map_err(|error| format!("cannot hear the server: {error}"))?;
        line.trim().parse().map_err(|_| format!("the server said '{line}', a port is needed"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
