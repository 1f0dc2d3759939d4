//! Millions of events through a ready set, none of which may be lost. `READY_EVENTS=1000000000 cargo test -p
//! tailwater-sync --release --test ready_stress` is the long version; `docs/figures-ready.md` shows what it found.

#![cfg(not(loom))]

mod record;

use record::record;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tailwater_sync::ready::{QueueId, ReadySet, VisitPolicy, Waiter};

/// Two counters whose difference is what the queue holds.
#[derive(Default)]
#[repr(align(64))]
struct Queue {
    pushed: AtomicU64,
    visited: AtomicU64,
}

fn events() -> u64 {
    let asked = std::env::var("READY_EVENTS").ok().map(|text| text.parse().expect("a number"));
    asked.unwrap_or(8_000_000)
}

/// How a consumer waits for the next queue; `None` if it gave up for now.
type Wait = fn(&mut Waiter) -> Option<QueueId>;

/// Two producers push to queues by chance; consumers visit until every event was seen. An event that no
/// consumer is told of makes this hang.
fn run(what: &str, queues: usize, consumers: usize, policy: VisitPolicy, share: u64, wait: Wait) {
    const PRODUCERS: u64 = 2;
    let each = events() / share / PRODUCERS;
    let builder = ReadySet::builder(queues).policy(policy).spin(Duration::from_micros(1));
    let (set, waiters) = builder.build_for(consumers).unwrap();
    let table: Arc<Vec<Queue>> = Arc::new((0..queues).map(|_| Queue::default()).collect());
    let seen = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let empty = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let (set, table) = (&set, &table);
            scope.spawn(move || {
                let bells: Vec<_> = (0..queues).map(|queue| set.doorbell(queue).unwrap()).collect();
                let mut state = producer + 1;
                for _ in 0..each {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // One in four to the first queue, a hot one.
                    let drawn = (state >> 33) as usize;
                    let queue = if drawn.is_multiple_of(4) { 0 } else { drawn / 4 % queues };
                    // Relaxed: the bell orders it.
                    table[queue].pushed.fetch_add(1, Ordering::Relaxed);
                    bells[queue].ring();
                }
            });
        }
        for mut waiter in waiters {
            let (table, seen, over, empty, set) = (&table, &seen, &over, &empty, &set);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let Some(queue) = wait(&mut waiter) else { continue };
                    let at = &table[queue.index()];
                    let pushed = at.pushed.load(Ordering::Relaxed);
                    // With several consumers another may have visited as far as this, or further.
                    let new =
                        pushed.saturating_sub(at.visited.fetch_max(pushed, Ordering::Relaxed));
                    empty.fetch_add(u64::from(new == 0), Ordering::Relaxed);
                    let all = seen.fetch_add(new, Ordering::SeqCst) + new;
                    if all == PRODUCERS * each {
                        over.store(true, Ordering::SeqCst);
                        // Ends the sleep of the others.
                        let bell = set.doorbell(0).unwrap();
                        for _ in 0..consumers {
                            bell.ring();
                        }
                    }
                }
            });
        }
    });
    for queue in table.iter() {
        let (pushed, visited) = (&queue.pushed, &queue.visited);
        assert_eq!(pushed.load(Ordering::SeqCst), visited.load(Ordering::SeqCst));
    }
    let stats = set.stats();
    let (seen, empty) = (seen.load(Ordering::SeqCst), empty.load(Ordering::SeqCst));
    assert!(empty <= stats.taken, "at most one empty visit for each ring");
    let numbers = [
        ("queues", queues as u64),
        ("producers", PRODUCERS),
        ("consumers", consumers as u64),
        ("pushed", PRODUCERS * each),
        ("found", seen),
        ("visits", stats.visits),
        ("sleeps", stats.sleeps),
        ("wakes", stats.wakes),
    ];
    record(what, &numbers);
}

const SLEEPS: Wait = |waiter| Some(waiter.wait());
const SPINS: Wait = |waiter| Some(waiter.spin());
const GIVES_UP: Wait = |waiter| waiter.wait_for(Duration::from_micros(20));

#[test]
fn one_consumer_that_sleeps_misses_nothing() {
    run("sleeps", 10, 1, VisitPolicy::RoundRobin, 4, SLEEPS);
    run("sleeps", 5_000, 1, VisitPolicy::RoundRobin, 4, SLEEPS);
}

#[test]
fn one_consumer_that_spins_misses_nothing() {
    run("spins", 1_000, 1, VisitPolicy::Aged { strict_for: 3 }, 8, SPINS);
}

#[test]
fn one_consumer_that_gives_up_misses_nothing() {
    run("gives up", 300, 1, VisitPolicy::Strict, 8, GIVES_UP);
}

#[test]
fn several_consumers_miss_nothing() {
    run("gives up", 1_000, 3, VisitPolicy::RoundRobin, 4, GIVES_UP);
}
