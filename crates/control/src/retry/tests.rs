//! Random courses of calls against books kept beside the decision, and planted bugs that these find.

use super::*;
use crate::server::Offer;
use std::collections::BTreeSet;
use tailwater_core::{Rng, Stamp};

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

fn idle(_: usize) -> Load {
    Load::default()
}

fn busy(calls: usize) -> Load {
    Load { calls, ..Load::default() }
}

const SHED: Failure = Failure::Shed(Reason::Lock);

fn config(tries: u8) -> RetryConfig {
    RetryConfig { tries, ..RetryConfig::default() }
}

#[test]
fn clients_are_divided_over_the_replicas_and_go_on_in_turn() {
    for client in 0..6 {
        let mut replicas = Replicas::new(config(3), 3, client);
        let (first, mut tries) = replicas.first(idle);
        assert_eq!(first, client as usize % 3);
        let mut place = first;
        for step in 1..3 {
            let next = replicas.next(at(0), None, &mut tries, (place, SHED), idle);
            place = (first + step) % 3;
            assert_eq!(next, Ok(place));
        }
        let next = replicas.next(at(0), None, &mut tries, (place, SHED), idle);
        assert_eq!(next, Err(Refusal::Tries));
    }
}

#[test]
fn the_primary_comes_first_for_everybody_and_the_least_loaded_where_that_is_asked() {
    let primary = RetryConfig { first: First::Primary, ..config(2) };
    assert_eq!(Replicas::new(primary, 4, 7).first(idle).0, 0);
    let least = RetryConfig { first: First::LeastLoaded, ..config(2) };
    let mut replicas = Replicas::new(least, 4, 3);
    assert_eq!(replicas.first(|replica| busy([5, 2, 2, 4][replica])).0, 1, "after 3 come 0 and 1");
    assert_eq!(replicas.first(idle).0, 3, "its own among equals");
}

#[test]
fn a_replica_whose_server_asked_for_a_pause_comes_after_the_others() {
    let least = RetryConfig { first: First::LeastLoaded, ..config(2) };
    let mut replicas = Replicas::new(least, 3, 0);
    let load = |replica| Load { is_paused: replica == 0, ..busy([0, 9, 7][replica]) };
    let (first, mut tries) = replicas.first(load);
    assert_eq!(first, 2);
    assert_eq!(replicas.next(at(0), None, &mut tries, (first, SHED), load), Ok(1));
    let paused = |replica| Load { is_paused: true, ..load(replica) };
    assert_eq!(replicas.first(paused).0, 0, "where all are, the least loaded");
    replicas.set_up(1, false);
    replicas.set_up(2, false);
    assert_eq!(replicas.first(load).0, 0, "a pause ends sooner than a lost connection comes back");
}

#[test]
fn a_replica_that_is_down_is_neither_first_nor_next() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    replicas.set_up(0, false);
    let (first, mut tries) = replicas.first(idle);
    assert_eq!(first, 1);
    let next = replicas.next(at(0), None, &mut tries, (first, SHED), idle);
    assert_eq!(next, Err(Refusal::Replicas));
    replicas.set_up(1, false);
    assert_eq!(replicas.first(idle).0, 0, "with all down it waits for its own");
}

#[test]
fn what_may_have_been_carried_out_is_not_tried_again() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    let (_, mut tries) = replicas.first(idle);
    let next = replicas.next(at(0), None, &mut tries, (0, Failure::Lost), idle);
    assert_eq!(next, Err(Refusal::MayBeDone));
}

#[test]
fn a_retry_needs_time_for_the_network_and_the_service_of_where_it_goes() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    let us = Duration::from_micros;
    let reply = Reply {
        outcome: Outcome::Served,
        offer: Offer::OPEN,
        stamp: Stamp(0),
        elapsed: us(100),
        sojourn: us(90),
        waited: us(70),
    };
    replicas.on_reply(1, &reply);
    let (_, tries) = replicas.first(idle);
    let mut ask = |now| {
        let mut tries = tries;
        replicas.next(at(now), Some(at(200)), &mut tries, (0, SHED), idle)
    };
    assert_eq!(ask(170), Ok(1), "10 of network and 20 of service are left");
    assert_eq!(ask(171), Err(Refusal::Deadline));
}

