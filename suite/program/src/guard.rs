//! A guard: a process between a program of others and what starts it. It ends the program when nothing reads what the guard says
//! any more, however that reader ends.
//!
//! A child that becomes another user loses the kernel's wish to end with its parent (prctl(2), PR_SET_PDEATHSIG), as
//! memcached -u does. A guard between them hears of the parent's end by the pipe, and ends the child's process group. What left
//! the group, as memcached -d does, becomes the guard's child when its own parent ends, and is ended then.

use crate::failure::Failure;
use crate::group::{Group, end_children};
use crate::interrupt::Interrupt;
use crate::is_heard;
use rustix::process::{PidfdFlags, getpid, pidfd_open, set_child_subreaper};
use std::os::fd::AsFd as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at nothing: a wait has an end.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);

/// Starts the program of this name, says its process number on standard output, and stays until that or the reader is gone.
///
/// # Errors
/// When the program does not start, ends by itself, or cannot be ended.
pub fn guard(name: &str, command: &mut Command) -> Result<(), Failure> {
    // Ctrl-C goes to all processes of a terminal: the program's group is ended, not left behind.
    let interrupt = Interrupt::watch_to_the_end()?;
    command.stdin(Stdio::null()).stdout(Stdio::null());
    set_child_subreaper(Some(getpid())).map_err(Failure::work)?;
    let mut group = Group::start(command).map_err(Failure::work)?;
    let ended = pidfd_open(group.pid()?, PidfdFlags::empty()).map_err(Failure::work)?;
    if !is_heard(&group.child.id().to_string()).map_err(Failure::work)? {
        return end(&mut group).map(drop);
    }
    let output = std::io::stdout();
    loop {
        // A pipe that nothing reads has an error, which is told unasked.
        let sources = [ended.as_fd(), output.as_fd()];
        match interrupt.wait_beside_any(&sources, Instant::now() + LOOK_EVERY) {
            Ok(None) => {}
            Ok(Some(0)) => {
                let status = end(&mut group)?;
                return Err(Failure::work(format!("{name}: it ended by itself ({status})")));
            }
            // What reads this hears signals, too, and says so.
            Ok(Some(_)) | Err(_) => return end(&mut group).map(drop),
        }
    }
}

/// Ends the group, and what has left it.
fn end(group: &mut Group) -> Result<ExitStatus, Failure> {
    let status = group.end()?;
    end_children()?;
    Ok(status)
}
