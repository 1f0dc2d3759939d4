mod accounts;
mod costs;
mod deadlines;
mod demands;
mod grants;
mod last_credit;
mod several_loops;

use super::*;
use crate::breakwater::Breakwater;
use crate::server::{Admission, Echo, Reached};
use tailwater_core::{Class, MethodId, Rng, Silent};

const SLO: Duration = Duration::from_micros(200);
const ID: SessionId = SessionId(0);

fn shard() -> Box<dyn Shard> {
    let server = Breakwater::new(Config::tuned(SLO, 1), 1, 1).expect("the settings are sound");
    let mut shard = Arc::new(server).shard(0);
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    shard
}

fn ask(shard: &mut dyn Shard, us: u64) -> Verdict {
    let arrival = Arrival { register: true, demand: 9, ..Arrival::default() };
    let now = Instant::from_nanos(1_000 * us);
    shard.on_request(now, ID, &arrival, Duration::ZERO, &mut Silent)
}

fn answer(shard: &mut dyn Shard, us: u64, outcome: Outcome) -> Offer {
    let reached = match outcome {
        Outcome::Shed(Reason::NoCredit) => Reached::Arrival,
        Outcome::Shed(_) => Reached::Queue,
        Outcome::Served => Reached::Handler,
    };
    let done = RequestEnd {
        outcome,
        reached,
        waited: Duration::ZERO,
        service: Duration::ZERO,
        class: Class::default(),
    };
    shard.on_done(Instant::from_nanos(1_000 * us), ID, &done)
}

/// Thirty requests come at once, and one is served every 10 µs.
fn pauses(config: Config) -> Vec<Duration> {
    pauses_of(&mut own_shard(config))
}

fn pauses_of(shard: &mut BreakwaterShard) -> Vec<Duration> {
    for session in 0..30 {
        shard.on_open(Instant::ZERO, SessionId(session), &mut Silent);
        let arrival = Arrival { register: true, ..Arrival::default() };
        let id = SessionId(session);
        shard.on_request(Instant::ZERO, id, &arrival, Duration::ZERO, &mut Silent);
    }
    let served = |session: u32| {
        let (id, at) = (SessionId(session), Instant::ZERO + session * Duration::from_micros(10));
        shard.on_start(at, id, at.since(Instant::ZERO), None, &mut Silent);
        let done = RequestEnd {
            outcome: Outcome::Served,
            reached: Reached::Handler,
            waited: at.since(Instant::ZERO),
            service: Duration::from_micros(10),
            class: Class::default(),
        };
        shard.on_done(at + Duration::from_micros(10), id, &done).pause.duration()
    };
    (0..30).map(served).collect()
}

#[test]
fn answers_ask_for_a_pause_until_the_queue_is_as_it_should_be() {
    // 200 µs of objective are a target of 60 µs: six requests that wait.
    let found = pauses(Config::tuned(SLO, 1));
    assert!(found[5] >= 4 * Duration::from_micros(150), "eighteen too many: {found:?}");
    assert!(found[2..].is_sorted_by(|earlier, later| earlier >= later), "{found:?}");
    assert!(found[23..].iter().all(Duration::is_zero), "{found:?}");
    assert!(pauses(Config::paper(SLO, 1)).iter().all(Duration::is_zero));
}

/// Twenty requests of 10 µs wait, where six should. A connection of a tier's caller has many calls, which one pause would
/// hold back until most of them expire. What the AQM lets wait is 170 µs.
#[test]
fn a_pause_is_shorter_by_the_reserve_of_few_clients() {
    let asks = |clients: u32| {
        let mut shard = own_shard(Config::tuned(SLO, 1));
        (0..clients).for_each(|id| visit(&mut shard, SessionId(id)));
        (0..20).for_each(|_| shard.predicted.join());
        shard.predicted.complete(Instant::from_nanos(10_000));
        shard.predicted.complete(Instant::from_nanos(20_000));
        shard.pause()
    };
    let five_times = |us| Pause::of(5 * Duration::from_micros(us));
    assert_eq!([1, 7, 8, 9].map(asks), [0, 0, 5, 10].map(five_times));
    assert_eq!([34, 35, 36, 80].map(asks), [135, 140, 140, 140].map(five_times));
}

