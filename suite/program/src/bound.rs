//! A process that ends with the one that started it, by the kernel's wish (prctl(2), PR_SET_PDEATHSIG).

use crate::failure::Failure;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// From now on the kernel ends this process with the thread that started it, whose process has this number. The wish lives through
/// `exec`; a process that becomes another user loses it.
///
/// # Errors
/// When the parent has ended already, or is another.
pub fn end_with(parent: i32) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Failure::work)?;
    // It may have ended before the wish was told.
    if getppid().is_none_or(|now| now.as_raw_nonzero().get() != parent) {
        return Err(Failure::work("what started this has ended"));
    }
    Ok(())
}