/// An answer took 600 µs once, and calls have 100 µs. All go to the primary first.
#[test]
fn a_replica_that_was_slow_once_is_tried_again_some_day() {
    let us = Duration::from_micros;
    let (offer, stamp, sojourn) = (Offer::OPEN, Stamp(0), us(0));
    let slow =
        Reply { outcome: Outcome::Served, offer, stamp, elapsed: us(600), sojourn, waited: us(0) };
    let config = RetryConfig { first: First::Primary, share: Ratio(1.0), ..config(2) };
    let hedge = HedgeConfig { after: HedgeAfter::Delay(us(1)), share: Ratio(1.0), burst: 10 };
    let mut replicas = Replicas::new(config, 2, 0).hedged(hedge);
    replicas.on_reply(1, &slow);
    let again = |replicas: &mut Replicas, now| {
        let (first, mut tries) = replicas.first(idle);
        replicas.next(at(now), Some(at(100)), &mut tries, (first, SHED), idle).is_ok()
    };
    let beside = |replicas: &mut Replicas, now| {
        let (_, mut tries) = replicas.first(idle);
        replicas.hedge_after();
        replicas.hedge(at(now), Some(at(100)), &mut tries, idle).is_some()
    };
    let last = PASSED_OVER_MAX - 1;
    assert!((0..10 * last).all(|_| !again(&mut replicas, 100)), "what is late itself says nothing");
    assert!((0..last).all(|_| !again(&mut replicas, 0)));
    replicas.on_reply(1, &slow);
    assert!((0..last).all(|_| !again(&mut replicas, 0)), "it was heard meanwhile");
    assert!(!beside(&mut replicas, 0), "a second try is another call that it does not get");
    assert!(beside(&mut replicas, 0), "one finds out");
    assert!((0..PASSED_OVER_MAX).all(|_| !again(&mut replicas, 0)), "and no other, heard or not");
    assert!(again(&mut replicas, 0));
    replicas.on_reply(1, &slow);
    assert!(!again(&mut replicas, 0) && !beside(&mut replicas, 0), "it has not changed");
    assert!((2..PASSED_OVER_MAX).all(|_| !again(&mut replicas, 0)));
    assert!(again(&mut replicas, 0));
    replicas.on_reply(1, &Reply { elapsed: us(60), ..slow });
    assert!(again(&mut replicas, 0) && beside(&mut replicas, 0), "one answer is enough");
}

fn answered(took: Duration) -> Reply {
    let (offer, stamp, zero) = (Offer::OPEN, Stamp(0), Duration::ZERO);
    Reply { outcome: Outcome::Served, offer, stamp, elapsed: took, sojourn: zero, waited: zero }
}

/// Three have shown that they are slow: the one where the call has been, one that is up, and one that is down.
#[test]
fn a_call_is_counted_where_it_was_kept_away_and_nowhere_else() {
    let mut replicas = Replicas::new(config(4), 4, 0);
    let slow = answered(Duration::from_micros(600));
    (0..3).for_each(|replica| replicas.on_reply(replica, &slow));
    replicas.set_up(2, false);
    let (first, mut tries) = replicas.first(idle);
    let next = replicas.next(at(0), Some(at(100)), &mut tries, (first, SHED), idle);
    assert_eq!(next, Err(Refusal::Deadline));
    let counted: Vec<u32> = replicas.all.iter().map(|replica| replica.passed_over).collect();
    assert_eq!(counted, [0, 1, 0, 0]);
}