/// A tier refuses half of twenty requests for its callers' handlers. A fifth is tolerated, so that six credits are lost.
#[test]
fn what_handlers_refuse_costs_credits_where_that_is_wanted() {
    let left = |refusals, reached, service_us| {
        let mut shard = own_shard(Config { refusals, ..Config::tuned(SLO, 1) });
        (0..3).for_each(|id| visit(&mut shard, SessionId(id)));
        for _ in 0..40 {
            shard.pool.set_idle(0);
            shard.pool.set_active();
        }
        let served = (Outcome::Served, Reached::Handler);
        let refused = (Outcome::Shed(Reason::Delay), reached);
        for (outcome, reached) in [served, refused].repeat(10) {
            let service = Duration::from_micros(service_us);
            let (waited, class) = (Duration::ZERO, Class::default());
            shard.count(Instant::ZERO, &RequestEnd { outcome, reached, waited, service, class });
        }
        shard.on_tick(Instant::from_nanos(1_000_000), Duration::ZERO, &mut Silent);
        shard.pool.total()
    };
    assert_eq!(left(Some(0.2), Reached::Handler, 5), 35);
    assert_eq!(left(Some(0.2), Reached::Handler, 0), 35, "refused within one reading of the clock");
    assert_eq!(left(Some(0.2), Reached::Start, 0), 41, "they were refused before a handler ran");
    assert_eq!(left(None, Reached::Handler, 5), 41);
}

#[test]
fn a_pause_is_no_silence() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    let pauses = pauses_of(&mut shard);
    let silence = |session: u32, us: u64| {
        let now = Instant::from_nanos(us * 1_000);
        now.since(shard.sessions[SessionId(session).index()].silent_since)
    };
    let ends_us = 60 + u64::try_from(pauses[5].as_micros()).expect("it is short");
    assert_eq!(silence(5, ends_us), Duration::ZERO);
    assert_eq!(silence(5, ends_us + 7), Duration::from_micros(7));
}

/// Found by the simulator's random worlds: each overflow of the driver's queue left one more
/// request waiting in the books, until everything was shed for a delay that was not there.
#[test]
fn what_found_no_room_in_the_queue_is_not_waited_for() {
    let mut shard = shard();
    for us in 0..1_000 {
        assert_eq!(ask(&mut *shard, us), Verdict::Admit, "after {us} overflows");
        if us % 10 == 0 {
            shard.on_start(Instant::from_nanos(1_000 * us), ID, Duration::ZERO, None, &mut Silent);
            answer(&mut *shard, us, Outcome::Served);
        } else {
            answer(&mut *shard, us, Outcome::Shed(Reason::QueueFull));
        }
    }
}

/// Found by the simulator's random worlds: over a slow link a client that announces its demand
/// again and again got a credit from an empty pool each time.
#[test]
fn from_an_empty_pool_only_a_session_without_credits_gets_one() {
    let config = Config { demand: Demand::Synchronised, ..Config::tuned(SLO, 1) };
    let server = Breakwater::new(config, 1, 1).expect("the settings are sound");
    let mut shard = Arc::new(server).shard(0);
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    ask(&mut *shard, 0);
    answer(&mut *shard, 1, Outcome::Served);
    let mut window = 0;
    for round in 1..20 {
        let now = Instant::ZERO + round * Duration::from_millis(200);
        shard.on_demand(now - Duration::from_millis(150), ID, 50, 0);
        while let Some(Wish::Credit(_, offer)) = shard.poll_wish(now, &mut Silent) {
            window = offer.window;
        }
    }
    assert!(window <= 1, "a window of {window} from a pool of one");
}

