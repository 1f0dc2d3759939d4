//! Signals that ask a run to end: the first cuts it short, the next ends it at once.

use crate::failure::Failure;
use crate::{status, unignored};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Ctrl-C, `kill`, and a terminal that is closed.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Ctrl-\ asks the same of a program that has something to put back. It ends all others at once.
const TO_THE_END: [i32; 1] = [SIGQUIT];

/// What such signals have asked for so far.
#[derive(Debug)]
pub struct Interrupt {
    /// The signal's number; zero: none came.
    signal: Arc<AtomicUsize>,
    /// Has a byte to read once one came.
    woken: UnixStream,
}

impl Interrupt {
    /// From now on signals are noted. One that was ignored when the program started, as under nohup, stays so.
    ///
    /// # Errors
    /// When the kernel does not let the process note them.
    pub fn watch() -> Result<Self, Failure> {
        Self::noting(true)
    }

    /// The same, but no further signal ends the program either: it has something to put back first.
    ///
    /// # Errors
    /// As above.
    pub fn watch_to_the_end() -> Result<Self, Failure> {
        Self::noting(false)
    }

    fn noting(second_ends: bool) -> Result<Self, Failure> {
        let (woken, wakes) = UnixStream::pair().map_err(Failure::work)?;
        let (signal, second) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let more: &[i32] = if second_ends { &[] } else { &TO_THE_END };
        for number in unignored(&status(), &[&SIGNALS, more].concat()) {
            let wakes = wakes.try_clone().map_err(Failure::work)?;
            if second_ends {
                // In this order: the shutdown looks at the flag before the next action sets it.
                flag::register_conditional_shutdown(number, 128 + number, second.clone())
                    .and_then(|_| flag::register(number, second.clone()))
                    .map_err(Failure::work)?;
            }
            flag::register_usize(number, signal.clone(), number as usize)
                .and_then(|_| low_level::pipe::register(number, wakes))
                .map_err(Failure::work)?;
        }
        Ok(Self { signal, woken })
    }

    /// The signal that came, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        // Relaxed: the number is all there is to know.
        i32::try_from(self.signal.load(Ordering::Relaxed)).ok().filter(|number| *number != 0)
    }

    /// Waits until there is something to read, or its end, or a signal came.
    ///
    /// # Errors
    /// The signal, and when the kernel cannot wait for the source.
    pub fn wait_beside(&self, source: impl AsFd) -> Result<(), Failure> {
        self.wait(&[source.as_fd()], None).map(drop)
    }

    /// The same until `deadline` at the latest; false when that has passed.
    ///
    /// # Errors
    /// As above.
    pub fn wait_beside_until(&self, source: impl AsFd, deadline: Instant) -> Result<bool, Failure> {
        self.wait_beside_any(&[source.as_fd()], deadline).map(|ready| ready.is_some())
    }

    /// The same for several: which of them it was, the first that there is something to read from; nothing when
    /// `deadline` has passed.
    ///
    /// # Errors
    /// As above.
    pub fn wait_beside_any(
        &self,
        sources: &[BorrowedFd<'_>],
        deadline: Instant,
    ) -> Result<Option<usize>, Failure> {
        self.wait(sources, Some(deadline))
    }

    /// Waits for so long, or until a signal came.
    ///
    /// # Errors
    /// The signal.
    pub fn rest(&self, time: Duration) -> Result<(), Failure> {
        self.wait(&[], Some(Instant::now() + time)).map(drop)
    }

    fn wait(
        &self,
        sources: &[BorrowedFd<'_>],
        deadline: Option<Instant>,
    ) -> Result<Option<usize>, Failure> {
        let mut watched = vec![PollFd::new(&self.woken, PollFlags::IN)];
        watched.extend(sources.iter().map(|source| PollFd::new(source, PollFlags::IN)));
        loop {
            if let Some(signal) = self.signal() {
                return Err(Failure::signal(signal));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.map(Timespec::try_from).transpose().map_err(Failure::work)?;
            match poll(&mut watched, timeout.as_ref()) {
                Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(None),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::work(error)),
            }
            if let Some(signal) = self.signal() {
                return Err(Failure::signal(signal));
            }
            let ready = watched[1..].iter().position(|source| !source.revents().is_empty());
            if ready.is_some() {
                return Ok(ready);
            }
        }
    }
}
