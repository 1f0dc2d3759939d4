//! Tasks that wait in vain: named in debug builds, and nobody else is.

#![cfg(all(debug_assertions, not(loom)))]

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tailwater_sync::budget::{self, Alarm, AlarmKey, Budget, TaskBudget};
use tailwater_sync::task::{Mutex, MutexGuard, RwLock, Watch};

/// Says whether it was rung.
#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type Branch<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A task as an executor has it.
struct Task<'a> {
    work: Branch<'a>,
    watch: Watch,
    bell: Arc<Bell>,
    waker: Waker,
}

impl<'a> Task<'a> {
    fn new(work: impl Future<Output = ()> + 'a) -> Self {
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(bell.clone());
        Self { work: Box::pin(work), watch: Watch::new(), bell, waker }
    }

    /// Whether it has ended, or what it panicked with.
    fn poll(&mut self) -> Result<bool, String> {
        let Self { work, watch, bell, waker } = self;
        bell.0.store(false, Ordering::SeqCst);
        let _watching = watch.enter(waker);
        let mut poll = || work.as_mut().poll(&mut Context::from_waker(waker)).is_ready();
        let ready = poll();
        let clones = Arc::strong_count(bell) - 2;
        let clones = || (!bell.0.load(Ordering::SeqCst)).then_some(clones);
        if ready || !watch.waits_in_vain(clones) {
            return Ok(ready);
        }
        catch_unwind(AssertUnwindSafe(poll)).map_err(|panic| *panic.downcast().expect("a message"))
    }

    fn is_rung(&self) -> bool {
        self.bell.0.load(Ordering::SeqCst)
    }
}

/// Ends once the test says so.
#[derive(Default)]
struct Gate(RefCell<(bool, Option<Waker>)>);

impl Gate {
    fn open(&self) {
        let (open, waker) = &mut *self.0.borrow_mut();
        *open = true;
        waker.take().expect("somebody waits").wake();
    }

