//! A consumer in an event loop: waiting as a file descriptor.

use super::Waiter;
use super::event_file::EventFile;
use rustix::fd::{AsFd, BorrowedFd};
use std::io;

impl Waiter {
    /// A file descriptor for `epoll`, `poll` and `select`. After [`Waiter::arm`] it becomes readable once a queue is
    /// ready. Do not read from it; it closes with the waiter.
    ///
    /// # Errors
    /// Where the process has no room for another file descriptor.
    pub fn event_fd(&mut self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.event_file()?.as_fd())
    }

    /// Prepares a sleep in an event loop. True if nothing is ready: the loop may sleep, and the file descriptor
    /// ends its sleep. False if a queue is ready: take it first. Call it before each sleep; the next
    /// [`Waiter::take`] ends what it prepared, whatever woke the loop. A loop that does not take again calls
    /// [`Waiter::disarm`], or the ring that woke it wakes no other consumer.
    ///
    /// ```
    /// # use rustix::event::{PollFd, PollFlags, poll};
    /// # use tailwater_sync::ready::{ReadySet, VisitPolicy};
    /// # let (set, mut waiter) = ReadySet::new(10, VisitPolicy::RoundRobin)?;
    /// # let bell = set.doorbell(3)?;
    /// # let producer = std::thread::spawn(move || bell.ring());
    /// # let mut visited = 0;
    /// while visited == 0 {
    ///     if waiter.arm()? {
    ///         let event = waiter.event_fd()?;
    ///         poll(&mut [PollFd::new(&event, PollFlags::IN)], None)?;
    ///     }
    ///     while let Some(_queue) = waiter.take() {
    ///         visited += 1;
    ///     }
    /// }
    /// # producer.join().unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Waiter::event_fd`].
    pub fn arm(&mut self) -> io::Result<bool> {
        // Of a sleep that was prepared before: a ring that ended it may look at no other consumer any more.
        self.get_up();
        let event = self.event_file()?;
        // Before it lies down: a ring that was late for the last sleep would make the file readable for ever.
        event.drain()?;
        let waker = event.waker().clone();
        let sleeps = self.lie_down(&waker);
        if !sleeps {
            self.get_up();
        }
        Ok(sleeps)
    }

    fn event_file(&mut self) -> io::Result<&EventFile> {
        if self.event.is_none() {
            self.event = Some(EventFile::new()?);
        }
        Ok(self.event.as_ref().expect("it was made above"))
    }
}