#[test]
fn what_answers_take_is_smoothed_and_begins_anew_with_the_answer_to_a_trial() {
    let us = Duration::from_micros;
    let mut replicas = Replicas::new(config(2), 2, 0);
    [80, 160].into_iter().for_each(|took_us| replicas.on_reply(1, &answered(us(took_us))));
    assert_eq!(replicas.all[1].estimate.least(), us(90), "an eighth of 80 more");
    replicas.all[1].is_on_trial = true;
    let refused = Reply { outcome: Outcome::Shed(Reason::Delay), ..answered(us(170)) };
    replicas.on_reply(1, &refused);
    assert_eq!(replicas.all[1].estimate.least(), us(100), "a refusal is no answer");
    replicas.on_reply(1, &answered(us(40)));
    assert_eq!(replicas.all[1].estimate.least(), us(40));
}

#[test]
fn moving_on_unsent_costs_no_token_and_the_wait_for_credit_ends_with_the_tries() {
    let wait = Some(Duration::from_micros(10));
    let mut replicas =
        Replicas::new(RetryConfig { burst: 0, credit_wait: wait, ..config(2) }, 2, 0);
    let (_, mut tries) = replicas.first(idle);
    assert_eq!(replicas.credit_wait(tries), wait);
    assert_eq!(
        replicas.next(at(0), None, &mut tries.clone(), (0, SHED), idle),
        Err(Refusal::Budget)
    );
    assert_eq!(replicas.next(at(0), None, &mut tries, (0, Failure::Unsent), idle), Ok(1));
    assert_eq!(replicas.credit_wait(tries), None, "there it waits as its client has it");
    let counts = RetryCounts { calls: 1, retried: 0, moved: 1, over_budget: 1 };
    assert_eq!(replicas.counts(), counts);
}

#[test]
fn a_draining_server_has_not_begun_what_it_refuses_and_one_behind_another_may_have_done_it() {
    for reason in Reason::ALL {
        let expected = match reason {
            Reason::Draining => Failure::NotBegun,
            Reason::Unavailable => Failure::Lost,
            reason => Failure::Shed(reason),
        };
        assert_eq!(Failure::refused(reason), expected);
    }
}

#[test]
fn what_was_not_begun_moves_on_without_a_token_and_waits_where_there_is_no_other() {
    let mut replicas = Replicas::new(RetryConfig { burst: 0, ..config(2) }, 2, 0);
    let (_, mut tries) = replicas.first(idle);
    let mut fails = |replicas: &mut Replicas, here, failure| {
        replicas.next(at(0), None, &mut tries, (here, failure), idle)
    };
    assert_eq!(fails(&mut replicas, 0, Failure::NotBegun), Ok(1));
    replicas.set_up(0, false);
    // The other one goes away, too: it waits there, and leaves as soon as the first has its next server.
    assert_eq!(fails(&mut replicas, 1, Failure::NotBegun), Ok(1));
    assert_eq!(fails(&mut replicas, 1, Failure::Unsent), Err(Refusal::Replicas));
    replicas.set_up(0, true);
    assert_eq!(fails(&mut replicas, 1, Failure::Unsent), Ok(0));
    let counts = RetryCounts { calls: 1, retried: 0, moved: 2, over_budget: 0 };
    assert_eq!(replicas.counts(), counts);
}

/// Both connections are lost in turn. It waited at the second one beside a first that stood again.
#[test]
fn what_leaves_a_lost_connection_unsent_had_no_try_there() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    let (mut place, mut tries) = replicas.first(idle);
    for _ in 0..3 {
        let other = 1 - place;
        replicas.set_up(place, false);
        replicas.set_up(other, true);
        let next = replicas.next(at(0), None, &mut tries, (place, Failure::Unsent), idle);
        assert_eq!((next, tries.count()), (Ok(other), 1));
        place = other;
    }
    replicas.set_up(0, true);
    assert_eq!(replicas.next(at(0), None, &mut tries, (1, SHED), idle), Ok(0), "a try is left");
    assert_eq!(replicas.next(at(0), None, &mut tries, (0, SHED), idle), Err(Refusal::Tries));
    let counts = RetryCounts { calls: 1, retried: 1, moved: 3, over_budget: 0 };
    assert_eq!(replicas.counts(), counts);
}

