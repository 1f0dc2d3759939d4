//! The two system calls that the library leaves to its users: several events in one ring, and events that are filtered.
//!
//! Rule: descriptors are open events of this process that the caller owns; of a shared ring for as long as it is read. The
//! kernel stores a reference between the two, or a copy of the filter, which ends in a zero. It writes no memory of this
//! process.

use perf_event::Counter;
use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd as _;

/// Has the events of `counter` go to the ring of `owner`, which must be of the same processor and clock.
pub(crate) fn share_ring(counter: &Counter, owner: &Counter) -> io::Result<()> {
    let (from, to) = (counter.as_raw_fd(), owner.as_raw_fd());
    // SAFETY: by the rule above: two descriptors that are borrowed for the call, and no memory.
    let done = unsafe { perf_event_open_sys::ioctls::SET_OUTPUT(from, to) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has `counter` count such events alone as the filter lets pass.
pub(crate) fn only_where(counter: &Counter, filter: &str) -> io::Result<()> {
    let filter = CString::new(filter)?;
    let (event, text) = (counter.as_raw_fd(), filter.as_ptr().cast_mut());
    // SAFETY: by the rule above: a descriptor and a text, both borrowed for the call, and the kernel copies the text.
    let done = unsafe { perf_event_open_sys::ioctls::SET_FILTER(event, text) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
