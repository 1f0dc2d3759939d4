use super::*;
use crate::fabric::Fabric;
use crate::space::Packet;
use crate::space::testing::{refuse, taken, welcome};
use crate::task::Task;
use crate::world::Link;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_control::retry::{HedgeAfter, HedgeConfig, RetryConfig};
use tailwater_core::Ratio;

const DELAY: Duration = Duration::from_micros(5);
const LATE: Duration = Duration::from_micros(300);

/// One node of a tier, with three replicas.
fn callers() -> Callers {
    callers_under("none")
}

fn callers_under(controller: &str) -> Callers {
    let site = Site::one_loop(Duration::from_millis(1), 1);
    let family = Spec::named(controller).build(&site).unwrap();
    let hedge = HedgeConfig { after: HedgeAfter::Delay(LATE), share: Ratio(1.0), burst: 10 };
    let choice = || Replicas::new(RetryConfig::default(), 3, 0).hedged(hedge);
    let mut callers = Callers::default();
    for number in 0..3 {
        let server = Server { tier: 0, node: 0, replica: number as usize };
        callers.connect(server, (Connection(number), 1), family.client(number.into()), choice);
    }
    callers
}

fn space() -> Space {
    let link = Link { delay: DELAY, jitter: Duration::ZERO };
    Space::new(Fabric::new(link, 3, &Rng::from_seed(1)))
}

/// A request that waits for one call.
fn asked(space: &mut Space) -> Asked {
    let mut task = Task::new(1, None);
    task.stage = Stage::Calling { since: Instant::ZERO, left: 1, unmade: 0 };
    let due = Request::new(Instant::ZERO, Connection(0), Duration::ZERO);
    let waiting = Request { task: Some(task), ..due };
    let parent = space.requests.insert(waiting);
    Asked { parent, tier: 0, fan_out: 1, seed: 7, deadline: None, priority: 128 }
}

fn lose(callers: &mut Callers, connection: u32, space: &mut Space) {
    callers.on_lost(Instant::ZERO, Connection(connection), Incarnation::FIRST, space);
}

fn open(callers: &mut Callers, connection: u32, space: &mut Space) {
    let key = welcome(Instant::ZERO, Connection(connection), space);
    callers.on_opened(Instant::ZERO, key, space);
}

/// Such calls waited for the lost connection to come back, or until they were given up.
#[test]
fn a_call_that_waits_at_a_replica_that_is_lost_goes_to_another() {
    let (mut callers, mut space) = (callers_under("breakwater"), space());
    // Without credit yet, the second call waits.
    for _ in 0..2 {
        let asked = asked(&mut space);
        callers.call(Instant::ZERO, &asked, &mut space);
    }
    assert_eq!(callers.waiting(), 1);
    lose(&mut callers, 0, &mut space);
    assert!(callers.leave(Instant::ZERO, Connection(0), &mut space));
    assert_eq!(callers.waiting(), 0);
    assert_eq!(taken(&mut space), [Connection(0), Connection(1)]);
    let made = |fact: &&Fact| matches!(fact, Fact::Called { .. });
    let ended = |fact: &&Fact| matches!(fact, Fact::CallEnded { .. });
    let facts = &space.facts;
    assert_eq!((facts.iter().filter(made).count(), facts.iter().filter(ended).count()), (3, 1));
}

#[test]
fn a_call_that_found_no_replica_goes_to_the_one_that_comes_back() {
    let (mut callers, mut space) = (callers(), space());
    (0..3).for_each(|connection| lose(&mut callers, connection, &mut space));
    let asked = asked(&mut space);
    callers.call(Instant::ZERO, &asked, &mut space);
    assert!(!callers.leave(Instant::ZERO, Connection(0), &mut space), "no other is there");
    open(&mut callers, 2, &mut space);
    callers.drive_all(Instant::ZERO, &mut space);
    assert_eq!(taken(&mut space), [Connection(2)]);
}

