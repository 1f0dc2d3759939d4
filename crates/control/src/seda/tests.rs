//! SEDA's gate by itself.

use super::*;
use crate::client::{Call, Gate, Permit, Reply};
use crate::server::{Offer, Outcome, Reason};
use std::time::Duration;
use tailwater_core::{Instant, RequestId, Stamp};

const SLO: Duration = Duration::from_micros(200);
const CALL: Call = Call { id: RequestId(1), deadline: None, priority: 128 };

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

fn reply(outcome: Outcome, elapsed_us: u64) -> Reply {
    let elapsed = Duration::from_micros(elapsed_us);
    let (offer, stamp, waited) = (Offer::OPEN, Stamp(0), Duration::ZERO);
    Reply { outcome, offer, stamp, elapsed, sojourn: elapsed, waited }
}

#[test]
fn clients_start_apart_and_a_seed_decides_where() {
    let rate = |seed| SedaGate::new(Config::paper(SLO), seed).rate();
    let rates: Vec<f64> = (0..100).map(rate).collect();
    assert!(rates.iter().all(|rate| (2.0..8.0).contains(rate)), "{rates:?}");
    let mean = rates.iter().sum::<f64>() / 100.0;
    assert!((4.5..5.5).contains(&mean), "uniform from 2 to 8 has mean 5, {mean} found");
    assert_eq!(rates[7].to_bits(), rate(7).to_bits());
}

#[test]
fn a_waiting_call_goes_when_its_token_comes_and_not_before() {
    let mut gate = SedaGate::new(Config::paper(SLO), 3);
    assert_eq!(gate.permit(at(0), &CALL, 0), Permit::Wait);
    let wake = gate.next_deadline().expect("a token comes");
    assert_eq!(gate.permit(wake - Duration::from_micros(1), &CALL, 0), Permit::Wait);
    assert_eq!(gate.permit(wake, &CALL, 0), Permit::Send);
    gate.on_sent(wake, &CALL);
    assert_eq!(gate.next_deadline(), None, "nobody waits");
}

#[test]
fn a_lost_connection_leaves_no_deadline_and_no_memory() {
    let mut gate = SedaGate::new(Config::tuned(SLO), 3);
    (0..50).for_each(|n| gate.on_reply(at(200_000 * n), &reply(Outcome::Served, 90_000)));
    assert!(gate.rate() < 3.0, "{}", gate.rate());
    (0..5).for_each(|_| gate.on_sent(at(9_800_000), &CALL));
    assert_eq!(gate.permit(at(9_800_000), &CALL, 0), Permit::Wait);
    gate.on_disconnected();
    assert_eq!(gate.next_deadline(), None);
    assert_eq!(gate.permit(at(9_900_000), &CALL, 0), Permit::Send);
}

#[test]
fn the_rate_moves_after_a_timeout_or_enough_responses() {
    let mut gate = SedaGate::new(Config::paper(SLO), 1);
    let fast = reply(Outcome::Served, 20);
    let mut rates = vec![gate.rate()];
    for n in 0..102 {
        gate.on_reply(at(n), &fast);
        rates.push(gate.rate());
    }
    let moves = rates.windows(2).enumerate().filter(|(_, pair)| pair[0] < pair[1]);
    // The first response, and the hundredth after it.
    assert_eq!(moves.map(|(n, _)| n).collect::<Vec<_>>(), [0, 100]);
    gate.on_reply(at(100 + 1_001), &fast);
    assert!(gate.rate() > rates[102], "a timeout");
}

#[test]
fn what_is_shed_counts_as_overload_however_fast_it_came_back() {
    let mut gate = SedaGate::new(Config::tuned(SLO), 1);
    let before = gate.rate();
    gate.on_reply(at(10), &reply(Outcome::Shed(Reason::QueueFull), 10));
    assert!(gate.rate() < before);
}

#[test]
fn news_of_the_old_rate_does_not_cut_twice() {
    let mut gate = SedaGate::new(Config::tuned(SLO), 1);
    gate.on_reply(at(10_000), &reply(Outcome::Served, 5_000));
    let cut = gate.rate();
    // Sent 1 ms before the cut, then 1 ms after it.
    gate.on_reply(at(14_000), &reply(Outcome::Served, 5_000));
    assert_eq!(gate.rate().to_bits(), cut.to_bits());
    gate.on_reply(at(16_000), &reply(Outcome::Served, 5_000));
    assert!(gate.rate() < cut);
}

/// `timeout` is 1 ms: an update is due with the first response after it.
#[test]
fn a_timeout_has_passed_only_after_it() {
    let mut gate = SedaGate::new(Config::paper(SLO), 1);
    let fast = reply(Outcome::Served, 20);
    gate.on_reply(at(0), &fast);
    let first = gate.rate();
    gate.on_reply(at(1_000), &fast);
    assert_eq!(gate.rate().to_bits(), first.to_bits());
    gate.on_reply(at(1_001), &fast);
    assert!(gate.rate() > first);
}

#[test]
fn a_rate_rises_only_if_its_bucket_was_low_since_the_last_update() {
    let mut gate = SedaGate::new(Config::tuned(SLO), 1);
    let fast = reply(Outcome::Served, 20);
    let before = gate.rate();
    gate.on_reply(at(0), &fast);
    assert_eq!(gate.rate().to_bits(), before.to_bits(), "nobody asked it for a token");
    // One of four tokens is there; asked again when it is full, the bucket has been low all the same.
    assert_eq!(gate.permit(at(10), &CALL, 0), Permit::Send);
    assert_eq!(gate.permit(at(10_000_000), &CALL, 0), Permit::Send);
    gate.on_reply(at(10_000_001), &fast);
    let raised = gate.rate();
    // A step is four a second at least, and an error of 0.25 - 1 is 0.65 beyond the offset.
    assert!((raised - before - 4.0 * 0.65).abs() < 1e-9, "{raised} after {before}");
    gate.on_reply(at(20_000_001), &fast);
    assert_eq!(gate.rate().to_bits(), raised.to_bits(), "it was not low since");
}

#[test]
fn a_request_that_left_with_the_cut_tells_of_the_new_rate() {
    let mut gate = SedaGate::new(Config::tuned(SLO), 1);
    gate.on_reply(at(10_000), &reply(Outcome::Served, 5_000));
    let cut = gate.rate();
    gate.on_reply(at(15_000), &reply(Outcome::Served, 5_000));
    assert!(gate.rate() < cut, "sent at the moment of the cut");
    let mut paper = SedaGate::new(Config::paper(SLO), 1);
    paper.on_reply(at(10_000), &reply(Outcome::Served, 5_000));
    let cut = paper.rate();
    paper.on_reply(at(14_000), &reply(Outcome::Served, 20));
    // The average is 0.7 of 5 ms and 0.3 of 20 µs, far above the target.
    assert!(paper.rate() < cut, "the text hears whatever comes: {} after {cut}", paper.rate());
}