/// Found by the simulator's random worlds: the answer to the one proper request of a flood
/// offered a window that covered all the violations behind it.
#[test]
fn violations_under_way_are_not_covered_by_the_next_window() {
    let mut shard = shard();
    assert_eq!(ask(&mut *shard, 0), Verdict::Admit);
    for _ in 0..20 {
        assert_eq!(ask(&mut *shard, 1), Verdict::Shed(Reason::NoCredit));
    }
    let window = answer(&mut *shard, 2, Outcome::Served).window;
    assert!(window <= 2, "a window of {window} after a flood");
}

/// Two windows under one number: the welcome says 1 under 0, and a reject for want of registration said 0 under 0. A
/// client that trusts the second waits for ever.
#[test]
fn a_call_without_registration_hears_the_window_that_the_welcome_told() {
    for config in [Config::paper(SLO, 1), Config::artifact(SLO, 1), Config::tuned(SLO, 1)] {
        let server = Breakwater::new(config, 1, 1).expect("the settings are sound");
        let mut shard = Arc::new(server).shard(0);
        let welcome = shard.on_open(Instant::ZERO, ID, &mut Silent);
        let arrival = Arrival::default();
        let verdict = shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent);
        assert_eq!(verdict, Verdict::Shed(Reason::NoCredit));
        let reject = answer(&mut *shard, 0, Outcome::Shed(Reason::NoCredit));
        assert_eq!(reject, welcome);
        assert_eq!(ask(&mut *shard, 1), Verdict::Admit, "it may still register");
    }
}

pub(super) fn own_shard(config: Config) -> BreakwaterShard {
    BreakwaterShard::new(Arc::new(Pool::new(config, 1)), 0, Rng::from_seed(1))
}

/// One call of a new session, answered.
pub(super) fn visit(shard: &mut BreakwaterShard, id: SessionId) {
    visit_at(shard, Instant::ZERO, id);
}

pub(super) fn visit_at(shard: &mut BreakwaterShard, now: Instant, id: SessionId) {
    let arrival = Arrival { register: true, ..Arrival::default() };
    shard.on_open(now, id, &mut Silent);
    shard.on_request(now, id, &arrival, Duration::ZERO, &mut Silent);
    shard.on_start(now, id, Duration::ZERO, None, &mut Silent);
    let (outcome, reached) = (Outcome::Served, Reached::Handler);
    let zero = Duration::ZERO;
    shard.on_done(
        now,
        id,
        &RequestEnd { outcome, reached, waited: zero, service: zero, class: Class::default() },
    );
}

/// Without a starvation limit nothing takes entries from the list while there is no room.
#[test]
fn sessions_that_come_and_go_without_credit_leave_nothing_behind() {
    for config in [Config::paper(SLO, 1), Config::tuned(SLO, 1)] {
        let mut shard = own_shard(config);
        // The pool's only credit.
        visit(&mut shard, ID);
        let mut listed = 0;
        for round in 0..10_000 {
            let id = SessionId(1 + round % 5);
            visit(&mut shard, id);
            listed += usize::from(shard.sessions[id.index()].listed);
            shard.on_close(Instant::ZERO, id, &mut Silent);
        }
        assert_eq!(listed, 10_000, "each found the pool empty");
        assert!(shard.stranded.len() <= 2, "{} entries", shard.stranded.len());
        assert_eq!(shard.sessions.len(), 1, "those that left take no room");
    }
}

