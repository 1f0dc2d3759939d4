//! Multishot polls of files by io_uring, as a safe type: the bench itself holds no unsafe code.
//!
//! Each file has one poll, which stays armed and says each time that the file became readable. Nothing is read from it.
//! The ring has one thread, and the kernel does its part when that thread enters it (`DEFER_TASKRUN`): what the
//! authors of io_uring advise for a thread that owns its ring. A flag in shared memory says that there is something to
//! enter for, so that looking for events costs no system call.
//!
//! # The rule
//!
//! An entry is a poll by a file's number. It holds no address, so the kernel touches no memory for it but the ring's own.
//! The crate that made the ring unmaps it. A number whose file was closed is an error to the kernel, or a poll
//! of another file. So no entry can do harm to memory, whatever its files.

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Entries that are handed to the kernel together.
const BATCH: u32 = 256;
/// The most events that may wait in a ring: the kernel's own bound.
const EVENTS_MAX: usize = 1 << 16;
/// `POLLIN` of `poll(2)`.
const READABLE: u32 = 1;
/// `ETIME`: a wait was as long as it was allowed to be.
const OVER: i32 = 62;

/// A poll of each of some files. It belongs to the thread that made it.
#[derive(Debug)]
pub struct Polls {
    ring: Ring,
    files: Arc<Vec<OwnedFd>>,
    /// Files whose poll ended and is to begin anew.
    ended: Vec<usize>,
}

struct Ring(IoUring);

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Ring").finish_non_exhaustive()
    }
}

impl Polls {
    /// A poll for each file. A file that is readable already is an event at once.
    ///
    /// # Errors
    /// Where the kernel refuses io_uring or one of these polls.
    pub fn new(files: Arc<Vec<OwnedFd>>) -> io::Result<Self> {
        let ring = Ring(ring(files.len())?);
        let ended = (0..files.len()).collect();
        let mut polls = Self { ring, files, ended };
        polls.begin()?;
        Ok(polls)
    }

    /// Adds the files that became readable, by their places; waits for the first of them at most so long. A wait of zero is
    /// a look.
    ///
    /// # Errors
    /// Where the kernel ends a poll for another reason than that there were too many events.
    pub fn wait(&mut self, at_most: Duration, readable: &mut Vec<usize>) -> io::Result<()> {
        self.begin()?;
        if at_most.is_zero() {
            self.look()?;
        } else if self.ring.0.completion().is_empty() {
            let time = Timespec::new().sec(at_most.as_secs()).nsec(at_most.subsec_nanos());
            let args = SubmitArgs::new().timespec(&time);
            match self.ring.0.submitter().submit_with_args(1, &args) {
                Err(error) if error.raw_os_error() == Some(OVER) => {}
                other => drop(other?),
            }
        }
        for event in self.ring.0.completion() {
            let place = event.user_data() as usize;
            if event.result() < 0 {
                return Err(io::Error::from_raw_os_error(-event.result()));
            }
            if !cqueue::more(event.flags()) {
                self.ended.push(place);
            }
            readable.push(place);
        }
        Ok(())
    }

    /// Enters the kernel where the ring's flags say that it has events to bring.
    fn look(&mut self) -> io::Result<()> {
        if self.ring.0.completion().is_empty() && self.ring.0.submission().taskrun() {
            self.ring.0.submit()?;
        }
        Ok(())
    }

    /// Begins the polls that are not armed.
    fn begin(&mut self) -> io::Result<()> {
        while let Some(&place) = self.ended.last() {
            let poll = opcode::PollAdd::new(Fd(self.files[place].as_raw_fd()), READABLE);
            let entry = poll.multi(true).build().user_data(place as u64);
            // SAFETY: the rule above.
            let pushed = unsafe { self.ring.0.submission().push(&entry) };
            if pushed.is_ok() {
                self.ended.pop();
            }
            if pushed.is_err() || self.ended.is_empty() {
                self.ring.0.submit()?;
            }
        }
        Ok(())
    }
}

/// Why the kernel refuses io_uring as it is used here; `None` if it does not.
#[must_use]
pub fn refusal() -> Option<io::Error> {
    ring(1).err()
}

fn ring(files: usize) -> io::Result<IoUring> {
    // A poll waits in the ring once at most until the kernel is entered again.
    let events = files.next_power_of_two().clamp(2 * BATCH as usize, EVENTS_MAX);
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .setup_cqsize(events as u32)
        .build(BATCH)
}
