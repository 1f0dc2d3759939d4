use super::*;
use crate::fabric::Fabric;
use crate::space::{Answer, Packet};
use crate::task::Task;
use crate::world::Link;
use tailwater_control::catalog::Spec;
use tailwater_control::retry::{HedgeAfter, HedgeConfig, RetryConfig};
use tailwater_control::{Offer, Site};
use tailwater_core::Ratio;

const DELAY: Duration = Duration::from_micros(5);
const LATE: Duration = Duration::from_micros(300);

/// One node of a tier, with three replicas.
fn callers() -> Callers {
    let family = Spec::named("none").build(&Site::one_loop(Duration::from_millis(1), 1)).unwrap();
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
    task.stage = Stage::Calling { since: Instant::ZERO, left: 1 };
    let due = Request::new(Instant::ZERO, Connection(0), Duration::ZERO);
    let waiting = Request { task: Some(task), ..due };
    let parent = space.requests.insert(waiting);
    Asked { parent, tier: 0, fan_out: 1, seed: 7, deadline: None, priority: 128 }
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
                    let outcome = Outcome::Shed(Reason::Draining);
                    let (offer, waited) = (Offer::OPEN, Duration::ZERO);
                    let answer = Some(Answer { outcome, offer, left: now, waited });
                    space.requests.get_mut(key).expect("a try").answer = answer;
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
