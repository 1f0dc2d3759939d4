//! What waits for the crew, what it costs, and who takes it. The members are the tests themselves.

use super::super::desk::Desk;
use super::super::errands::Errands;
use super::super::fan::Fan;
use super::super::post::Post;
use super::super::{Tier, TierConfig};
use super::*;
use crate::bell::Doorbell;
use crate::client::{Answer, CallError, Caller, ChannelConfig};
use crate::poll::EventBell;
use bytes::Bytes;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_core::threads::Completion;

#[derive(Clone)]
struct Mute;

impl Bell for Mute {
    fn ring(&self) {}
}

/// Arguments that count themselves when they are freed.
struct Counted(Arc<AtomicUsize>, [u8; 50]);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.1
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn crew(members: usize) -> Arc<Crew> {
    Arc::new(Crew::new(vec![Mute; members]))
}

fn config() -> TierConfig {
    TierConfig::new("leaf", vec![ChannelConfig::new("127.0.0.1:1".parse().expect("an address"))])
}

/// A thread that leaves its calls to the crew, each fan in one leg, with this number.
fn home(crew: &Arc<Crew>, number: usize, config: TierConfig) -> Tier {
    let thread = Arc::new(Doorbell::new(Box::new(Mute)));
    let held = EventBell::new().expect("descriptors are left");
    let post = Post::new(crew.clone(), thread, held, number);
    let desk = Rc::new(Desk::new(&[config], Some(post)));
    desk.set_completion(Completion::Responders(1));
    Tier::find(&desk, &Weak::new(), "leaf").expect("it has that tier")
}

fn plan(tier: &Tier) -> Fan {
    let deadline = Instant::FAR_FUTURE;
    let (priority, tenant) = (128, 0);
    let caller = Caller::NONE;
    let terms = Terms { deadline, priority, tenant, caller, reached_only: false, hedged: false };
    Fan::new(tier.clone(), terms)
}

