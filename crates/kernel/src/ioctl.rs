//! The one system call that the library leaves to its users: several events in one ring.
//!
//! Rule: both descriptors are open events of this process that the caller owns and keeps for as long as the ring is
//! read. The call stores a reference between the two within the kernel; it reads and writes no memory of this process.

use perf_event::Counter;
use std::io;
use std::os::fd::AsRawFd as _;

/// Has the events of `counter` go to the ring of `owner`, which must be of the same processor and clock.
pub(crate) fn share_ring(counter: &Counter, owner: &Counter) -> io::Result<()> {
    let (from, to) = (counter.as_raw_fd(), owner.as_raw_fd());
    // SAFETY: by the rule above: two descriptors that are borrowed for the call, and no memory.
    let done = unsafe { perf_event_open_sys::ioctls::SET_OUTPUT(from, to) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
