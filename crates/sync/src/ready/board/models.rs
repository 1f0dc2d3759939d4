//! A set across processes, either side of which dies between two steps:
//! `RUSTFLAGS="--cfg loom" cargo test -p tailwater-sync --release --lib models`.

use super::super::{ReadySet, Shared, VisitPolicy, Waiter};
use super::*;
use crate::ready::members::Members;
use crate::ready::stats::Told;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::thread;
use std::time::Duration;

/// Four queues are two levels here.
const QUEUES: usize = 4;

/// Relaxed: what orders the items is the set.
type Items = Arc<[AtomicUsize; QUEUES]>;

fn model(preemptions: usize, work: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(work);
}

fn set() -> (std::sync::Arc<Shared>, Items) {
    let geometry = Geometry::new(QUEUES, Layout::Padded);
    let lines = Memory::own((0..geometry.lines()).map(|_| Line::default()));
    let shared = Shared {
        board: Board::over(lines, geometry, Beds::across()),
        members: Members::new(QUEUES, true),
        told: Box::new([Told::default()]),
    };
    (std::sync::Arc::new(shared), Arc::new(std::array::from_fn(|_| AtomicUsize::new(0))))
}

fn waiter(shared: &std::sync::Arc<Shared>) -> Waiter {
    let settings = ReadySet::builder(QUEUES).policy(VisitPolicy::RoundRobin).spin(Duration::ZERO);
    Waiter::new(shared.clone(), &settings, (0, 1), 0)
}

fn push(shared: &Shared, items: &Items, queue: usize) {
    items[queue].store(1, Relaxed);
    shared.board.ring(queue);
}

/// Waits until the items of these queues were found.
fn serve(mut waiter: Waiter, items: &Items, queues: &[usize]) {
    let mut found = [false; QUEUES];
    while !queues.iter().all(|queue| found[*queue]) {
        let queue = waiter.wait().index();
        found[queue] |= items[queue].load(Relaxed) == 1;
    }
}

#[test]
fn two_producers_and_a_consumer_that_sleeps() {
    for rings in [[0, 1], [0, 3], [2, 2]] {
        model(2, move || {
            let (shared, items) = set();
            let producers = rings.map(|queue| {
                let (shared, items) = (shared.clone(), items.clone());
                thread::spawn(move || push(&shared, &items, queue))
            });
            serve(waiter(&shared), &items, &rings);
            producers.into_iter().for_each(|producer| producer.join().unwrap());
        });
    }
}

/// How far a producer comes with its ring.
#[derive(Clone, Copy)]
enum Died {
    BehindTheBell,
    BehindTheTop,
    /// Before it wakes the sleeper that it has found.
    BeforeTheWake,
}

#[test]
fn a_dead_producer_hides_nothing_of_another() {
    for died in [Died::BehindTheBell, Died::BehindTheTop, Died::BeforeTheWake] {
        for queue in [0, 1, 3] {
            model(2, move || {
                let (shared, items) = set();
                let dies = {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let board = &shared.board;
                        board.word(0, 0).fetch_or(1, SeqCst);
                        if matches!(died, Died::BehindTheBell) {
                            return;
                        }
                        board.word(1, 0).fetch_or(1, SeqCst);
                        if matches!(died, Died::BeforeTheWake) && board.asleep().load(SeqCst) != 0 {
                            board.rings().fetch_add(1, SeqCst);
                        }
                    })
                };
                let producer = {
                    let (shared, items) = (shared.clone(), items.clone());
                    thread::spawn(move || push(&shared, &items, queue))
                };
                serve(waiter(&shared), &items, &[queue]);
                dies.join().unwrap();
                producer.join().unwrap();
            });
        }
    }
}

/// What a consumer has done of its steps when it dies.
#[derive(Clone, Copy)]
enum Left {
    AMarkCleared,
    BellsTaken,
    ASleep,
}

/// The next consumer comes when the dead one has taken its last step. Only the set tells it what that one had seen.
fn a_consumer_dies(left: Left) {
    let is_followed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = is_followed.clone();
    model(2, move || {
        let (shared, items) = set();
        let producer = {
            let (shared, items) = (shared.clone(), items.clone());
            thread::spawn(move || [0, 1].into_iter().for_each(|it| push(&shared, &items, it)))
        };
        let is_dead = Arc::new(AtomicBool::new(false));
        let dies = {
            let (shared, is_dead) = (shared.clone(), is_dead.clone());
            thread::spawn(move || {
                match left {
                    Left::AMarkCleared => {
                        shared.board.word(1, 0).fetch_and(!1, SeqCst);
                    }
                    Left::BellsTaken => {
                        shared.board.take_word(0);
                    }
                    Left::ASleep => shared.board.lie_down(0),
                }
                // Relaxed: a death orders nothing.
                is_dead.store(true, Relaxed);
            })
        };
        let follows = thread::spawn(move || {
            // Interleavings in which the other lives still show nothing.
            if !is_dead.load(Relaxed) {
                return false;
            }
            shared.board.take_over();
            let mut next = waiter(&shared);
            next.take_all();
            serve(next, &items, &[0, 1]);
            true
        });
        producer.join().unwrap();
        dies.join().unwrap();
        told.fetch_or(follows.join().unwrap(), Relaxed);
    });
    assert!(is_followed.load(Relaxed), "no consumer came after the dead one");
}

#[test]
fn the_next_consumer_finds_what_lost_its_mark() {
    a_consumer_dies(Left::AMarkCleared);
}

#[test]
fn the_next_consumer_finds_what_a_dead_one_had_taken() {
    a_consumer_dies(Left::BellsTaken);
}

#[test]
fn the_next_consumer_is_woken_though_a_dead_one_sleeps() {
    a_consumer_dies(Left::ASleep);
}