/// Only a call that was not sent had none.
#[test]
fn what_was_shed_had_a_try_although_the_connection_is_lost_since() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    let (first, mut tries) = replicas.first(idle);
    replicas.set_up(first, false);
    let next = replicas.next(at(0), None, &mut tries, (first, SHED), idle);
    assert_eq!((next, tries.count()), (Ok(1), 2));
}

/// Two servers that fall in doubt by turns, over connections that give no credit.
#[test]
fn a_call_that_leaves_places_unsent_without_end_stays_at_last() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    let (mut place, mut tries) = replicas.first(idle);
    let mut moves = 0;
    for _ in 0..100 {
        let other = 1 - place;
        replicas.set_up(place, false);
        replicas.set_up(other, false);
        let mut next = |replicas: &mut Replicas| {
            replicas.next(at(0), None, &mut tries, (place, Failure::Unsent), idle)
        };
        assert!(next(&mut replicas).is_err(), "to be asked in vain costs nothing");
        replicas.set_up(other, true);
        let Ok(next) = next(&mut replicas) else { break };
        (place, moves) = (next, moves + 1);
    }
    assert_eq!(moves, 17, "sixteen for nothing, and its second try");
}

/// Two servers that say that they go away, and do not.
#[test]
fn a_call_that_is_turned_away_without_end_ends() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    let (mut place, mut tries) = replicas.first(idle);
    let mut turns = 0;
    while let Ok(next) = replicas.next(at(0), None, &mut tries, (place, Failure::NotBegun), idle) {
        (place, turns) = (next, turns + 1);
        assert!(turns < 100, "it goes on for ever");
    }
    assert!(turns >= 16, "{turns}");
}

/// It is handed to the only server that is up, which turns it away each time.
#[test]
fn a_call_that_waits_where_it_is_turned_away_without_end_ends() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    replicas.set_up(1, false);
    let (_, mut tries) = replicas.first(idle);
    let mut next = || replicas.next(at(0), None, &mut tries, (0, Failure::NotBegun), idle);
    for turn in 0..16 {
        assert_eq!(next(), Ok(0), "turn {turn}");
    }
    assert_eq!(next(), Err(Refusal::Replicas));
}

/// By the number of tries it would be at its first replica all the time.
#[test]
fn a_call_fails_once_where_it_went_first_as_it_leaves_that_or_ends_there() {
    let mut replicas = Replicas::new(config(2), 2, 0);
    replicas.set_up(1, false);
    let (_, mut tries) = replicas.first(idle);
    for (waits, here) in [(true, 0), (false, 1)] {
        let before = tries;
        assert!(before.fails_first(0, None), "as one that is lost");
        let next = replicas.next(at(0), None, &mut tries, (0, Failure::NotBegun), idle);
        let fails = before.fails_first(0, next.ok());
        assert_eq!((next, tries.count(), fails), (Ok(here), 1, !waits));
        replicas.set_up(1, true);
    }
    assert!(!tries.fails_first(1, None), "it is at another");
}

/// Of two tries one is left then, and may come back to where the call was not begun.
#[test]
fn of_two_tries_at_once_the_one_that_was_not_begun_does_not_count() {
    let none_left = Err(Refusal::Tries);
    for (failure, next) in
        [(Failure::NotBegun, Ok(0)), (SHED, none_left), (Failure::Lost, none_left)]
    {
        let mut replicas = Replicas::new(config(2), 3, 0).hedged(HedgeConfig::default());
        let (_, mut tries) = replicas.first(idle);
        assert_eq!(replicas.hedge(at(0), None, &mut tries, idle), Some(1));
        tries.failed_beside((0, failure));
        let found = replicas.next(at(0), None, &mut tries, (1, SHED), idle);
        assert_eq!(found, next, "{failure:?}");
    }
}

