//! The clock of the real world, and waiting for it.

pub use crate::clock::now;

use crate::timers::{Timer, cancel_timer, current_timers};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tailwater_core::Instant;

/// Waits without holding a thread. Resolution: that of the loop's turns, tens of microseconds
/// under load.
///
/// # Panics
/// When polled outside a handler of this runtime: its timers belong to the loop or worker.
#[must_use = "a sleep does nothing unless awaited"]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep { until: now() + duration, timer: None }
}

/// See [`sleep`].
#[derive(Debug)]
pub struct Sleep {
    until: Instant,
    /// Once it is set.
    timer: Option<Timer>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if now() >= self.until {
            self.cancel();
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        current_timers(|timers| match self.timer {
            Some(timer) => timers.put(timer, waker),
            None => self.timer = Some(timers.add(self.until, waker)),
        });
        Poll::Pending
    }
}

impl Sleep {
    /// Its timer would keep a clone of the waker until it is due.
    fn cancel(&mut self) {
        if let Some(timer) = self.timer.take() {
            cancel_timer(timer);
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.cancel();
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
