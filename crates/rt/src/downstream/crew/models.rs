//! Every interleaving, up to three preemptions, of the hand-over of legs: to a member that may be parked, back to the home,
//! and past a crew that becomes smaller. The member's life is that of `server::runner::member`, without calls.

use super::super::room::Room;
use super::*;
use crate::bell::Doorbell;
use crate::models::{Rings, model};
use loom::thread::{self, JoinHandle};
use tailwater_core::{Instant, MethodId};

/// The last that a member is told. Its end is told as cancels are: loom's sequentially consistent flags are weaker than
/// real ones, and `stop` is one.
const END: LegKey = (9, 9);

/// What a member has begun, for whoever waits for it.
#[derive(Clone)]
struct Begun(Arc<Queue<LegKey>>, Rings);

impl Begun {
    fn new() -> Self {
        Self(Arc::new(Queue::new()), Rings::new())
    }

    /// Waits until this one was begun. If it never is, that is a deadlock, which loom tells. All so far, in order.
    fn until(&self, last: LegKey) -> Vec<LegKey> {
        let mut found = self.all();
        while !found.contains(&last) {
            self.1.wait();
            found.extend(self.all());
        }
        found
    }

    fn all(&self) -> Vec<LegKey> {
        std::iter::from_fn(|| self.0.pop()).collect()
    }
}

/// Lives until it is told its end. What it was told before.
fn member(crew: &Arc<Crew>, index: usize, bell: Rings, begun: &Begun) -> JoinHandle<Vec<LegKey>> {
    let (crew, begun) = (crew.clone(), begun.clone());
    thread::spawn(move || {
        let (mut told, mut was_rung) = (Vec::new(), false);
        loop {
            while let Some(key) = crew.staff.next_cancel(index) {
                if key == END {
                    return told;
                }
                told.push(key);
            }
            match crew.next(index, std::mem::take(&mut was_rung)) {
                Some((key, cargo)) => {
                    assert_eq!(cargo.calls.len(), 1, "nobody has opened it before");
                    begun.0.push(key);
                    begun.1.ring();
                }
                None => was_rung = crew.rest(index, true, || bell.wait()),
            }
        }
    })
}

/// A leg of one call, whose room is the only one.
fn leg(number: u64, room: &Room) -> Arc<Leg> {
    let thread = Arc::new(Doorbell::new(Box::new(Rings::new())));
    let home = Arc::new(Home::new(thread, Rings::new()));
    let way_back = WayBack { home, fan: (Instant::ZERO, 0), count: Arc::new(Countdown::new(1, 0)) };
    let (deadline, priority, tenant) = (Instant::ZERO, 128, 0);
    let caller = tailwater_marks::Caller::NONE;
    let terms = Terms { deadline, priority, tenant, caller, reached_only: false, hedged: false };
    let planned = Planned { shard: 0, method: MethodId(1), payload: bytes::Bytes::new() };
    let lent = room.lend(0).expect("there is room");
    let cargo = Cargo { calls: vec![(0, planned, lent)], terms, way_back, is_alone: true };
    Arc::new(Leg::new((0, number), cargo))
}

/// What is recalled meanwhile is begun or it is not: in the one case the member is told, in the other it never begins. Its
/// room is back in either case.
#[test]
fn a_leg_that_is_recalled_twice_is_begun_and_cancelled_once_or_taken_back() {
    model(|| {
        let (bell, begun) = (Rings::new(), Begun::new());
        let crew = Arc::new(Crew::new([bell.clone()]));
        let member = member(&crew, 0, bell, &begun);
        let room = Room::new(1, 1);
        let leg = leg(1, &room);
        crew.push(leg.clone());
        crew.recall(&leg);
        crew.recall(&leg);
        let is_back = crew.revoke(&leg);
        assert!(!is_back || room.lend(0).is_some(), "what is back has given its room back");
        crew.staff.cancel(0, END);
        let expected = if is_back { vec![] } else { vec![(0, 1)] };
        assert_eq!(member.join().unwrap(), expected);
        assert_eq!(begun.all(), expected);
        assert!(room.lend(0).is_some());
    });
}

/// The first member is held: it never looks. The second is not of the smaller crew.
#[test]
fn a_leg_that_waits_when_the_crew_becomes_smaller_is_begun_by_a_member_that_is_free() {
    model(|| {
        let (bell, begun) = (Rings::new(), Begun::new());
        let crew = Arc::new(Crew::new([Rings::new(), bell.clone()]));
        let member = member(&crew, 1, bell, &begun);
        let room = Room::new(1, 1);
        crew.push(leg(1, &room));
        crew.resize(1);
        // In the place of `Staff::wake`, for the same reason as `END`.
        crew.staff.cancel(1, (0, 0));
        assert_eq!(begun.until((0, 1)), [(0, 1)]);
        crew.staff.cancel(1, END);
        assert_eq!(member.join().unwrap(), [(0, 0)]);
    });
}

/// The home that takes empty legs out of the queue has the others in its hands meanwhile.
#[test]
fn a_leg_that_waits_among_empty_ones_is_begun_though_these_are_taken_out() {
    model(|| {
        let (bell, begun) = (Rings::new(), Begun::new());
        let crew = Arc::new(Crew::new([bell.clone()]));
        let room = Room::new(3, 1);
        let legs = [1, 2, 3].map(|number| leg(number, &room));
        legs.iter().for_each(|leg| crew.push(leg.clone()));
        assert!(crew.revoke(&legs[0]), "no member is there as yet");
        let member = member(&crew, 0, bell, &begun);
        let is_back = crew.revoke(&legs[1]);
        let expected = if is_back { vec![(0, 3)] } else { vec![(0, 2), (0, 3)] };
        assert_eq!(begun.until((0, 3)), expected, "each once");
        crew.staff.cancel(0, END);
        assert_eq!(member.join().unwrap(), []);
    });
}
