//! What a loop notes of its sessions and tells its observer: exact, and also where nothing is to be noted.

use super::*;
use std::cell::RefCell;

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + us(micros)
}

fn served(waited: Duration, service: Duration) -> RequestEnd {
    let (outcome, reached) = (Outcome::Served, Reached::Handler);
    RequestEnd { outcome, reached, waited, service, class: Class::default() }
}

#[test]
fn a_sojourn_is_the_wait_and_the_service() {
    let mut shard = own_shard(Config::efficiency_tuned(SLO, 1));
    visit(&mut shard, ID);
    shard.on_done(at(0), ID, &served(us(70), us(30)));
    let meter = shard.pool.meter().expect("the law counts");
    // The visit took no time, which is none to be smoothed.
    let (_, settle) = meter.pace(&crate::breakwater::Efficiency::TUNED, Duration::ZERO);
    assert_eq!(settle, us(100));
}

/// How long it takes until refusals tell of a change of the pool: 5 ms of waiting and 3 ms of service.
#[test]
fn of_what_a_handler_served_or_refused_the_wait_and_the_service_count() {
    let mut shard = own_shard(Config { refusals: Some(0.2), ..Config::tuned(SLO, 1) });
    shard.on_open(at(0), ID, &mut Silent);
    for outcome in [Outcome::Served, Outcome::Shed(Reason::Delay)] {
        let done = RequestEnd { outcome, ..served(us(5_000), us(3_000)) };
        shard.count(at(0), &done);
    }
    shard.on_tick(at(1_000), Duration::ZERO, &mut Silent);
    assert_eq!(shard.pool.next_look(Duration::ZERO), us(8_000));
}

/// A violation was never counted as one that came.
#[test]
fn a_violation_is_no_drop() {
    let mut shard = own_shard(Config::efficiency_tuned(SLO, 1));
    shard.on_open(at(0), ID, &mut Silent);
    let outcome = Outcome::Shed(Reason::NoCredit);
    let done = RequestEnd { outcome, reached: Reached::Arrival, ..served(us(0), us(0)) };
    shard.count(at(0), &done);
    let meter = shard.pool.meter().expect("the law counts");
    assert_eq!(meter.counts(), [0; 3]);
}

/// Its answer takes none from the session: what was sent is noted, and what comes back is one round trip.
#[test]
fn a_stamp_that_left_is_known_when_it_comes_back() {
    let mut shard = own_shard(Config::paper(SLO, 1));
    visit(&mut shard, ID);
    shard.on_sent(at(5), ID);
    let acked = shard.sessions[ID.index()].seq;
    let echo = Some(Echo { stamp: at(5).stamp(), hold: us(3) });
    let arrival = Arrival { echo, acked, ..Arrival::default() };
    shard.on_request(at(48), ID, &arrival, Duration::ZERO, &mut Silent);
    assert_eq!(shard.pool.rtt(), us(40), "of 43 µs the client held it for three");
    shard.on_close(at(50), ID, &mut Silent);
    shard.on_sent(at(51), ID);
}

/// The artifact cuts a window at once to what its request reveals; the others wait for the answer.
#[test]
fn a_request_that_reveals_less_demand_cuts_the_window_of_the_artifact() {
    let window = |config, window| {
        let mut shard = own_shard(config);
        visit(&mut shard, ID);
        shard.sessions[ID.index()].offer(window);
        let acked = shard.sessions[ID.index()].seq;
        let arrival = Arrival { acked, demand: 2, ..Arrival::default() };
        shard.on_request(at(0), ID, &arrival, Duration::ZERO, &mut Silent);
        shard.sessions[ID.index()].window
    };
    let artifact = Config::artifact(SLO, 1);
    assert_eq!([2, 3, 4, 10].map(|before| window(artifact, before)), [2, 3, 3, 3]);
    assert_eq!(window(Config::tuned(SLO, 1), 10), 10);
}

#[test]
fn an_answer_without_a_pause_is_no_message_of_the_client() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    visit(&mut shard, ID);
    assert_eq!(ask(&mut shard, 20), Verdict::Admit);
    shard.on_start(at(20), ID, Duration::ZERO, None, &mut Silent);
    let offer = shard.on_done(at(90), ID, &served(us(0), us(70)));
    assert_eq!(offer.pause, Pause::NONE);
    assert_eq!(shard.sessions[ID.index()].silent_since, at(20));
}

/// What runs or waits of a session says nothing of how long clients think.
#[test]
fn silence_is_learnt_from_sessions_that_had_nothing_in_the_server() {
    let learnt = |register, pending| {
        let mut shard = own_shard(Config::tuned(SLO, 1));
        shard.on_open(at(0), ID, &mut Silent);
        let session = &mut shard.sessions[ID.index()];
        (session.registered, session.pending) = (register, pending);
        (1..=2_000).for_each(|round| shard.on_heard(at(10_000 * round), ID));
        shard.idle.threshold(Duration::ZERO)
    };
    assert_eq!([learnt(false, 0), learnt(true, 1), learnt(false, 1)], [Duration::ZERO; 3]);
    assert!(learnt(true, 0) > Duration::from_millis(60));
}