/// Half of 100,000 clients, stranded in one second, got half as many credits from an empty pool one second
/// later: more load than the core could take, and messages that took an eighth of it.
#[test]
fn a_crowd_that_starves_is_relieved_at_the_pace_of_the_server() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    (0..100).for_each(|id| visit(&mut shard, SessionId(id)));
    shard.predicted.join();
    shard.predicted.complete(Instant::from_nanos(10_000));
    shard.predicted.complete(Instant::from_nanos(20_000));
    assert_eq!(shard.predicted.gap(), Duration::from_micros(10));
    let mut relieved = |ms: u64, us: u64| {
        let now = Instant::from_nanos(ms * 1_000_000 + us * 1_000);
        std::iter::from_fn(|| shard.poll_wish(now, &mut Silent)).count()
    };
    assert_eq!(relieved(999, 0), 0, "they do not starve yet");
    assert_eq!([relieved(1_000, 0), relieved(1_000, 319), relieved(1_000, 320)], [16, 0, 1]);
    assert_eq!(relieved(5_000, 0), 16, "and not all at once after a pause");
}

/// They stand before all others in the list, and are too few to be taken out of it.
#[test]
fn those_that_have_left_use_up_no_relief_of_those_that_starve() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    (0..100).for_each(|id| visit(&mut shard, SessionId(id)));
    let listed = shard.stranded.len();
    (1..41).for_each(|id| shard.on_close(Instant::ZERO, SessionId(id), &mut Silent));
    assert_eq!(shard.stranded.len(), listed);
    let now = Instant::from_nanos(1_000_000_000);
    assert_eq!(std::iter::from_fn(|| shard.poll_wish(now, &mut Silent)).count(), 16);
}

#[test]
fn a_crowd_that_has_left_gives_its_memory_back() {
    let mut shard = own_shard(Config::tuned(SLO, 1));
    (0..10_000).for_each(|id| visit(&mut shard, SessionId(id)));
    (1..10_000).rev().for_each(|id| shard.on_close(Instant::ZERO, SessionId(id), &mut Silent));
    assert_eq!(shard.sessions.len(), 1);
    assert!(shard.sessions.capacity() <= 64, "{}", shard.sessions.capacity());
    visit(&mut shard, SessionId(7));
    assert!(shard.sessions[7].is(Entry {
        session: SessionId(7),
        generation: 10_001,
        since: Instant::ZERO
    }));
}

/// Its caller gave it up, or the server is leaving: neither is a drop that more credits have caused.
#[test]
fn what_was_cancelled_counts_neither_as_come_nor_as_dropped() {
    for (reason, dropped) in [
        (Reason::Cancelled, 0),
        (Reason::Draining, 0),
        (Reason::Deadline, 1),
        (Reason::QueueFull, 1),
    ] {
        let mut shard = own_shard(Config::efficiency_tuned(SLO, 1));
        let arrival = Arrival { register: true, ..Arrival::default() };
        shard.on_open(Instant::ZERO, ID, &mut Silent);
        shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent);
        let (outcome, reached) = (Outcome::Shed(reason), Reached::Queue);
        let (waited, service) = (2 * SLO, Duration::ZERO);
        shard.on_done(
            Instant::ZERO,
            ID,
            &RequestEnd { outcome, reached, waited, service, class: Class::default() },
        );
        let meter = shard.pool.meter().expect("the law counts");
        assert_eq!(meter.counts(), [dropped, 0, dropped], "{reason:?}: come, served, dropped");
        assert_eq!(shard.tally.shed, u32::from(reason == Reason::Deadline), "{reason:?}");
        assert_eq!((shard.sessions[0].waiting, shard.sessions[0].pending), (0, 0), "{reason:?}");
    }
}