#[test]
fn a_try_beside_another_is_turned_away_so_often_and_counts_then() {
    let mut tries = Tries::NONE;
    for turn in 0..=16 {
        tries.seen = 1;
        tries.failed_beside((0, Failure::NotBegun));
        assert_eq!(tries.count(), u32::from(turn == 16), "turn {turn}");
    }
}

#[test]
fn of_one_replica_the_caller_hears_what_it_said() {
    let mut alone = Replicas::new(config(2), 1, 0);
    let (_, mut tries) = alone.first(idle);
    let next = alone.next(at(0), None, &mut tries, (0, Failure::NotBegun), idle);
    assert_eq!(next, Err(Refusal::Replicas));
}

#[test]
fn only_what_was_not_begun_waits_where_it_was() {
    for failure in [Failure::Unsent, Failure::Lost, SHED] {
        let mut replicas = Replicas::new(config(2), 2, 0);
        replicas.set_up(1, false);
        let (_, mut tries) = replicas.first(idle);
        assert!(replicas.next(at(0), None, &mut tries, (0, failure), idle).is_err(), "{failure:?}");
    }
}

/// A driver or decision that does nearly what it should.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    /// A shed is passed off as a call that was not sent.
    PaysNothing,
    /// Each call is counted twice.
    SavesDouble,
    /// Where the call has been is forgotten.
    ForgetsWhere,
    /// Off by one.
    OneTryMore,
    /// The deadline is never looked at.
    ForgetsTheDeadline,
    /// The deadline is looked at without the time that an answer takes.
    ForgetsTheAnswersTime,
    /// What was lost is sent again.
    RepeatsTheLost,
}

/// What one course of calls breaks, by books of its own.
fn play(seed: u64, bug: Option<Bug>) -> Result<u64, String> {
    let mut rng = Rng::from_seed(seed).split("retry");
    let said = RetryConfig {
        tries: 1 + rng.below(4) as u8,
        credit_wait: None,
        share: Ratio(f64::from(rng.below(11)) / 10.0),
        burst: rng.below(6),
        first: [First::Own, First::Primary, First::LeastLoaded][rng.below(3) as usize],
    };
    let count = 1 + rng.below(6) as usize;
    let used = RetryConfig { tries: said.tries + u8::from(bug == Some(Bug::OneTryMore)), ..said };
    let mut replicas = Replicas::new(used, count, rng.u64());
    let least = Duration::from_micros(30);
    let (mut calls, mut retried, mut time) = (0_u64, 0_u64, 0);
    for _ in 0..400 {
        time += u64::from(rng.below(20));
        if rng.chance(0.05) {
            replicas.set_up(rng.below(count as u32) as usize, rng.chance(0.6));
        }
        calls += 1;
        if bug == Some(Bug::SavesDouble) {
            let _ = replicas.first(idle);
        }
        let load = rng.below(9) as usize;
        let (first, mut tries) = replicas.first(|replica| busy(replica * load % 5));
        let deadline = at(time + u64::from(rng.below(200)));
        let (mut seen, mut place) = (BTreeSet::from([first]), first);
        while rng.chance(0.9) {
            time += u64::from(rng.below(60));
            if rng.chance(0.05) {
                replicas.set_up(rng.below(count as u32) as usize, rng.chance(0.6));
            }
            let is_up = replicas.is_up(place);
            let failures = [SHED, SHED, Failure::Unsent, Failure::Lost, Failure::NotBegun];
            let failure = failures[rng.below(5) as usize];
            let told = match (bug, failure) {
                (Some(Bug::PaysNothing), Failure::Shed(_))
                | (Some(Bug::RepeatsTheLost), Failure::Lost) => Failure::Unsent,
                _ => failure,
            };
            let judged = match bug {
                Some(Bug::ForgetsTheDeadline) => None,
                Some(Bug::ForgetsTheAnswersTime) => Some(deadline + least),
                _ => Some(deadline),
            };
            if bug == Some(Bug::ForgetsWhere) {
                tries.seen = 1 << rng.below(count as u32);
            }
            let next = replicas.next(at(time), judged, &mut tries, (place, told), idle);
            let Ok(replica) = next else { break };
            if failure == Failure::NotBegun {
                // It waits there, or had no try there.
                if replica == place {
                    continue;
                }
                seen.remove(&place);
            }
            if failure == Failure::Unsent && !is_up {
                seen.remove(&place);
            }
            place = replica;
            if !seen.insert(replica) {
                return Err(format!("{seed}: replica {replica} was tried twice"));
            }
            if seen.len() > usize::from(said.tries) || replica >= count {
                return Err(format!("{seed}: {} tries of {}", seen.len(), said.tries));
            }
            if at(time) >= deadline {
                return Err(format!("{seed}: tried after its deadline"));
            }
            if failure == Failure::Lost {
                return Err(format!("{seed}: tried again though it may have been carried out"));
            }
            retried += u64::from(failure == SHED);
            let most = f64::from(said.burst) + said.share.0 * calls as f64;
            if retried as f64 > most + 1e-6 {
                return Err(format!("{seed}: {retried} retries, {most} at most"));
            }
        }
    }
    Ok(retried)
}