#[test]
fn one_that_a_guard_let_in_takes_none_out_of_the_queue() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    shard.on_open(at(0), ID, &mut Silent);
    assert_eq!(ask(&mut shard, 0), Verdict::Admit);
    let refused = Arrival::default();
    let verdict = shard.on_request(at(0), ID, &refused, Duration::ZERO, &mut Silent);
    assert_eq!(verdict, Verdict::Shed(Reason::NoCredit));
    for waiting in [0, 0] {
        shard.on_start(at(1), ID, Duration::ZERO, None, &mut Silent);
        assert_eq!(shard.predicted.waiting(), waiting);
    }
}

/// The pool is one credit; the proper request is answered while twenty violations are under way.
#[test]
fn a_flood_is_left_without_a_window() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    shard.on_open(at(0), ID, &mut Silent);
    assert_eq!(ask(&mut shard, 0), Verdict::Admit);
    for _ in 0..20 {
        assert_eq!(ask(&mut shard, 1), Verdict::Shed(Reason::NoCredit));
    }
    assert_eq!(answer(&mut shard, 2, Outcome::Served).window, 0);
}

/// As with the classes: what was once needed is kept while a fourth of it is in use, and twice of that then.
#[test]
fn memory_is_given_back_below_a_fourth_of_it() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    shard.sessions = Vec::with_capacity(128);
    (0..34).for_each(|id| _ = shard.on_open(at(0), SessionId(id), &mut Silent));
    [33, 32].into_iter().for_each(|id| shard.on_close(at(0), SessionId(id), &mut Silent));
    assert_eq!((shard.sessions.len(), shard.sessions.capacity()), (32, 128));
    shard.on_close(at(0), SessionId(31), &mut Silent);
    assert_eq!((shard.sessions.len(), shard.sessions.capacity()), (31, 62));
}

/// What an observer is told, as it would be written.
fn told(act: impl FnOnce(&mut dyn Observer)) -> Vec<String> {
    let events = RefCell::new(Vec::new());
    act(&mut |_: Instant, event: &Event| events.borrow_mut().push(format!("{event:?}")));
    events.into_inner()
}

#[test]
fn a_violation_is_told_as_such_and_a_shed_request_by_its_reason() {
    let mut shard = own_shard(Config::paper(SLO, 1));
    shard.on_open(at(0), ID, &mut Silent);
    let arrival = Arrival::default();
    let violation = told(|observer| {
        shard.on_request(at(0), ID, &arrival, Duration::ZERO, observer);
    });
    assert_eq!(violation, [format!("{:?}", Event::Violation(ID))]);
    let arrival = Arrival { register: true, ..arrival };
    answer(&mut shard, 0, Outcome::Shed(Reason::NoCredit));
    let late = told(|observer| {
        shard.on_request(at(0), ID, &arrival, SLO, observer);
    });
    let expected = [Event::Registered(ID), Event::Shed(ID, Reason::Delay.name())];
    assert_eq!(late, expected.map(|event| format!("{event:?}")));
}

/// By the text it is twice the target: 160 µs.
#[test]
fn the_aqm_refuses_from_its_threshold_on() {
    let verdict = |delay_us| {
        let mut shard = own_shard(Config::paper(SLO, 1));
        shard.on_open(at(0), ID, &mut Silent);
        let arrival = Arrival { register: true, ..Arrival::default() };
        shard.on_request(at(0), ID, &arrival, us(delay_us), &mut Silent)
    };
    assert_eq!([159, 160].map(verdict), [Verdict::Admit, Verdict::Shed(Reason::Delay)]);
}

/// Eq. 1 adds a credit while there is no delay; at the target itself eq. 2 takes nothing.
#[test]
fn a_pool_is_told_when_its_size_changes_and_not_otherwise() {
    let interval = crate::breakwater::Interval::Fixed(us(10));
    let mut shard = own_shard(Config { interval, ..Config::paper(SLO, 1) });
    visit(&mut shard, ID);
    let (from, to, delay) = (1, 2, Duration::ZERO);
    let grown = told(|observer| shard.on_tick(at(10), delay, observer));
    assert_eq!(grown, [format!("{:?}", Event::PoolResized { from, to, delay })]);
    assert_eq!(told(|observer| shard.on_tick(at(15), delay, observer)), [""; 0], "not due");
    assert_eq!(told(|observer| shard.on_tick(at(20), us(80), observer)), [""; 0], "eq. 2");
}

#[test]
fn without_credits_clients_are_open_and_nothing_is_sent_to_them() {
    let config = Config { credits: false, demand: Demand::Synchronised, ..Config::tuned(SLO, 1) };
    let mut shard = own_shard(config);
    assert_eq!(shard.on_open(at(0), ID, &mut Silent), Offer::OPEN);
    shard.on_request(at(0), ID, &Arrival::default(), Duration::ZERO, &mut Silent);
    assert_eq!(shard.on_done(at(0), ID, &served(us(0), us(0))), Offer::OPEN);
    shard.sessions[ID.index()].registered = true;
    shard.on_demand(at(0), ID, 9, 0);
    let second = at(2_000_000);
    assert_eq!((shard.next_deadline(second), shard.poll_wish(second, &mut Silent)), (None, None));
}
