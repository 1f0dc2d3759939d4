//! The ready set. Words have two bits here: four queues are two levels, eight are three.

use super::{model, poll_and_drop};
use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread::{self, JoinHandle};
use std::collections::BTreeSet;
use std::time::Duration;
use tailwater_sync::ready::{Doorbell, QueueId, ReadySet, VisitPolicy, Waiter};

/// The queues' items: a place for each that a producer will push, of which none is used twice. Relaxed loads and
/// stores, which alone may be late or early: what orders them is the ready set.
type Queues = Arc<Vec<[AtomicUsize; 3]>>;

fn queues(count: usize) -> Queues {
    Arc::new((0..count).map(|_| std::array::from_fn(|_| AtomicUsize::new(0))).collect())
}

fn push(queues: &Queues, bell: &Doorbell, place: usize) {
    queues[bell.queue().index()][place].store(1, Relaxed);
    bell.ring();
}

/// A thread that waits and visits until so many items were found. A thread of its own: a wake-up that comes late may
/// find it ended, but never in a `join`. Loom would end that by the wake-up.
fn serve(mut waiter: Waiter, queues: &Queues, items: usize) -> JoinHandle<()> {
    let queues = queues.clone();
    thread::spawn(move || {
        let mut found = Found::default();
        while found.0.len() < items {
            let queue = waiter.wait();
            found.visit(&queues, queue.index());
        }
    })
}

/// Queues and places of the items that were found.
#[derive(Default)]
struct Found(BTreeSet<(usize, usize)>);

impl Found {
    fn visit(&mut self, queues: &Queues, queue: usize) {
        let full = (0..3).filter(|place| queues[queue][*place].load(Relaxed) == 1);
        self.0.extend(full.map(|place| (queue, place)));
    }
}

