//! One client cannot move the others: what honest clients get beside sessions that claimed a demand which they do not
//! have. These sessions then fell silent (found by a client written from the protocol's page).

mod hoarding;

use hoarding::{CAPACITY_RPS, Hoarders, Phase, Window, run};
use std::time::Duration;
use tailwater_control::catalog::Spec;

const OVERLOAD: Phase = Phase { rps: 3.0 * CAPACITY_RPS, length: Duration::from_millis(500) };
const THIRD: Phase = Phase { rps: CAPACITY_RPS / 3.0, length: Duration::from_secs(3) };
const EVERY: Duration = Duration::from_millis(250);

fn share(window: &Window) -> f64 {
    f64::from(window.in_time) / f64::from(window.asked)
}

/// Half a second of overload, then a third of what the core can do, of which every window counts.
fn assert_unmoved(name: &str, hoarders: Hoarders) {
    let model = run(&Spec::named(name), hoarders, &[OVERLOAD, THIRD], EVERY);
    let skipped = (OVERLOAD.length.as_nanos() / EVERY.as_nanos()) as usize;
    let shares: Vec<f64> = model.windows().iter().skip(skipped).map(share).collect();
    let worst = shares.iter().copied().fold(1.0, f64::min);
    let (issued, messages) = (model.issued(), model.messages);
    assert!(
        worst >= 0.9,
        "{name}, {hoarders:?}: {issued} issued, {messages} messages; in time, by window: {shares:.2?}"
    );
}

#[test]
fn a_claim_made_once_takes_nothing_from_the_others() {
    assert_unmoved("breakwater", Hoarders { count: 200, requests: 1, demand: u32::MAX });
    assert_unmoved("breakwater", Hoarders { count: 200, requests: 1, demand: 64 });
    assert_unmoved("efficiency", Hoarders { count: 200, requests: 1, demand: 64 });
}

/// They claim nothing; each merely keeps the credit that its one request left it with.
#[test]
fn clients_that_fall_silent_take_nothing_from_the_others() {
    assert_unmoved("breakwater", Hoarders { count: 200, requests: 1, demand: 0 });
    assert_unmoved("breakwater", Hoarders { count: 800, requests: 1, demand: 0 });
}

/// They use what they claim, for a while, so that they are believed.
#[test]
fn nor_does_a_claim_that_was_earned() {
    assert_unmoved("breakwater", Hoarders { count: 40, requests: 20, demand: 64 });
    assert_unmoved("breakwater", Hoarders { count: 100, requests: 9, demand: u32::MAX });
}

/// A session stranded for want of a credit or two cost all 200 idle ones what they held. The pool went from 444 to
/// 10: what was taken back left the pool instead of making room.
#[test]
fn idle_sessions_are_cut_no_further_than_others_want() {
    let hoarders = Hoarders { count: 200, requests: 1, demand: 64 };
    let overload = Phase { rps: 1.2 * CAPACITY_RPS, length: OVERLOAD.length + THIRD.length };
    let model = run(&Spec::named("breakwater"), hoarders, &[overload], EVERY);
    let capacity = (CAPACITY_RPS * EVERY.as_secs_f64()) as u32;
    let served: Vec<u32> = model.windows().iter().map(|window| window.in_time).collect();
    let worst = served.iter().copied().min().expect("windows");
    assert!(10 * worst >= 9 * capacity, "{served:?} of {capacity}");
    assert!(model.pool() > 200, "a pool of {}", model.pool());
    assert!(model.messages < 150, "{} messages: each idle session was cut", model.messages);
}

#[test]
fn without_hoarders_all_are_served() {
    assert_unmoved("breakwater", Hoarders { count: 0, requests: 0, demand: 0 });
}
