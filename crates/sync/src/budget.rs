//! The budget of the request that the present code works for.
//!
//! A thread has one at a time: [`scope`] sets it for a closure, [`enter`] for as long as a guard lives. An executor
//! sets a task's so at each poll ([`follow`] does it on any executor). Threads and tasks that are started inherit
//! nothing: hand [`current_task`] over explicitly. Without a budget nothing is refused.

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::task::Waker;
use std::time::Duration;

pub use tailwater_control::asqm::{Asqm, Budget, Policy};
use tailwater_control::asqm::{Entry, Found};

use crate::{Refused, order};

/// Wakes a task later: the timers of whatever runtime polls it.
///
/// Without one, a queued task notices that its budget has ended when it is next polled. That is no later than when it
/// gets the lock.
pub trait Alarm: Sync {
    /// Wakes `waker` once, after so long, unless it is cancelled before; keeps one clone of it until then.
    /// It may come late or in vain. Called once per wait that may be given up, and once more whenever another task
    /// waits, by another waker. Returns what [`Alarm::cancel`] shall be told; or `None` if it has set no alarm
    /// and keeps no clone, as where there are no timers. (Debug builds count the clones, to know what a task
    /// waits for.)
    ///
    /// If it panics, the poll of the task does; the task's wait can be dropped then as at any time.
    fn wake_after(&self, after: Duration, waker: &Waker) -> Option<AlarmKey>;

    /// The wait is over, or another task waits. The alarm may have rung, and this may be another thread. To do
    /// nothing is right too, but then as many alarms are kept as waits begin within a budget. A panic is
    /// reported by the panic hook and goes no further.
    fn cancel(&self, key: AlarmKey);
}

/// By which an [`Alarm`] finds what it shall cancel; its own business.
pub type AlarmKey = [u64; 2];

/// A request's budget with what belongs to it, kept by whoever runs the request.
#[derive(Clone, Copy)]
pub struct TaskBudget(Context);

impl TaskBudget {
    /// With [`Asqm::DEFAULT`] and without an alarm.
    #[must_use]
    pub const fn new(budget: Budget) -> Self {
        Self(Context { budget: Some(budget), policy: Policy::Asqm(Asqm::DEFAULT), ..Context::NONE })
    }

    /// Lets queued tasks give up in time.
    #[must_use]
    pub const fn alarm(mut self, alarm: &'static dyn Alarm) -> Self {
        self.0.alarm = Some(alarm);
        self
    }

    /// What to do at a contended lock, for comparisons. Of [`Asqm::ARTIFACT`] one thing is missing: a
    /// lock that is free is never refused.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.0.policy = policy;
        self
    }

    /// As of when it was last left.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.0.budget.unwrap_or(Budget::new(Duration::ZERO))
    }

    /// What it waited at locks that it asked for with a plain `lock()`, as of when it was last left. Part of
    /// what was deducted; but no refusal bounds it, so that whoever measures how long a request takes apart
    /// from waiting must count it in.
    #[must_use]
    pub const fn bound_to_wait(&self) -> Duration {
        self.0.bound
    }
}

impl fmt::Debug for TaskBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskBudget").field(&self.budget()).finish()
    }
}

/// Runs `work` with this budget as [`TaskBudget::new`] has it; then the thread's former one is back, as it was.
pub fn scope<R>(budget: Budget, work: impl FnOnce() -> R) -> R {
    let mut task = TaskBudget::new(budget);
    let _entered = enter(&mut task);
    work()
}

/// Runs `work` as if outside of any request: nothing in it is refused or deducted, and locks of tasks that it
/// takes are not followed in debug builds.
pub fn exempt<R>(work: impl FnOnce() -> R) -> R {
    let _outside = order::outside();
    let _restore = Restore(CONTEXT.replace(Context::NONE));
    work()
}

/// Makes this the thread's budget until the guard is dropped, which notes in `task` what was spent and
/// restores the former one. Guards are dropped in reverse order.
pub fn enter(task: &mut TaskBudget) -> Entered<'_> {
    let before = CONTEXT.replace(task.0);
    Entered { task, _restore: Restore(before), _thread: PhantomData }
}