/// Each of two producers pushes to the queues that it is given; the consumer finds all of it or hangs.
fn two_producers(room: usize, rings: [&'static [usize]; 2], preemptions: usize) {
    model(preemptions, move || {
        let (set, waiter) = ReadySet::builder(room).spin(Duration::ZERO).build().unwrap();
        let queues = queues(room);
        // The first producer has places 0 and 1 of its queues, the second has 2.
        let producers = [(0, rings[0]), (2, rings[1])].map(|(first, rings)| {
            let bells: Vec<_> = rings.iter().map(|queue| set.doorbell(*queue).unwrap()).collect();
            let queues = queues.clone();
            thread::spawn(move || {
                (first..).zip(&bells).for_each(|(place, bell)| push(&queues, bell, place));
            })
        });
        serve(waiter, &queues, rings[0].len() + rings[1].len()).join().unwrap();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
    });
}

#[test]
fn two_producers_of_one_queue() {
    two_producers(4, [&[1], &[1]], 3);
}

#[test]
fn two_producers_of_one_word() {
    two_producers(4, [&[0], &[1]], 3);
}

#[test]
fn two_producers_of_two_words() {
    two_producers(4, [&[0], &[3]], 3);
}

#[test]
fn a_producer_that_rings_twice_beside_another() {
    two_producers(4, [&[1, 1], &[0]], 2);
}

#[test]
fn two_producers_of_one_level() {
    two_producers(2, [&[0, 0], &[1]], 3);
}

#[test]
fn two_producers_and_three_levels() {
    two_producers(8, [&[0], &[7]], 2);
    two_producers(8, [&[2], &[3]], 2);
}

/// Each consumer takes one item; the second ring must not be spent on the first consumer.
fn two_consumers(room: usize, rings: [usize; 2]) {
    model(2, move || {
        let builder = ReadySet::builder(room).spin(Duration::ZERO);
        let (set, mut waiters) = builder.build_for(2).unwrap();
        let queues = queues(room);
        let consumers = [(); 2].map(|()| serve(waiters.pop().unwrap(), &queues, 1));
        let producer = {
            let bells = rings.map(|queue| set.doorbell(queue).unwrap());
            let queues = queues.clone();
            thread::spawn(move || bells.iter().for_each(|bell| push(&queues, bell, 0)))
        };
        consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
        producer.join().unwrap();
    });
}

#[test]
fn of_two_consumers_each_gets_its_item() {
    two_consumers(4, [0, 1]);
    two_consumers(4, [0, 3]);
}

#[test]
fn two_consumers_and_three_levels() {
    two_consumers(8, [0, 7]);
}

/// A consumer's turn of a queue goes on only while that is ready, and the other may have taken it: before the look at
/// it, or between that look and the claim. Then the turn is over, and the next ready queue has one.
#[test]
fn two_consumers_by_weights() {
    // What the two took, over all interleavings.
    let fates = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let told = fates.clone();
    model(2, move || {
        let weights = VisitPolicy::Weighted([2, 1, 1, 1].into());
        let builder = ReadySet::builder(4).spin(Duration::ZERO).policy(weights);
        let (set, mut waiters) = builder.build_for(2).unwrap();
        let [first, last] = [0, 3].map(|queue| set.doorbell(queue).unwrap());
        // The later one begins at queue 2, and the other at queue 0.
        let mut at_its_turn = waiters.pop().unwrap();
        let mut other = waiters.pop().unwrap();
        first.ring();
        // One visit of two.
        assert_eq!(at_its_turn.take(), Some(QueueId(0)));
        first.ring();
        last.ring();
        let other = thread::spawn(move || other.take());
        let took = [at_its_turn.take(), other.join().unwrap()];
        told.lock().unwrap().insert(took);
    });
    let [first, last] = [0, 3].map(|queue| Some(QueueId(queue)));
    assert_eq!(*fates.lock().unwrap(), BTreeSet::from([[first, last], [last, first]]));
}

#[test]
fn what_a_dropped_consumer_had_taken_goes_to_the_other() {
    model(3, || {
        let (set, mut waiters) = ReadySet::builder(4).spin(Duration::ZERO).build_for(2).unwrap();
        let queues = queues(4);
        let mut leaves = waiters.pop().unwrap();
        let producer = {
            let (bell, queues) = (set.doorbell(2).unwrap(), queues.clone());
            thread::spawn(move || push(&queues, &bell, 0))
        };
        let consumer = thread::spawn(move || {
            if let Some(queue) = leaves.take() {
                leaves.again(queue);
            }
        });
        serve(waiters.pop().unwrap(), &queues, 1).join().unwrap();
        consumer.join().unwrap();
        producer.join().unwrap();
    });
}

/// A task that was woken and goes away without a look passes the wake-up on.
#[test]
fn a_dropped_task_wakes_the_other_consumer() {
    model(3, || {
        let (set, mut waiters) = ReadySet::builder(4).spin(Duration::ZERO).build_for(2).unwrap();
        let queues = queues(4);
        // The later one: wake-ups go to the first that sleeps.
        let patient = waiters.pop().unwrap();
        let mut impatient = waiters.pop().unwrap();
        let task = {
            let queues = queues.clone();
            thread::spawn(move || {
                poll_and_drop(async {
                    let queue = impatient.ready().await;
                    // Its own look found it: it goes to the other all the same.
                    impatient.again(queue);
                });
                drop((impatient, queues));
            })
        };
        let producer = {
            let (bell, queues) = (set.doorbell(1).unwrap(), queues.clone());
            thread::spawn(move || push(&queues, &bell, 0))
        };
        serve(patient, &queues, 1).join().unwrap();
        task.join().unwrap();
        producer.join().unwrap();
    });
}

#[test]
fn a_task_is_woken() {
    model(2, || {
        let (set, mut waiter) = ReadySet::new(4, VisitPolicy::Strict).unwrap();
        let queues = queues(4);
        let producers = [0, 1].map(|queue| {
            let (bell, queues) = (set.doorbell(queue).unwrap(), queues.clone());
            thread::spawn(move || push(&queues, &bell, 0))
        });
        let consumer = thread::spawn(move || {
            block_on(async {
                let mut found = Found::default();
                while found.0.len() < 2 {
                    let queue = waiter.ready().await;
                    found.visit(&queues, queue.index());
                }
            });
        });
        consumer.join().unwrap();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
    });
}

/// A wait that gave up has looked after the ring, or the next one finds it.
#[test]
fn a_wait_that_ends_loses_nothing() {
    model(3, || {
        let (set, mut waiter) = ReadySet::builder(4).spin(Duration::ZERO).build().unwrap();
        let queues = queues(4);
        let producer = {
            let (bell, queues) = (set.doorbell(3).unwrap(), queues.clone());
            thread::spawn(move || push(&queues, &bell, 0))
        };
        let consumer = thread::spawn(move || {
            let mut found = Found::default();
            if let Some(queue) = waiter.wait_for(Duration::from_nanos(1)) {
                found.visit(&queues, queue.index());
            }
            while found.0.is_empty() {
                let queue = waiter.wait();
                found.visit(&queues, queue.index());
            }
        });
        consumer.join().unwrap();
        producer.join().unwrap();
    });
}
