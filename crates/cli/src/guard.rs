//! `tailwater guard`: a program of others that ends when nothing reads what this says any more, however that ends.
//!
//! A child that becomes another user loses the kernel's wish to end with its parent (prctl(2), PR_SET_PDEATHSIG), as
//! memcached -u does. A guard between them hears of the parent's end by the pipe, and ends the child's process group. What left
//! the group, as memcached -d does, becomes the guard's child when its own parent ends, and is ended then.

use crate::failure::{Failure, is_heard};
use crate::group::{Group, bound_to_this, end_children};
use crate::interrupt::Interrupt;
use clap::Args;
use rustix::process::{PidfdFlags, getpid, pidfd_open, set_child_subreaper};
use std::os::fd::AsFd as _;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub(crate) struct GuardOptions {
    /// The CPUs that it may run on, as 0-1,3.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Between two looks at nothing: a wait has an end.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);

/// Says the child's process number, and stays until that or the reader is gone.
pub(crate) fn guard(options: &GuardOptions) -> Result<(), Failure> {
    // Ctrl-C goes to all processes of a terminal: the program's group is ended, not left behind.
    let interrupt = Interrupt::watch_to_the_end()?;
    let knobs: Vec<String> = options.cpus.iter().map(|cpus| format!("cpus={cpus}")).collect();
    let mut command = bound_to_this(&knobs, &options.command)?;
    command.stdin(Stdio::null()).stdout(Stdio::null());
    set_child_subreaper(Some(getpid())).map_err(Failure::work)?;
    let mut group = Group::start(&mut command).map_err(Failure::work)?;
    let ended = pidfd_open(group.pid()?, PidfdFlags::empty()).map_err(Failure::work)?;
    if !is_heard(&serde_json::json!({ "pid": group.child.id() }).to_string())? {
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
                let name = &options.command[0];
                return Err(Failure::work(format!("{name}: it ended by itself ({status})")));
            }
            // The run hears signals, too, and says so.
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
