//! What is owed, what costs, and what stands before a request: by the numbers of single requests.

use super::*;

const NOW: Instant = Instant::from_nanos(1_000_000_000);

/// It has just been reviewed.
fn fresh(least: f64) -> Classes {
    Classes { reviewed: NOW, ..Classes::new(least, &config()) }
}

fn served(class: Class) -> RequestEnd {
    done(class, Outcome::Served, Reached::Handler)
}

fn close(found: f64, right: f64) {
    assert!((found - right).abs() < 1e-6, "{found}, not {right}");
}

/// Reviews every 5 ms, over 100 ms: a rate of 2,000 a second counts for a twentieth.
#[test]
fn rates_are_smoothed_by_the_time_between_reviews() {
    let mut classes = fresh(0.0);
    (0..9).for_each(|_| classes.on_request(NOW, SHORT));
    classes.on_request(NOW + us(4_999), SHORT);
    close(classes.all[SHORT.index()].rate, 0.0);
    classes.account(SHORT).came = 9;
    classes.on_request(NOW + us(5_000), SHORT);
    close(classes.all[SHORT.index()].rate, 100.0);
    classes.on_request(NOW + us(15_000), LONG);
    close(classes.all[SHORT.index()].rate, 90.0);
    close(classes.all[LONG.index()].rate, 10.0);
    // Longer than the memory: what was before is forgotten.
    classes.account(SHORT).came = 36;
    classes.on_request(NOW + us(1_015_000), LONG);
    close(classes.all[SHORT.index()].rate, 36.0);
}

#[test]
fn a_class_counts_from_a_rate_of_three_point_seven_on() {
    for (came, rate) in [(37, 3.7), (36, 0.0)] {
        let mut classes = fresh(0.0);
        classes.account(SHORT).came = came - 1;
        classes.on_request(NOW + Duration::from_secs(10), SHORT);
        assert_eq!(classes.all[SHORT.index()].rate, rate, "{came} in ten seconds");
    }
}

#[test]
fn what_it_had_beyond_its_share_is_halved_and_what_it_lacks_is_kept() {
    let mut classes = fresh(0.5);
    classes.account(SHORT).owed = -4.5;
    classes.account(LONG).owed = 3.0;
    classes.on_request(NOW + us(5_000), SHORT);
    close(classes.all[SHORT.index()].owed, -2.0);
    close(classes.all[LONG.index()].owed, 3.0);
    classes.account(LONG).owed = 255.8;
    classes.on_request(NOW + us(5_000), LONG);
    close(classes.all[LONG.index()].owed, 256.0);
}

/// Three short ones came, two of which run and one of which waits; they have been counted anew.
#[test]
fn a_review_counts_what_waits_and_what_runs_at_its_cost() {
    let mut classes = fresh(0.0);
    classes.on_done(NOW, ID, &served(SHORT), 0);
    (0..3).for_each(|_| classes.on_request(NOW, SHORT));
    (0..3).for_each(|_| classes.on_admitted(ID, SHORT));
    assert_eq!(classes.wait(), us(75));
    (0..2).for_each(|_| classes.on_start(NOW, ID));
    assert_eq!(classes.wait(), us(50), "on one core no more than one of them runs");
    classes.on_done(NOW, ID, &done(SHORT, Outcome::Shed(Reason::Cancelled), Reached::Start), 1);
    assert_eq!(classes.wait(), us(50), "the other is as long");
    classes.reviewed = Instant::ZERO;
    classes.account(SHORT).cost = Mean::default();
    classes.usual = Mean::default();
    classes.usual.learn(60_000);
    classes.on_request(NOW, LONG);
    assert_eq!(classes.wait(), us(85), "60 µs for the one that waits, 25 left of that which runs");
    classes.backlog.end(us(60).nanos() - 7);
    assert_eq!(classes.wait().as_nanos(), 60_007, "what runs counted as 60 µs");
}

/// Nothing is known of the long ones, one of which waits and two of which run beside a short one.
#[test]
fn the_first_of_a_class_tells_what_those_behind_it_cost() {
    let mut classes = fresh(0.0);
    classes.on_done(NOW, ID, &served(SHORT), 0);
    for class in [LONG, LONG, SHORT, LONG] {
        classes.on_request(NOW, class);
        classes.on_admitted(ID, class);
    }
    (0..3).for_each(|_| classes.on_start(NOW, ID));
    assert_eq!(classes.wait(), us(25), "the short one alone");
    classes.on_done(NOW, ID, &served(LONG), 1);
    assert_eq!(classes.wait(), us(425), "400 µs for the one that waits");
    classes.on_done(NOW, ID, &served(LONG), 1);
    assert_eq!(classes.wait(), us(425), "the short one runs still");
    classes.on_done(NOW, ID, &served(SHORT), 1);
    assert_eq!(classes.wait(), us(400));
}

#[test]
fn only_gaps_in_which_one_waited_tell_the_pace() {
    let cores = |waiting| {
        let mut classes = fresh(0.0);
        (1..=50_u32).for_each(|n| classes.on_done(NOW + n * us(20), ID, &served(SHORT), waiting));
        classes.pace.cores()
    };
    assert_eq!(cores(0), 1.0);
    // Work of 25 µs every 20 µs.
    assert!((1.1..1.25).contains(&cores(1)), "{}", cores(1));
}

#[test]
fn what_was_served_or_never_admitted_is_not_owed_again() {
    let mut classes = fresh(0.5);
    classes.on_request(NOW, SHORT);
    let refused = done(SHORT, Outcome::Shed(Reason::Cost), Reached::Arrival);
    classes.on_done(NOW, ID, &refused, 0);
    let instant = RequestEnd { service: Duration::ZERO, ..served(SHORT) };
    classes.on_done(NOW, ID, &instant, 0);
    close(classes.all[SHORT.index()].owed, 0.5);
    assert_eq!(classes.cost(SHORT).as_nanos(), 1, "it is known to cost next to nothing");
    assert_eq!(classes.cost(LONG).as_nanos(), 1, "nothing else is known of others");
}

/// As with the sessions: what was once needed is kept while a fourth of it is in use, and twice of that then.
#[test]
fn memory_is_given_back_below_a_fourth_of_it() {
    let mut classes = fresh(0.5);
    classes.held = Vec::with_capacity(128);
    (0..34).for_each(|session| classes.on_admitted(SessionId(session), SHORT));
    [33, 32].into_iter().for_each(|session| classes.on_close(SessionId(session)));
    assert_eq!((classes.held.len(), classes.held.capacity()), (32, 128));
    classes.on_close(SessionId(31));
    assert_eq!((classes.held.len(), classes.held.capacity()), (31, 62));
}