fn poll(fan: &mut Pin<Box<Fan>>) -> Poll<Vec<Outcome>> {
    fan.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// A fan that is on its way.
fn sent(fan: Fan) -> Pin<Box<Fan>> {
    let mut fan = Box::pin(fan);
    assert!(poll(&mut fan).is_pending(), "it was to be sent");
    fan
}

/// What becomes of a call for which there is no room.
fn refused(tier: &Tier) -> bool {
    let mut fan = Box::pin(plan(tier).call(0, 1, ""));
    poll(&mut fan) == Poll::Ready(vec![Err(CallError::QueueFull)])
}

#[test]
fn what_waits_for_the_crew_is_in_the_tiers_bounds_and_free_as_soon_as_it_is_given_up() {
    let (crew, freed) = (crew(1), Arc::new(AtomicUsize::new(0)));
    let tier = home(&crew, 0, config().bytes_max(100));
    let arguments = || Bytes::from_owner(Counted(freed.clone(), [0; 50]));
    let two = || plan(&tier).call(0, 1, arguments()).call(0, 1, arguments());
    let first = sent(two());
    let mut second = Box::pin(two());
    let full = vec![Err(CallError::QueueFull); 2];
    assert_eq!(poll(&mut second), Poll::Ready(full), "a hundred bytes wait already");
    assert_eq!(freed.swap(0, Relaxed), 2);
    drop(first);
    assert_eq!(freed.load(Relaxed), 2, "no member has come upon them");
    let third = sent(two());
    let (_, cargo) = crew.next(0, false).expect("the third waits");
    assert_eq!(cargo.calls.len(), 2);
    assert!(crew.next(0, false).is_none(), "the first was taken back");
    drop(third);
}

#[test]
fn what_a_member_has_begun_keeps_its_room_until_it_ends_and_is_cancelled_once() {
    let crew = crew(1);
    let tier = home(&crew, 7, config().calls_max(3));
    let fan = sent((0..3).fold(plan(&tier), |fan, _| fan.call(0, 1, "")));
    let (key, cargo) = crew.next(0, false).expect("it waits");
    drop(fan);
    assert_eq!(crew.staff.next_cancel(0), Some(key), "the member is told");
    assert_eq!(crew.staff.next_cancel(0), None, "once, though there are three calls");
    assert!(refused(&tier), "the member has the arguments still");
    drop(cargo);
    assert!(!refused(&tier));
}

/// As large as that of one home, a room of its own made it refuse the calls of the second.
#[test]
fn a_member_has_no_bound_of_its_own() {
    let crew = crew(1);
    let homes = [0, 1].map(|number| home(&crew, number, config().calls_max(2)));
    let mut fans = homes.each_ref().map(|tier| sent(plan(tier).call(0, 1, "").call(0, 1, "")));
    let member = Rc::new(Desk::new(&[config().calls_max(2)], None));
    let errands = Errands::new(member.clone());
    while let Some((key, cargo)) = crew.next(0, false) {
        errands.begin(key, cargo, Instant::ZERO);
    }
    assert_eq!(member.ordered(), 4, "all are to be made");
    for (tier, fan) in homes.iter().zip(&mut fans) {
        assert!(refused(tier), "its own two are under way");
        assert!(poll(fan).is_pending());
    }
    // The member ends before it has made them.
    drop(member.take_all_orders());
    for (tier, fan) in homes.iter().zip(&mut fans) {
        assert!(refused(tier), "their room comes back with their outcomes");
        assert!(tier.desk.away().expect("it has a crew").collect(Instant::ZERO));
        let lost = Err(CallError::Disconnected);
        assert_eq!(poll(fan), Poll::Ready(vec![lost.clone(), lost]));
        assert!(!refused(tier));
    }
}

/// A thread is rung for the last of a fan's outcomes: until then all of them were kept, however long together.
#[test]
fn answers_that_wait_for_their_thread_have_no_more_bytes_than_a_fan_may_have() {
    let crew = crew(1);
    let tier = home(&crew, 0, config().answers_max(250));
    let fan = sent((0..4).fold(plan(&tier), |fan, _| fan.call(0, 1, "")));
    let (_, cargo) = crew.next(0, false).expect("it waits");
    let Cargo { calls, way_back, .. } = cargo;
    for (place, _, lent) in calls {
        let answer = Answer { status: 0, payload: vec![7; 100], sojourn: Duration::ZERO };
        way_back.tell(place, Ok(answer), lent);
    }
    let kept = std::iter::from_fn(|| way_back.home.take());
    let kept: Vec<_> = kept.map(|it| it.outcome.map(|answer| answer.payload.len())).collect();
    let too_long = Err(CallError::AnswersTooLong { most: 250 });
    assert_eq!(kept, [Ok(100), Ok(100), too_long, too_long]);
    drop(fan);
}

#[test]
fn what_was_taken_back_leaves_the_queue_and_the_rest_keeps_its_order() {
    let crew = crew(1);
    let tier = home(&crew, 0, config());
    let mut kept = Vec::new();
    for number in 0..1_000_u16 {
        let fan = sent(plan(&tier).call(0, number, ""));
        if number % 250 == 100 {
            kept.push(fan);
        }
        assert!(crew.legs.len() <= 2 * EMPTY_MAX + 1, "{} are left", crew.legs.len());
    }
    let left = std::iter::from_fn(|| crew.next(0, false));
    let left: Vec<_> = left.map(|(_, cargo)| cargo.calls[0].1.method.0).collect();
    assert_eq!(left, [100, 350, 600, 850]);
}

/// The members that a smaller crew does without: they alone may be free.
#[test]
fn a_smaller_crew_leaves_nothing_that_only_members_which_are_held_would_take() {
    let crew = crew(3);
    let tier = home(&crew, 0, config());
    let fan = |method: u16| sent(plan(&tier).call(0, method, ""));
    let _waiting: Vec<_> = (0..4).map(fan).collect();
    crew.resize(1);
    let take =
        |member, was_rung| crew.next(member, was_rung).map(|(_, cargo)| cargo.calls[0].1.method.0);
    assert_eq!([take(2, false), take(0, false)], [Some(0), Some(1)]);
    let _late = fan(4);
    assert_eq!([take(1, false), take(2, false)], [Some(2), Some(3)], "the rest of the backlog");
    assert_eq!(take(2, false), None, "what came later is for the smaller crew");
    assert_eq!(take(2, true), Some(4), "unless a member was rung for it before");
    let _last = fan(5);
    assert_eq!([take(1, false), take(0, false)], [None, Some(5)]);
    crew.resize(3);
    assert_eq!(take(2, false), None);
    let _more = fan(6);
    assert_eq!(take(2, false), Some(6));
}
