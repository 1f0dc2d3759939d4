//! Memcacheds and a router as processes of their own, which may be killed, and end with this one.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tailwater_program::group::{find, free_port};
use tailwater_program::guarded::Guarded;
use tailwater_program::stages::{bound, guarding};

/// How long a process may take until it serves.
const PATIENCE: Duration = Duration::from_secs(20);
/// Of what a router prints, so much is read at most.
const LINE_MAX_BYTES: u64 = 1_024;
/// A port that is free now may be another's in a moment: so many are tried.
const PORTS: usize = 20;

/// The programs that are started, and this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Programs<'a> {
    /// Guards memcacheds, and has the router end with itself.
    pub(super) own: &'a Path,
    pub(super) memcached: &'a Path,
    pub(super) router: &'a Path,
}

/// A memcached of one thread; killed when dropped. It has a guard: where root starts it, it becomes another user, and so loses the
/// wish to end with this process.
#[derive(Debug)]
pub(super) struct Memcached {
    guarded: Guarded,
    /// Its own process, not the guard's.
    process: OwnedFd,
    pub(super) address: SocketAddr,
}

impl Memcached {
    /// At a port of its own.
    pub(super) fn start(programs: Programs<'_>) -> Result<Self, String> {
        let program = programs.memcached;
        if find(program.as_os_str()).is_none_or(|file| !file.is_file()) {
            let program = program.display();
            return Err(format!(
                "{program} is not there; apt-get install memcached, or say --memcached PROGRAM"
            ));
        }
        let mut last = String::new();
        for _ in 0..PORTS {
            let address = free_port().map_err(|error| error.to_string())?;
            match Self::start_at(programs, address) {
                Ok(it) => return Ok(it),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    fn start_at(programs: Programs<'_>, address: SocketAddr) -> Result<Self, String> {
        let port = address.port().to_string();
        let fixed = ["-t", "1", "-U", "0", "-m", "64", "-l", "127.0.0.1", "-u", "nobody", "-p"];
        let mut words = vec![programs.memcached.as_os_str().to_owned()];
        words.extend(fixed.map(OsString::from));
        words.push(OsString::from(port));
        let mut guard = guarding(programs.own, &words);
        // It tells of each node that dies, which is meant.
        guard.stderr(Stdio::null());
        let trouble = |why: &dyn Display| format!("memcached at {address}: {why}");
        let mut guarded =
            Guarded::start("memcached", &mut guard).map_err(|error| trouble(&error))?;
        guarded.greet().map_err(|_| trouble(&"its guard does not start it"))?;
        let id = guarded.pid();
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| trouble(&"it has no process number"))?;
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| trouble(&error))?;
        let mut it = Self { guarded, process, address };
        let id = id.to_string();
        until(|| stat(address, "pid").as_ref() == Some(&id), || it.guarded.is_there())
            .map(|()| it)
            .map_err(|why| format!("memcached at {address} {why}"))
    }

    /// Another one in its place, which is empty.
    pub(super) fn start_again(&mut self, programs: Programs<'_>) -> Result<(), String> {
        self.kill();
        // The port is free once it has gone.
        self.guarded.kill();
        *self = Self::start_at(programs, self.address)?;
        Ok(())
    }

    /// It is no more, or will not be in a moment. By its own process: through the guard it would be later.
    pub(super) fn kill(&self) {
        // One that is gone hears nothing.
        let _ = pidfd_send_signal(&self.process, Signal::KILL);
    }

    /// It stands still: its sockets stay, and it answers nothing.
    pub(super) fn stop(&self) -> Result<(), String> {
        let sent = pidfd_send_signal(&self.process, Signal::STOP);
        sent.map_err(|error| format!("memcached cannot be stopped: {error}"))
    }
}

/// A router before these; ended when dropped.
#[derive(Debug)]
pub(super) struct RouterProcess {
    child: Child,
    pub(super) address: SocketAddr,
}

impl RouterProcess {
    /// With these further arguments.
    pub(super) fn start(
        programs: Programs<'_>,
        nodes: &[Memcached],
        more: &[String],
    ) -> Result<Self, String> {
        let program = programs.router.display();
        if !programs.router.is_file() {
            return Err(format!(
                "{program} is not there; cargo build --release -p tailwater-router builds it"
            ));
        }
        let mut words = vec![programs.router.as_os_str().to_owned()];
        words.extend(["--listen", "127.0.0.1:0"].map(OsString::from));
        words.extend(more.iter().map(OsString::from));
        words.extend(nodes.iter().map(|node| OsString::from(node.address.to_string())));
        let mut command = bound(programs.own, &words);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("{program} does not start: {error}"))?;
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