/// Polls `work` with this budget set, on whatever executor.
pub async fn follow<F: Future>(mut task: TaskBudget, work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(move |context| {
        let _entered = enter(&mut task);
        work.as_mut().poll(context)
    })
    .await
}

/// The present budget, to look at.
#[must_use]
pub fn current() -> Option<Budget> {
    CONTEXT.get().budget
}

/// The present budget with its policy and its alarm, to hand to what is started: for [`enter`] or
/// [`follow`] there. It is a copy: what is spent of it is not deducted here.
#[must_use]
pub fn current_task() -> Option<TaskBudget> {
    let context = CONTEXT.get();
    context.budget.map(|_| TaskBudget(context))
}

/// Deducts what the present request waited elsewhere on this server, such as in a run queue. A task that
/// was in the queue of a lock meanwhile is not charged twice.
pub fn deduct(waited: Duration) {
    let mut context = CONTEXT.get();
    if let Some(budget) = &mut context.budget {
        budget.deduct(waited);
        context.elsewhere = context.elsewhere.saturating_add(waited);
        CONTEXT.set(context);
    }
}

/// All that the present request waited elsewhere, so far.
pub(crate) fn elsewhere() -> Duration {
    CONTEXT.get().elsewhere
}

/// Deducts a wait at a lock, which began when so much had been waited [`elsewhere`].
pub(crate) fn deduct_wait(waited: Duration, elsewhere_before: Duration, refusable: bool) {
    let mut context = CONTEXT.get();
    if let Some(budget) = &mut context.budget {
        let charged = context.elsewhere.saturating_sub(elsewhere_before);
        let waited = waited.saturating_sub(charged);
        budget.deduct(waited);
        if !refusable {
            context.bound = context.bound.saturating_add(waited);
        }
        CONTEXT.set(context);
    }
}

/// See [`enter`].
#[derive(Debug)]
pub struct Entered<'a> {
    task: &'a mut TaskBudget,
    _restore: Restore,
    /// It belongs to the thread that made it.
    _thread: PhantomData<*const ()>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.task.0 = CONTEXT.get();
    }
}

/// Sets or clears the thread's budget for good: the C interface has no scopes.
pub(crate) fn set(budget: Option<Budget>) {
    CONTEXT.set(budget.map_or(Context::NONE, |budget| TaskBudget::new(budget).0));
}

/// What to do at a taken lock: how long to queue (`None`: for ever), or to go away.
pub(crate) fn ask(oldest_wait: Duration) -> Result<Option<Duration>, Refused> {
    let context = CONTEXT.get();
    match context.policy.enter(context.budget.as_ref(), Found::Taken { oldest_wait }) {
        Entry::Take => Ok(None),
        Entry::Join { give_up_after } => Ok(give_up_after),
        Entry::Refuse => {
            let left = context.budget.map_or(Duration::MAX, |budget| budget.left());
            Err(Refused::OnEntry { oldest_wait, left })
        }
    }
}

pub(crate) fn alarm() -> Option<&'static dyn Alarm> {
    CONTEXT.get().alarm
}

#[derive(Clone, Copy)]
struct Context {
    budget: Option<Budget>,
    alarm: Option<&'static dyn Alarm>,
    policy: Policy,
    /// What was deducted for waiting elsewhere than at locks.
    elsewhere: Duration,
    /// What was deducted for waits that nothing could refuse.
    bound: Duration,
}

impl Context {
    const NONE: Self = Self {
        budget: None,
        alarm: None,
        policy: Policy::Plain,
        elsewhere: Duration::ZERO,
        bound: Duration::ZERO,
    };
}

thread_local! {
    static CONTEXT: Cell<Context> = const { Cell::new(Context::NONE) };
}

/// Puts the former context back, panic or not.
struct Restore(Context);

impl Drop for Restore {
    fn drop(&mut self) {
        CONTEXT.set(self.0);
    }
}

impl fmt::Debug for Restore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Restore")
    }
}