const SEEDS: std::ops::Range<u64> = 0..300;

#[test]
fn no_course_of_calls_breaks_a_promise() {
    let mut retried = 0;
    for seed in SEEDS {
        retried += play(seed, None).unwrap_or_else(|what| panic!("{what}"));
    }
    assert!(retried > 1_000, "only {retried} retries were seen");
}

#[test]
fn every_planted_bug_breaks_one() {
    use Bug::*;
    for bug in [
        PaysNothing,
        SavesDouble,
        ForgetsWhere,
        OneTryMore,
        ForgetsTheDeadline,
        ForgetsTheAnswersTime,
        RepeatsTheLost,
    ] {
        assert!(SEEDS.into_iter().any(|seed| play(seed, Some(bug)).is_err()), "{bug:?}");
    }
}

#[test]
fn what_was_decided_is_counted_and_what_was_told_is_known() {
    let wait = Some(Duration::from_micros(10));
    let mut replicas = Replicas::new(RetryConfig { credit_wait: wait, ..config(3) }, 3, 1);
    assert_eq!((replicas.count(), replicas.is_up(2)), (3, true));
    replicas.set_up(2, false);
    assert!(!replicas.is_up(2) && replicas.is_up(0));
    replicas.set_up(2, true);
    for _ in 0..2 {
        let (first, mut tries) = replicas.first(idle);
        assert_eq!((first, tries.count()), (1, 1));
        assert_eq!(replicas.next(at(0), None, &mut tries, (1, SHED), idle), Ok(2));
        let unsent = replicas.next(at(0), None, &mut tries, (2, Failure::Unsent), idle);
        assert_eq!((unsent, tries.count()), (Ok(0), 3));
    }
    let counts = RetryCounts { calls: 2, retried: 2, moved: 2, over_budget: 0 };
    assert_eq!(replicas.counts(), counts);
    let alone = Replicas::new(RetryConfig { credit_wait: wait, ..config(3) }, 1, 1);
    assert_eq!(alone.credit_wait(Tries::NONE), None, "there is no other to go to");
}

#[test]
fn counts_of_several_clients_add_up() {
    let retries = |[calls, retried, moved, over_budget]: [u64; 4]| RetryCounts {
        calls,
        retried,
        moved,
        over_budget,
    };
    assert_eq!(retries([10, 20, 30, 50]) + retries([1, 2, 3, 5]), retries([11, 22, 33, 55]));
    let hedges = |[sent, won, over_budget]: [u64; 3]| HedgeCounts { sent, won, over_budget };
    assert_eq!(hedges([10, 20, 30]) + hedges([1, 2, 3]), hedges([11, 22, 33]));
}
