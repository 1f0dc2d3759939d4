//! Programs of others: where they lie, process groups that end as a whole, and ports for them.

use crate::failure::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, waitpid,
};
use std::ffi::OsStr;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// What is killed and not gone by then cannot be killed.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// A process group of a child's; ended when dropped.
#[derive(Debug)]
pub struct Group {
    /// The first of the group.
    pub child: Child,
    is_over: bool,
}

impl Group {
    /// Starts the command as the first of a group of its own.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(command: &mut Command) -> std::io::Result<Self> {
        Ok(Self { child: command.process_group(0).spawn()?, is_over: false })
    }

    /// The child's process number, and the group's.
    ///
    /// # Errors
    /// When the kernel gave none.
    pub fn pid(&self) -> Result<Pid, Failure> {
        let raw = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        raw.ok_or_else(|| Failure::work("the command has no process number"))
    }

    /// Ends all that is left of it, and says how the command itself ended.
    ///
    /// # Errors
    /// When the command is not gone within ten seconds.
    pub fn end(&mut self) -> Result<ExitStatus, Failure> {
        self.is_over = true;
        let pid = self.pid()?;
        // Before it is waited for: until then its number is no other's.
        let _ = kill_process_group(pid, Signal::KILL);
        if !ends(pid)? {
            return Err(Failure::work(format!(
                "the command cannot be ended, perhaps because it became another user's; end process {} by hand",
                self.child.id()
            )));
        }
        self.child.wait().map_err(Failure::work)
    }
}

/// Ends all children of this process. Where it is a subreaper (prctl(2)), what these leave behind becomes a child in turn.
///
/// # Errors
/// When one is not gone within ten seconds.
pub fn end_children() -> Result<(), Failure> {
    let until = Instant::now() + ENDS_WITHIN;
    loop {
        let left = children().map_err(Failure::work)?;
        let Some(&one) = left.first() else { return Ok(()) };
        if Instant::now() >= until {
            let pid = one.as_raw_nonzero();
            return Err(Failure::work(format!(
                "the command has left process {pid} behind, which cannot be ended; end it by hand"
            )));
        }
        for pid in left {
            // Until it is waited for below its number is no other's. One that has ended already is waited for as well.
            let _ = kill_process(pid, Signal::KILL);
            if ends(pid)? {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }
}

/// Of all threads: a child is its thread's that started it, or of whichever adopts it.
fn children() -> std::io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        let told = std::fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        found.extend(
            told.split_whitespace().filter_map(|it| it.parse().ok().and_then(Pid::from_raw)),
        );
    }
    Ok(found)
}

/// Whether a process that was killed is gone in time. Knobs are put back either way.
fn ends(pid: Pid) -> Result<bool, Failure> {
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(Failure::work)?;
    let until = Instant::now() + ENDS_WITHIN;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(Failure::work)?;
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            found => return found.map(|ready| ready > 0).map_err(Failure::work),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.end();
        }
    }
}

/// The file behind a program's name. A name that is a path is that file, whether or not it is there.
#[must_use]
pub fn find(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    // As a shell: what may not be executed is passed over.
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&folders).map(|folder| folder.join(path)).find(is_program)
}

/// A port of this machine that nothing listens on now.
///
/// # Errors
/// When there is none.
pub fn free_port() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(Failure::work)?;
    listener.local_addr().map_err(Failure::work)
}
