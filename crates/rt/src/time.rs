//! The clock of the real world, and waiting for it.

use crate::timers::current_timers;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tailwater_core::Instant;

/// Now, by the kernel's monotonic clock (about 20 ns a call). One origin for all processes of a
/// machine, until it boots again.
#[must_use]
pub fn now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Waits without holding a thread. Resolution: that of the loop's turns, tens of microseconds
/// under load.
///
/// # Panics
/// When polled outside a handler of this runtime: its timers belong to the loop or worker.
#[must_use = "a sleep does nothing unless awaited"]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep { until: now() + duration, registered: false }
}

/// See [`sleep`].
#[derive(Debug)]
pub struct Sleep {
    until: Instant,
    registered: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if now() >= self.until {
            return Poll::Ready(());
        }
        if !self.registered {
            current_timers(|timers| {
                timers.add(self.until, context.waker().clone());
            });
            self.registered = true;
        }
        Poll::Pending
    }
}

/// Gives other requests of the same loop a turn.
#[must_use = "yielding does nothing unless awaited"]
pub fn yield_now() -> YieldNow {
    YieldNow(false)
}

/// See [`yield_now`].
#[derive(Debug)]
pub struct YieldNow(bool);

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
