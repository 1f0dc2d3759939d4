//! Every interleaving, up to three preemptions, of the wake protocol, with the executor as its owner:
//! `RUSTFLAGS="--cfg loom" cargo test -p tailwater-rt --release --lib models`.

use super::*;
use crate::models::{Rings, model};
use loom::sync::atomic::AtomicU64;
use loom::thread::{self, JoinHandle};
use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

impl Meta for u32 {
    fn budget(&mut self) -> Option<&mut TaskBudget> {
        None
    }
}

type Handed = Arc<Mutex<Option<Waker>>>;

fn executor<F: Future>() -> (Executor<F, u32>, Arc<Doorbell>, Rings) {
    let rings = Rings::new();
    let doorbell = Arc::new(Doorbell::new(Box::new(rings.clone())));
    (Executor::new(doorbell.clone(), 2, false), doorbell, rings)
}

/// Is ready once `data` is at least `enough`. A poll looks by a load alone, as a channel's fast path may:
/// only the wake protocol orders it behind what a waker wrote. The first poll hands its waker out.
fn until(data: Arc<AtomicU64>, enough: u64, handed: Handed) -> impl Future<Output = u64> {
    poll_fn(move |context| {
        handed.lock().unwrap().get_or_insert_with(|| context.waker().clone());
        let seen = data.load(Relaxed);
        if seen >= enough { Poll::Ready(seen) } else { Poll::Pending }
    })
}

fn waker(handed: &Handed) -> Waker {
    handed.lock().unwrap().clone().expect("the first poll handed it out")
}

/// Wakes for no reason, then writes and wakes for it: the second wake-up may find the first still queued.
fn wake_twice(waker: Waker, data: Arc<AtomicU64>) -> JoinHandle<()> {
    thread::spawn(move || {
        waker.wake_by_ref();
        data.fetch_add(1, Relaxed);
        waker.wake();
    })
}

/// Polls what is woken until nothing is.
fn run<F: Future<Output = u64>>(executor: &mut Executor<F, u32>) -> Vec<u32> {
    let mut ended = Vec::new();
    while let Some(polled) = executor.poll_next() {
        ended.extend(polled.map(|(id, _)| id));
    }
    ended
}

/// Defect A1: the flag was cleared by a plain store. The poll could then miss what the second wake-up was for, while
/// that wake-up left the poll to the first.
#[test]
fn a_wake_up_that_finds_the_slot_queued_is_not_lost() {
    model(|| {
        let (mut executor, ..) = executor();
        let (data, handed) = (Arc::new(AtomicU64::new(0)), Handed::default());
        let started = executor.start(7, || until(data.clone(), 1, handed.clone()));
        assert!(matches!(started, Started::Waits(_)));
        let other = wake_twice(waker(&handed), data);
        let mut ended = run(&mut executor);
        other.join().unwrap();
        ended.extend(run(&mut executor));
        assert_eq!(ended, [7], "its last wake-up was lost");
    });
}

/// Two threads, each with half of what the task waits for.
#[test]
fn of_two_threads_wake_ups_none_is_lost() {
    model(|| {
        let (mut executor, ..) = executor();
        let (data, handed) = (Arc::new(AtomicU64::new(0)), Handed::default());
        let started = executor.start(7, || until(data.clone(), 2, handed.clone()));
        assert!(matches!(started, Started::Waits(_)));
        let others = [(); 2].map(|()| {
            let (waker, data) = (waker(&handed), data.clone());
            thread::spawn(move || {
                data.fetch_add(1, Relaxed);
                waker.wake();
            })
        });
        let mut ended = run(&mut executor);
        others.into_iter().for_each(|other| other.join().unwrap());
        ended.extend(run(&mut executor));
        assert_eq!(ended, [7], "a wake-up was lost");
    });
}

/// A loop's life: it polls, lies down, looks once more, sleeps. Were a wake-up or a ring lost, it would
/// sleep for ever, which loom tells.
#[test]
fn a_sleeping_executor_is_woken() {
    model(|| {
        let (mut executor, doorbell, rings) = executor();
        let (data, handed) = (Arc::new(AtomicU64::new(0)), Handed::default());
        let started = executor.start(7, || until(data.clone(), 1, handed.clone()));
        assert!(matches!(started, Started::Waits(_)));
        let other = wake_twice(waker(&handed), data);
        while run(&mut executor).is_empty() {
            doorbell.lie_down();
            if !executor.has_ready() {
                rings.wait();
            }
            doorbell.get_up();
        }
        other.join().unwrap();
    });
}

/// The slot's next task is woken by clones of the same waker as the cancelled one.
#[test]
fn the_task_after_a_cancelled_one_gets_its_own_wake_ups() {
    model(|| {
        let (mut executor, ..) = executor();
        let (data, handed) = (Arc::new(AtomicU64::new(0)), Handed::default());
        let make = |enough| until(data.clone(), enough, handed.clone());
        let Started::Waits(key) = executor.start(1, || make(9)) else { panic!("nine never come") };
        let other = wake_twice(waker(&handed), data.clone());
        let mut ended = run(&mut executor);
        assert_eq!(executor.cancel(key), Some(1));
        if let Started::Finished(id, _) = executor.start(2, || make(1)) {
            ended.push(id);
        }
        other.join().unwrap();
        ended.extend(run(&mut executor));
        assert_eq!((ended, executor.live()), (vec![2], 0));
        assert_eq!(executor.cancel(key), None);
    });
}
