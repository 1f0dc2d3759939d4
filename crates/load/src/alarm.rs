//! A timer among the sockets: what waits for these wakes at an absolute time, too.

use rustix::event::Timespec;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use tailwater_core::Instant;

/// A timerfd. Absolute: a thread that is interrupted between reading the clock and sleeping still wakes in time. With
/// a timeout that begins with the system call it would not. The kernel adds no timer slack to it, as it does to
/// timeouts.
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

impl Alarm {
    /// Silent until it is set.
    ///
    /// # Errors
    /// When the process or the system is out of descriptors.
    pub(crate) fn new() -> Result<Self, Errno> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        timerfd_create(TimerfdClockId::Monotonic, flags).map(Self)
    }

    /// Readable from `at` on, until it is set again: that takes the earlier expiry back, so nothing reads it. A time
    /// that has passed rings at once.
    pub(crate) fn set(&self, at: Instant) {
        // Zero would turn it off.
        let at_ns = at.as_nanos().max(1);
        let time = Timespec {
            tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(at_ns % 1_000_000_000).unwrap_or(0),
        };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: time };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &once)
            .expect("seconds and nanoseconds of a clock's reading are a time");
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tailwater_rt::poll::{Interest, Poller};
    use tailwater_rt::time::now;

    fn rings(poller: &Poller, patience: Duration) -> bool {
        let mut ready = Vec::new();
        poller.wait(Some(patience), &mut ready);
        !ready.is_empty()
    }

    #[test]
    fn it_rings_at_its_time_and_is_silent_when_it_is_set_anew() {
        let (poller, alarm) = (Poller::new().unwrap(), Alarm::new().unwrap());
        poller.add(&alarm, 7, Interest::READ).unwrap();
        assert!(!rings(&poller, Duration::ZERO), "it was never set");
        let at = now() + Duration::from_millis(3);
        alarm.set(at);
        assert!(rings(&poller, Duration::from_secs(30)));
        assert!(now() >= at, "before its time");
        assert!(rings(&poller, Duration::ZERO), "until it is set anew");
        alarm.set(now() + Duration::from_secs(3_600));
        assert!(!rings(&poller, Duration::ZERO), "what rang is taken back");
        alarm.set(at);
        assert!(rings(&poller, Duration::from_secs(30)), "a time that has passed rings at once");
    }
}
