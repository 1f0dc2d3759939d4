//! The wake protocol on real cores: `models.rs` shows that it holds, this that the model is of this world.

use super::*;
use crate::cpu;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::task::Wake as _;

/// Unless `TAILWATER_RACE_ROUNDS` says how many.
const ROUNDS: u64 = 300_000;

/// What both ends know of the present round.
#[derive(Default)]
struct Round {
    /// What the slot is woken for: the round.
    written: AtomicU64,
    /// The last round whose wake-ups have all been given.
    woken: AtomicU64,
    /// The last round that a poll has seen.
    seen: AtomicU64,
}

/// Wakes in vain and then, a moment later, for what it has written: the second wake-up shall meet the poll
/// that is due to the first. How much later differs from round to round.
fn wake(round: &Round, waker: &Waker, rounds: u64) {
    for number in 1..=rounds {
        waker.wake_by_ref();
        for _ in 0..number % 64 {
            std::hint::spin_loop();
        }
        round.written.store(number, Release);
        waker.wake_by_ref();
        round.woken.store(number, SeqCst);
        while !has_seen(round, number) {
            std::thread::yield_now();
        }
    }
}

/// Looks for some microseconds: the two ends meet only while both run, so the core is seldom left to others.
fn has_seen(round: &Round, number: u64) -> bool {
    (0..1_000).any(|_| {
        std::hint::spin_loop();
        round.seen.load(SeqCst) >= number
    })
}

/// Does as the executor does, with nothing between clearing the flag and looking: in debug builds a poll
/// would follow the task's locks first, which hides the fault. A poll looks by a load alone. Returns how
/// many rounds were lost: all their wake-ups were given, and the slot has not seen them and is not queued.
fn poll(round: &Round, ready: &Ready, slot: &Arc<SlotWaker>, rounds: u64) -> u64 {
    let (mut seen, mut lost) = (0, 0);
    while seen < rounds {
        if ready.next().is_some() {
            slot.taken();
            seen = round.written.load(Acquire);
            round.seen.store(seen, SeqCst);
            continue;
        }
        let woken = round.woken.load(SeqCst);
        if ready.is_empty() && seen < woken {
            lost += 1;
            // By hand, so that both ends come to an end.
            slot.wake_by_ref();
        }
    }
    lost
}

/// Defect A1.
#[test]
fn no_wake_up_is_lost_between_two_cores() {
    let rounds = std::env::var("TAILWATER_RACE_ROUNDS")
        .map_or(ROUNDS, |rounds| rounds.parse().expect("TAILWATER_RACE_ROUNDS is a number"));
    let round = Round::default();
    let doorbell = Doorbell::new(Box::new(Count(Arc::default())));
    let ready = Arc::new(Ready::new(Arc::new(doorbell), false));
    let slot = Arc::new(SlotWaker::new(0, ready.clone()));
    let waker = Waker::from(slot.clone());
    let lost = std::thread::scope(|scope| {
        // Where there is one core only, the two take turns.
        scope.spawn(|| {
            let _ = cpu::pin(1);
            wake(&round, &waker, rounds);
        });
        let polling = scope.spawn(|| {
            let _ = cpu::pin(0);
            poll(&round, &ready, &slot, rounds)
        });
        polling.join().expect("polling does not panic")
    });
    assert_eq!(lost, 0, "of {rounds} rounds, so many were lost");
}