/// When each try of a call arrives, and second tries, where the first so many are refused and no other is answered.
fn tries(refused: usize) -> (Vec<Instant>, HedgeCounts) {
    let (mut callers, mut space) = (callers(), space());
    let asked = asked(&mut space);
    callers.call(Instant::ZERO, &asked, &mut space);
    let mut arrived = Vec::new();
    while let Some((now, event)) = space.calendar.pop() {
        match event {
            Event::Packet(Packet::Request(key)) => {
                arrived.push(now);
                if arrived.len() <= refused {
                    refuse(now, key, Reason::Draining, &mut space);
                    callers.on_reply(now, key, &mut space);
                }
            }
            Event::Late(key) => callers.on_late(now, key, &mut space),
            Event::ClientDue(connection) => callers.on_due(now, connection, &mut space),
            other => panic!("only requests and what is late were needed, {other:?} found"),
        }
    }
    assert!(!space.facts.iter().any(|fact| matches!(fact, Fact::Astray(..))), "{:?}", space.facts);
    (arrived, callers.hedges(0))
}

/// Both tries counted, so that the call had none left.
#[test]
fn of_two_tries_the_one_that_was_not_begun_does_not_count() {
    for (reason, more) in [(Reason::Draining, 1), (Reason::Lock, 0)] {
        let (mut callers, mut space) = (callers(), space());
        let asked = asked(&mut space);
        callers.call(Instant::ZERO, &asked, &mut space);
        let mut arrived = Vec::new();
        while let Some((now, event)) = space.calendar.pop() {
            match event {
                Event::Packet(Packet::Request(key)) => {
                    arrived.push(key);
                    let [first, second] = arrived[..] else { continue };
                    for (key, reason) in [(first, reason), (second, Reason::Lock)] {
                        refuse(now, key, reason, &mut space);
                        callers.on_reply(now, key, &mut space);
                    }
                }
                Event::Late(key) => callers.on_late(now, key, &mut space),
                Event::ClientDue(connection) => callers.on_due(now, connection, &mut space),
                other => panic!("only requests and what is late were needed, {other:?} found"),
            }
        }
        assert_eq!((callers.hedges(0).sent, arrived.len()), (1, 2 + more), "{reason:?}");
    }
}

/// Its second try was looked at by nobody until the next vain attempt to connect.
#[test]
fn of_two_tries_the_one_that_goes_on_leaves_a_lost_replica_where_it_waits() {
    let (mut callers, mut space) = (callers_under("breakwater"), space());
    // Another call has what the second replica gives without credit; the third is not there as the call is late.
    lose(&mut callers, 0, &mut space);
    lose(&mut callers, 2, &mut space);
    let other = asked(&mut space);
    callers.call(Instant::ZERO, &other, &mut space);
    open(&mut callers, 0, &mut space);
    let asked = asked(&mut space);
    callers.call(Instant::ZERO, &asked, &mut space);
    let (mut tried, mut first) = (Vec::new(), None);
    while let Some((now, event)) = space.calendar.pop() {
        match event {
            Event::Packet(Packet::Request(key)) => {
                tried.extend(space.connection_of(key));
                first = first.or((tried.last() == Some(&Connection(0))).then_some(key));
            }
            Event::Late(key) if Some(key) == first => {
                callers.on_late(now, key, &mut space);
                assert_eq!(callers.waiting(), 1, "its second try");
                open(&mut callers, 2, &mut space);
                lose(&mut callers, 1, &mut space);
                assert!(!callers.leave(now, Connection(1), &mut space), "one of two tries stays");
                refuse(now, key, Reason::Lock, &mut space);
                callers.on_reply(now, key, &mut space);
                assert_eq!(callers.waiting(), 0);
            }
            _ => {}
        }
    }
    assert_eq!(tried, [1, 0, 2].map(Connection));
}

/// The event was that of the first try, which had ended. On sockets such calls have second tries.
#[test]
fn a_call_that_was_refused_and_tried_again_is_late_when_it_would_have_been() {
    let late = Instant::ZERO + LATE + DELAY;
    for refused in [0, 1] {
        let (arrived, counts) = tries(refused);
        assert_eq!(
            (arrived.len(), counts.sent),
            (refused + 2, 1),
            "{refused} refused: {arrived:?}"
        );
        assert_eq!(arrived.last(), Some(&late), "{refused} refused");
    }
}
