//! Memcacheds and a router as processes of their own, which may be killed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take until it serves.
const PATIENCE: Duration = Duration::from_secs(20);
/// Of what a router prints, so much is read at most.
const LINE_MAX_BYTES: u64 = 1_024;
/// A port that is free now may be another's in a moment: so many are tried.
const PORTS: usize = 20;

/// A memcached of one thread; killed when dropped.
#[derive(Debug)]
pub(super) struct Memcached {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Memcached {
    /// At a port of its own.
    pub(super) fn start(program: &Path) -> Result<Self, String> {
        let mut last = String::new();
        for _ in 0..PORTS {
            let listener = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
            match Self::start_at(program, listener.map_err(|error| error.to_string())?) {
                Ok(it) => return Ok(it),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    fn start_at(program: &Path, address: SocketAddr) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["-t", "1", "-U", "0", "-m", "64", "-l", "127.0.0.1", "-u", "nobody"]);
        command.args(["-p", &address.port().to_string()]);
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| {
            let program = program.display();
            format!("{program} does not start: {error}; apt-get install memcached, or say --memcached PROGRAM")
        })?;
        let mut it = Self { child, address };
        let id = it.child.id().to_string();
        until(
            || stat(address, "pid").as_ref() == Some(&id),
            || it.child.try_wait().is_ok_and(|status| status.is_none()),
        )
        .map(|()| it)
        .map_err(|why| format!("memcached at {address} {why}"))
    }

    /// Another one in its place, which is empty.
    pub(super) fn start_again(&mut self, program: &Path) -> Result<(), String> {
        self.kill();
        let _ = self.child.wait();
        *self = Self::start_at(program, self.address)?;
        Ok(())
    }

    /// It is no more, or will not be in a moment.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// It stands still: its sockets stay, and it answers nothing.
    pub(super) fn stop(&self) -> Result<(), String> {
        let id = rustix::process::Pid::from_child(&self.child);
        let sent = rustix::process::kill_process(id, rustix::process::Signal::STOP);
        sent.map_err(|error| format!("memcached cannot be stopped: {error}"))
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// A router before these; ended when dropped.
#[derive(Debug)]
pub(super) struct RouterProcess {
    child: Child,
    pub(super) address: SocketAddr,
}

impl RouterProcess {
    /// The program of that name beside this one, with these further arguments.
    pub(super) fn start(
        program: &Path,
        nodes: &[Memcached],
        more: &[String],
    ) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0"]).args(more);
        command.args(nodes.iter().map(|node| node.address.to_string()));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| {
            let program = program.display();
            format!("{program} does not start: {error}; cargo build --release -p tailwater-router builds it")
        })?;
        let mut line = String::new();
        let read = child
            .stdout
            .take()
            .map(|it| BufReader::new(it.take(LINE_MAX_BYTES)).read_line(&mut line));
        let address = line.trim().strip_prefix("listening on ").and_then(|it| it.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("the router did not say where it listens: {read:?}"))
            }
        }
    }

    /// A line of its `stats`.
    pub(super) fn stat(&self, name: &str) -> Option<String> {
        stat(self.address, name)
    }

    /// Until it asks this node again.
    pub(super) fn until_up(&mut self, node: SocketAddr) -> Result<(), String> {
        let address = self.address;
        let state = format!("{node}:state");
        let child = &mut self.child;
        until(
            || stat(address, &state).as_deref() == Some("up"),
            || child.try_wait().is_ok_and(|status| status.is_none()),
        )
        .map_err(|why| format!("the router before {node} {why}"))
    }
}

impl Drop for RouterProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Until it holds, while the process lives.
fn until(mut holds: impl FnMut() -> bool, mut lives: impl FnMut() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !holds() {
        if !lives() {
            return Err("has ended".into());
        }
        if began.elapsed() >= PATIENCE {
            return Err(format!("did not serve for {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// A line of `stats` at this address; `None` where nothing of that name is told.
fn stat(address: SocketAddr, name: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"stats\r\nquit\r\n").ok()?;
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let value = |line: String| {
        let (found, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
        (found == name).then(|| value.to_owned())
    };
    lines.take_while(|line| line != "END").find_map(value)
}