    async fn pass(&self) {
        poll_fn(|context| {
            let (open, waker) = &mut *self.0.borrow_mut();
            if std::mem::take(open) {
                return Poll::Ready(());
            }
            *waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Polls all at each poll, as `join!` does, the last first.
async fn join(mut branches: Vec<Branch<'_>>) {
    poll_fn(|context| {
        for at in (0..branches.len()).rev() {
            if branches[at].as_mut().poll(context).is_ready() {
                drop(branches.remove(at));
            }
        }
        if branches.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

struct Within(Waker);

impl Wake for Within {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

/// Gives the branch a waker of its own, as collections of futures do.
async fn apart(mut branch: Branch<'_>) {
    let mut own: Option<Waker> = None;
    poll_fn(|context| {
        let own = own.get_or_insert_with(|| Arc::new(Within(context.waker().clone())).into());
        branch.as_mut().poll(&mut Context::from_waker(own))
    })
    .await;
}

fn boxed<'a>(branch: impl Future<Output = ()> + 'a) -> Branch<'a> {
    Box::pin(branch)
}

#[test]
fn a_lock_that_its_task_wants_again_is_named() {
    let (mutex, rwlock) = (Mutex::named("index", ()), RwLock::named("pages", ()));
    let cases = [
        boxed(async {
            let _first = mutex.lock().await;
            let _second = mutex.lock().await;
        }),
        boxed(async {
            let _first = mutex.try_lock().expect("it is free");
            let _second = mutex.lock().await;
        }),
        boxed(async {
            let _first = rwlock.read().await;
            let _second = rwlock.write().await;
        }),
        boxed(async {
            let _first = rwlock.write().await;
            let _second = rwlock.read().await;
        }),
    ];
    for (case, name) in cases.into_iter().zip(["`index`", "`index`", "`pages`", "`pages`"]) {
        let mut task = Task::new(case);
        let error = task.poll().unwrap_err();
        assert!(error.contains("wanted again by the task") && error.contains(name), "{error}");
        drop(task);
        assert!(mutex.try_lock().is_some(), "it was unlocked");
    }
}

/// Keeps its clone until it is cancelled.
struct Patient(std::sync::Mutex<Option<Waker>>);

impl Alarm for Patient {
    fn wake_after(&self, _: Duration, waker: &Waker) -> Option<AlarmKey> {
        *self.0.lock().unwrap() = Some(waker.clone());
        Some([0; 2])
    }

    fn cancel(&self, _: AlarmKey) {
        self.0.lock().unwrap().take();
    }
}

#[test]
fn it_is_named_within_a_budget_too_alarm_or_not() {
    static PATIENT: Patient = Patient(std::sync::Mutex::new(None));
    let hour = TaskBudget::new(Budget::new(Duration::from_secs(3_600)));
    for budget in [hour, hour.alarm(&PATIENT)] {
        let mutex = Mutex::named("index", ());
        let mut task = Task::new(budget::follow(budget, async {
            let _first = mutex.lock_within_budget().await;
            let _second = mutex.lock_within_budget().await;
        }));
        assert!(task.poll().unwrap_err().contains("`index`"));
    }
}

/// Where it has no timers.
struct Mute;

impl Alarm for Mute {
    fn wake_after(&self, _: Duration, _: &Waker) -> Option<AlarmKey> {
        None
    }

    fn cancel(&self, _: AlarmKey) {
        panic!("there is nothing to cancel");
    }
}

#[test]
fn it_is_named_if_the_alarm_keeps_no_waker() {
    let hour = TaskBudget::new(Budget::new(Duration::from_secs(3_600))).alarm(&Mute);
    let mutex = Mutex::named("index", ());
    let mut task = Task::new(budget::follow(hour, async {
        let _first = mutex.lock_within_budget().await;
        let _second = mutex.lock_within_budget().await;
    }));
    assert!(task.poll().unwrap_err().contains("`index`"));
}

/// Without a deadlock, once each was waited for while the other was held.
#[test]
fn two_orders_are_named() {
    let (items, slabs) = (Mutex::named("items", ()), RwLock::named("slabs", ()));
    let slabs_held = {
        let Poll::Ready(held) = pin!(slabs.read()).as_mut().poll(&mut idle()) else {
            panic!("it is free")
        };
        held
    };
    let mut forth = Task::new(async {
        let _first = items.lock().await;
        let _second = slabs.write().await;
    });
    assert_eq!(forth.poll(), Ok(false));
    drop(slabs_held);
    assert!(forth.is_rung());
    assert_eq!(forth.poll(), Ok(true));
    let items_held = items.try_lock().unwrap();
    let mut back = Task::new(async {
        let _first = slabs.read().await;
        let _second = items.lock().await;
    });
    let error = back.poll().unwrap_err();
    assert!(error.contains("`items` is wanted while `slabs` is held"), "{error}");
    drop(items_held);
}

#[test]
fn a_deadlock_of_three_is_named_and_its_victim_lets_the_others_go_on() {
    let locks = ["a", "b", "c"].map(|name| Mutex::named(name, ()));
    let gates = [(); 3].map(|()| Gate::default());
    let mut tasks = [0, 1, 2].map(|at| {
        let (first, second, gate) = (&locks[at], &locks[(at + 1) % 3], &gates[at]);
        Task::new(async move {
            let _first = first.lock().await;
            gate.pass().await;
            let _second = second.lock().await;
        })
    });
    for (task, gate) in tasks.iter_mut().zip(&gates) {
        assert_eq!(task.poll(), Ok(false));
        gate.open();
    }
    let [mut one, mut two, mut three] = tasks;
    assert_eq!((one.poll(), two.poll()), (Ok(false), Ok(false)));
    let error = three.poll().unwrap_err();
    assert!(error.contains("`a` is wanted while `c` is held"), "{error}");
    drop(three);
    assert_eq!((two.poll(), one.poll()), (Ok(true), Ok(true)));
}

fn idle() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

type Wrap = fn(Branch<'_>) -> Branch<'_>;
const PLAIN: Wrap = |branch| branch;
const APART: Wrap = |branch| boxed(apart(branch));

/// One branch holds the lock for as long as it waits for something else; the other queues. Each, or both
/// together, may have a waker of its own.
#[test]
fn branches_of_a_task_may_wait_for_each_other() {
    let wraps = [PLAIN, APART];
    for number in 0..16 {
        let [holder, other, both] = [0, 1, 2].map(|bit| wraps[number >> bit & 1]);
        let (mutex, gate) = (Mutex::named("shared", ()), Gate::default());
        let holds = holder(boxed(async {
            let _held = mutex.lock().await;
            for _ in 0..3 {
                gate.pass().await;
            }
        }));
        let wants = other(boxed(async {
            second_poll().await;
            drop(mutex.lock().await);
        }));
        let branches = if number & 8 == 0 { vec![wants, holds] } else { vec![holds, wants] };
        let mut task = Task::new(both(boxed(join(branches))));
        assert_eq!(task.poll(), Ok(false));
        for _ in 0..3 {
            assert_eq!(task.poll(), Ok(false));
            gate.open();
        }
        while !task.poll().expect("nobody waits in vain") {
            assert!(task.is_rung());
        }
    }
}

/// Lets the other branch be first, whatever the order.
async fn second_poll() {
    let mut first = true;
    poll_fn(|context| {
        if std::mem::take(&mut first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// Neither holds what it wants, but the task as a whole holds both and wants both.
#[test]
fn branches_with_locks_of_their_own_set_no_order() {
    for wrap in [PLAIN, APART] {
        let (a, b) = (Mutex::named("a", ()), Mutex::named("b", ()));
        for (held, wanted) in [(&a, &b), (&b, &a)] {
            let gate = Gate::default();
            let taken = wanted.try_lock();
            let mut task = Task::new(wrap(boxed(join(vec![
                boxed(async { drop(wanted.lock().await) }),
                boxed(async {
                    let _held = held.lock().await;
                    gate.pass().await;
                }),
            ]))));
            assert_eq!(task.poll(), Ok(false));
            drop(taken);
            assert_eq!(task.poll(), Ok(false));
            gate.open();
            assert_eq!(task.poll(), Ok(true));
        }
        // Had they set one, this would be the second.
        let taken = a.try_lock();
        let mut task = Task::new(async {
            let _held = b.lock().await;
            drop(a.lock().await);
        });
        assert_eq!(task.poll(), Ok(false));
        drop(taken);
        assert_eq!(task.poll(), Ok(true));
    }
}

#[test]
fn a_guard_may_be_dropped_elsewhere_and_given_away() {
    let mutex = Mutex::named("travels", 0);
    let given: std::sync::Mutex<Option<MutexGuard<'_, i32>>> = std::sync::Mutex::new(None);
    let mut task = Task::new(async {
        *given.lock().unwrap() = Some(mutex.lock().await);
    });
    assert_eq!(task.poll(), Ok(true));
    std::thread::scope(|scope| {
        scope.spawn(|| given.lock().unwrap().take());
    });
    // The same task, as one that goes on: what it gave away and what was dropped is not held by it.
    let mut again = Task::new(async {
        drop(mutex.lock().await);
        let taken = budget::exempt(|| mutex.try_lock());
        *given.lock().unwrap() = taken;
        drop(mutex.lock().await);
    });
    assert_eq!(again.poll(), Ok(false));
    drop(given.lock().unwrap().take());
    assert!(again.is_rung());
    assert_eq!(again.poll(), Ok(true));
}

thread_local! {
    static GAVE: RefCell<Option<Task<'static>>> = const { RefCell::new(None) };
    static ANSWER: RefCell<Option<Result<bool, String>>> = const { RefCell::new(None) };
}

/// Polls the task that gave its guard away.
struct Meanwhile;

impl Wake for Meanwhile {
    fn wake(self: Arc<Self>) {
        ANSWER.set(GAVE.take().map(|mut task| task.poll()));
    }
}

/// A task takes the lock and gives its guard away, and wants the lock again while that guard is being
/// dropped: the next in the queue has it by then.
fn wants_it_while_it_is_dropped<G: 'static>(
    first: impl Future<Output = G> + 'static,
    next: impl Future,
    again: impl Future + 'static,
) {
    let given = Rc::new(RefCell::new(None));
    let gives = given.clone();
    let mut task = Task::new(async move {
        *gives.borrow_mut() = Some(first.await);
        second_poll().await;
        drop(again.await);
    });
    assert_eq!(task.poll(), Ok(false));
    let waker = Waker::from(Arc::new(Meanwhile));
    let mut next = pin!(next);
    assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    GAVE.set(Some(task));
    let guard = given.borrow_mut().take();
    drop(guard);
    assert_eq!(ANSWER.take(), Some(Ok(false)));
}

#[test]
fn a_guard_leaves_its_task_before_another_has_the_lock() {
    let mutex: &'static Mutex<()> = Box::leak(Box::new(Mutex::named("passes", ())));
    let rwlock: &'static RwLock<()> = Box::leak(Box::new(RwLock::named("passes too", ())));
    wants_it_while_it_is_dropped(mutex.lock(), mutex.lock(), mutex.lock());
    wants_it_while_it_is_dropped(rwlock.read(), rwlock.write(), rwlock.read());
    wants_it_while_it_is_dropped(rwlock.write(), rwlock.read(), rwlock.write());
}

/// The task that polls it now waits for it, holding nothing.
#[test]
fn a_wait_that_moves_to_another_task_is_not_followed() {
    let mutex = Mutex::named("moves", ());
    let held = RefCell::new(None);
    let waiting = RefCell::new(None);
    let gate = Gate::default();
    let mut first = Task::new(async {
        *held.borrow_mut() = Some(mutex.lock().await);
        let mut wait = Box::pin(mutex.lock());
        let begun = poll_fn(|context| Poll::Ready(wait.as_mut().poll(context).is_pending())).await;
        assert!(begun);
        *waiting.borrow_mut() = Some(wait);
        gate.pass().await;
        gate.pass().await;
    });
    assert_eq!(first.poll(), Ok(false));
    let mut second = Task::new(async {
        let wait = waiting.borrow_mut().take().expect("it was begun");
        drop(wait.await);
    });
    assert_eq!(second.poll(), Ok(false));
    gate.open();
    assert_eq!(first.poll(), Ok(false));
    gate.open();
    assert_eq!(first.poll(), Ok(true));
    drop(held.borrow_mut().take());
    assert!(second.is_rung());
    assert_eq!(second.poll(), Ok(true));
}
