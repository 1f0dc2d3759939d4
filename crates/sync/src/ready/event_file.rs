//! The file by which an event loop learns that its consumer has work.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// An event file that a producer writes to when this consumer sleeps.
pub(super) struct EventFile {
    file: Arc<File>,
    waker: Waker,
}

struct File(OwnedFd);

impl Wake for File {
    fn wake(self: Arc<Self>) {
        // It fails only where the counter is full, and then the file is readable already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl EventFile {
    pub(super) fn new() -> io::Result<Self> {
        let file = Arc::new(File(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?));
        Ok(Self { waker: Waker::from(file.clone()), file })
    }

    /// Writes to the file when it is woken.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Readable no more, until the next ring.
    pub(super) fn drain(&self) -> io::Result<()> {
        match rustix::io::read(&self.file.0, &mut [0; 8]) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for EventFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.0.as_fd()
    }
}
