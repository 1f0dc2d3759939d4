//! A task at a gate: a future that may be dropped at any time.

use super::{Gate, Key, Step, Wait, Wakeup};
use crate::budget::{Alarm, AlarmKey};
use crate::order;
use crate::{Refused, budget, clock};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tailwater_core::{Instant, caught};

/// Waits for permits of a strict gate. Joins the queue at its first poll; dropping leaves it.
pub(crate) struct Acquire<'a> {
    gate: &'a Gate,
    need: usize,
    wait: Wait,
    queued: Option<Queued>,
    noted: order::Wait,
}

#[derive(Clone, Copy)]
struct Queued {
    key: Key,
    since: Instant,
    give_up_at: Option<Instant>,
    /// What the request had waited elsewhere until then.
    elsewhere: Duration,
    alarm: Option<(&'static dyn Alarm, AlarmKey)>,
}

impl Queued {
    /// Asks the present alarm to wake the task when the wait is to end, after so long.
    fn set_alarm(&mut self, give_up_after: Option<Duration>, waker: &Waker) {
        self.alarm = give_up_after
            .zip(budget::alarm())
            .and_then(|(after, alarm)| Some((alarm, alarm.wake_after(after, waker)?)));
    }

    /// An alarm is foreign code: its panic ends here, for the lock may be ours by now without a guard.
    fn hush(&self) {
        if let Some((alarm, key)) = self.alarm {
            let _ = caught(|| alarm.cancel(key));
        }
    }
}

impl<'a> Acquire<'a> {
    pub(crate) const fn new(gate: &'a Gate, need: usize, wait: Wait) -> Self {
        Self { gate, need, wait, queued: None, noted: order::Wait::NONE }
    }

    /// `None` once it has joined the queue.
    fn enter(&mut self, waker: &Waker) -> Option<Result<(), Refused>> {
        if self.gate.try_take(self.need) {
            return Some(Ok(()));
        }
        let since = clock::now();
        let give_up_after = match self.gate.ask(self.wait, since) {
            Ok(after) => after,
            Err(refused) => return Some(Err(refused)),
        };
        let Some(key) = self.gate.join(self.need, since, Wakeup::Task(waker.clone())) else {
            return Some(Ok(()));
        };
        let give_up_at = give_up_after.map(|after| since + after);
        let elsewhere = budget::elsewhere();
        // Noted before the alarm is set: should it panic, our drop leaves the queue.
        let queued = Queued { key, since, give_up_at, elsewhere, alarm: None };
        let queued = self.queued.insert(queued);
        queued.set_alarm(give_up_after, waker);
        // One clone in the queue, one in the alarm if it was set.
        let clones = 1 + usize::from(queued.alarm.is_some());
        self.noted = order::Wait::begins(&self.gate.tag, waker, clones);
        None
    }

    /// Another task waits from now on: the alarm would wake the former one.
    fn moved(&mut self, waker: &Waker) {
        let give_up_after = self.give_up_after();
        if let Some(queued) = &mut self.queued {
            queued.hush();
            // Before the new one is set: should that panic, our drop cancels no alarm twice.
            queued.alarm = None;
            queued.set_alarm(give_up_after, waker);
        }
    }

    /// What is left of the wait until it ends unserved, once it has begun.
    pub(crate) fn give_up_after(&self) -> Option<Duration> {
        let at = self.queued?.give_up_at?;
        Some(at.since(clock::now()))
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(queued) = self.queued else {
            return self.enter(context.waker()).map_or(Poll::Pending, Poll::Ready);
        };
        self.noted.goes_on(context.waker());
        let Queued { key, since, give_up_at, elsewhere, .. } = queued;
        let over = give_up_at.is_some_and(|at| clock::now() >= at);
        let wakeup = Wakeup::Task(context.waker().clone());
        let step = self.gate.look(key, over, Some(wakeup));
        let acquired = match step {
            Step::Wait(moved) => {
                if moved {
                    self.moved(context.waker());
                }
                return Poll::Pending;
            }
            Step::Acquired => true,
            Step::GaveUp => false,
        };
        self.queued = None;
        self.noted = order::Wait::NONE;
        queued.hush();
        let waited = self.gate.account(since, clock::now(), elsewhere, self.wait, acquired);
        Poll::Ready(if acquired { Ok(()) } else { Err(Refused::GaveUp { waited }) })
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if let Some(queued) = self.queued.take() {
            queued.hush();
            self.gate.cancel(queued.key);
        }
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("queued", &self.queued.is_some()).finish_non_exhaustive()
    }
}