/// One core at twice its capacity, a fifth of whose requests take sixteen times as long as the others; what
/// became of each, and whether it was a long one. `told`: the two call different methods.
fn verdicts(classes: Option<f64>, told: bool) -> Vec<(bool, Verdict)> {
    let config = Config { classes, credits: false, ..Config::tuned(6 * SLO, 1) };
    let mut shard = own_shard(config);
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    let (mut rng, mut now, mut free_at) = (Rng::from_seed(1), Instant::ZERO, Instant::ZERO);
    let mut queue: std::collections::VecDeque<(Instant, Duration, Class)> = Default::default();
    let mut verdicts = Vec::new();
    for _ in 0..20_000 {
        now = now + Duration::from_nanos(rng.exponential(50_000.0) as u64);
        while let Some(&(ends, service, class)) = queue.front().filter(|(ends, ..)| *ends <= now) {
            queue.pop_front();
            let (outcome, reached) = (Outcome::Served, Reached::Handler);
            let done = RequestEnd { outcome, reached, waited: Duration::ZERO, service, class };
            shard.on_done(ends, ID, &done);
            if !queue.is_empty() {
                shard.on_start(ends, ID, Duration::ZERO, None, &mut Silent);
            }
        }
        let long = rng.chance(0.2);
        let class = Class::of(MethodId(u16::from(long && told)));
        let arrival = Arrival { time_left: Some(6 * SLO), class, ..Arrival::default() };
        let verdict = shard.on_request(now, ID, &arrival, Duration::ZERO, &mut Silent);
        verdicts.push((long, verdict));
        if verdict == Verdict::Admit {
            let service = Duration::from_micros(if long { 400 } else { 25 });
            if queue.is_empty() {
                shard.on_start(now, ID, Duration::ZERO, None, &mut Silent);
            }
            free_at = free_at.max(now) + service;
            queue.push_back((free_at, service, class));
        } else {
            let Verdict::Shed(reason) = verdict else { panic!("{verdict:?}") };
            let (waited, service) = (Duration::ZERO, Duration::ZERO);
            let outcome = Outcome::Shed(reason);
            let reached = Reached::Arrival;
            shard.on_done(now, ID, &RequestEnd { outcome, reached, waited, service, class });
        }
    }
    verdicts
}

#[test]
fn an_eighth_of_a_round_trip_counts_for_the_session_and_for_the_pool() {
    let mut shard = own_shard(Config::paper(SLO, 1));
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    let mut trip = |sent_us: u64, rtt_us| {
        let sent = Instant::from_nanos(1_000 * sent_us);
        shard.sessions[ID.index()].stamps.on_sent(sent);
        let echo = Echo { stamp: sent.stamp(), hold: Duration::ZERO };
        shard.on_echo(sent + Duration::from_micros(rtt_us), ID, echo);
        [Duration::from_nanos(shard.sessions[ID.index()].rtt_ns), shard.pool.rtt()]
    };
    assert_eq!(trip(1, 10), [Duration::from_micros(10); 2]);
    assert_eq!(trip(1_000, 90), [Duration::from_micros(20); 2]);
}

#[test]
fn without_the_setting_a_method_makes_no_difference() {
    let told = verdicts(None, true);
    assert!(told == verdicts(None, false), "the class was looked at");
    assert!(told.iter().all(|(_, verdict)| *verdict != Verdict::Shed(Reason::Cost)));
}

#[test]
fn with_it_the_long_ones_give_way_and_keep_their_share() {
    let verdicts = verdicts(Some(0.3), true);
    // What it knows nothing of yet is left out.
    let settled = &verdicts[2_000..];
    let share = |of_long: bool| {
        let all = settled.iter().filter(|(long, _)| *long == of_long);
        let admitted = all.clone().filter(|(_, verdict)| *verdict == Verdict::Admit).count();
        admitted as f64 / all.count() as f64
    };
    assert!(share(false) > 0.95, "short: {}", share(false));
    assert!((0.3..0.45).contains(&share(true)), "long: {}", share(true));
    let refused = |of_long| {
        let cost = Verdict::Shed(Reason::Cost);
        settled.iter().filter(|(long, verdict)| *long == of_long && *verdict == cost).count()
    };
    assert!(refused(true) > 1_000, "{} of the long ones", refused(true));
    assert!(refused(false) < refused(true) / 10, "{} of the short ones", refused(false));
}
