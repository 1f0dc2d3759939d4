//! One thread's tasks: order, bounds and wake-ups here, the rest in the files below.

mod budgets;
mod cancel;
mod held;
mod memory;
mod panics;
mod race;

use super::*;
use crate::bell::Bell;
use std::future::poll_fn;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};

impl Meta for u32 {
    fn budget(&mut self) -> Option<&mut TaskBudget> {
        None
    }
}

impl Meta for TaskBudget {
    fn budget(&mut self) -> Option<&mut TaskBudget> {
        Some(self)
    }
}

struct Count(Arc<AtomicU32>);
impl Bell for Count {
    fn ring(&self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn executor_with<F: Future, M: Meta>(
    max: usize,
    stamps: bool,
) -> (Executor<F, M>, Arc<Doorbell>, Arc<AtomicU32>) {
    let rung = Arc::new(AtomicU32::new(0));
    let doorbell = Arc::new(Doorbell::new(Box::new(Count(rung.clone()))));
    (Executor::new(doorbell.clone(), max, stamps), doorbell, rung)
}

fn executor<F: Future, M: Meta>(max: usize) -> Executor<F, M> {
    executor_with(max, true).0
}

/// Starts a task that waits.
fn start<F: Future<Output: std::fmt::Debug>, M: Meta + std::fmt::Debug>(
    executor: &mut Executor<F, M>,
    meta: M,
    make: impl FnOnce() -> F,
) -> TaskKey {
    match executor.start(meta, make) {
        Started::Waits(key) => key,
        ended => panic!("it was to wait: {ended:?}"),
    }
}

/// Polls what is woken until nothing is; what ended, in order.
fn run<F: Future, M: Meta>(executor: &mut Executor<F, M>) -> Vec<(M, Result<F::Output, Panicked>)> {
    let mut ended = Vec::new();
    while let Some(polled) = executor.poll_next() {
        ended.extend(polled);
    }
    ended
}

/// Waits until `rounds` polls have passed, waking itself each time.
async fn rounds(count: u32) -> u32 {
    for _ in 0..count {
        crate::time::yield_now().await;
    }
    count
}

#[test]
fn a_task_that_never_waits_finishes_at_once_and_its_slot_is_reused() {
    let mut executor = executor(4);
    for id in 0..100_u32 {
        assert_eq!(executor.start(id, || rounds(0)), Started::Finished(id, Ok(0)));
    }
    assert_eq!((executor.slots.len(), executor.spares.len()), (1, 1));
    assert_eq!(executor.live(), 0);
}

#[test]
fn waiting_tasks_finish_in_turn_and_keep_their_meta() {
    let mut executor = executor(4);
    start(&mut executor, 1_u32, || rounds(2));
    start(&mut executor, 2, || rounds(1));
    assert_eq!(executor.live(), 2);
    assert_eq!(run(&mut executor), [(2, Ok(1)), (1, Ok(2))]);
}

#[test]
fn room_is_bounded() {
    let mut executor = executor(2);
    start(&mut executor, 1_u32, || rounds(1));
    assert!(executor.has_room());
    start(&mut executor, 2, || rounds(1));
    assert!(!executor.has_room());
}

#[test]
fn a_wake_from_another_thread_rings_only_a_sleeper_and_only_once() {
    let (mut executor, doorbell, rung) = executor_with(2, true);
    let (send, receive) = std::sync::mpsc::channel::<Waker>();
    let mut first = true;
    let hand_out = poll_fn(move |context| {
        if std::mem::replace(&mut first, false) {
            send.send(context.waker().clone()).unwrap();
            return Poll::Pending;
        }
        Poll::Ready(())
    });
    start(&mut executor, 7_u32, || hand_out);
    let waker = receive.recv().unwrap();
    doorbell.lie_down();
    std::thread::spawn(move || {
        waker.wake_by_ref();
        waker.wake_by_ref();
    })
    .join()
    .unwrap();
    assert_eq!(rung.load(SeqCst), 1);
    assert!(executor.has_ready());
    assert_eq!(executor.poll_next(), Some(Some((7, Ok(())))));
    assert_eq!(executor.poll_next(), None);
}
