//! The reader of standard output. What an experiment started ends when that is gone: the kernel closes its end
//! of the pipe however it ended, by SIGKILL too.

use crate::failure::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Acts once, on a thread of its own, when nothing can read standard output any more. Never, where that is
/// a file.
pub(crate) fn when_gone(act: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let wait = || {
        if is_gone() {
            act();
        }
    };
    let thread = std::thread::Builder::new().name("tailwater-reader".into());
    thread.spawn(wait).map(drop).map_err(Failure::work)
}

/// Waits until it is; false if that cannot be known.
fn is_gone() -> bool {
    is_gone_within(None)
}

/// Whether nothing can read standard output any more.
pub(crate) fn has_gone() -> bool {
    is_gone_within(Some(&Timespec::default()))
}

fn is_gone_within(time: Option<&Timespec>) -> bool {
    let output = std::io::stdout();
    // Asked for nothing, poll tells of errors alone: a pipe without a reader is one.
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    loop {
        match poll(&mut watched, time) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
