//! Round trips: a client's false echoes move nobody's but its own (found by an adversary: sixty echoes of
//! one stamp set the round trip of all to 901 ms, and 43 of a good client's next 400 calls were refused).

use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{Arrival, Echo, Outcome, Reached, RequestEnd, Shard, Site, Verdict};
use tailwater_core::{Class, Instant, SessionId, Silent, Stamp};

const SLO: Duration = Duration::from_millis(2);
const RTT: Duration = Duration::from_micros(26);
const LIAR: SessionId = SessionId(0);
const HONEST: u32 = 4;

fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

struct World {
    now: Instant,
    controller: Controller,
    shard: Box<dyn Shard>,
    /// What each session was sent last.
    stamps: Vec<Stamp>,
}

impl World {
    fn new(profile: &str) -> Self {
        let spec = Spec { profile: profile.into(), ..Spec::named("breakwater") };
        let controller = spec.build(&Site::one_loop(SLO, 1)).expect("a sound spec");
        let mut shard = Arc::clone(&controller.admission).shard(0);
        let now = Instant::from_nanos(5_000_000_000);
        for id in 0..=HONEST {
            shard.on_open(now, SessionId(id), &mut Silent);
            shard.on_sent(now, SessionId(id));
        }
        let stamps = vec![now.stamp(); HONEST as usize + 1];
        Self { now, controller, shard, stamps }
    }

    /// A call with this echo, served at once.
    fn call(&mut self, id: SessionId, echo: Echo, time_left: Option<Duration>) -> Verdict {
        let arrival = Arrival { register: true, echo: Some(echo), time_left, ..Arrival::default() };
        let verdict = self.shard.on_request(self.now, id, &arrival, Duration::ZERO, &mut Silent);
        let (outcome, reached) = match verdict {
            Verdict::Admit => {
                self.shard.on_start(self.now, id, Duration::ZERO, time_left, &mut Silent);
                (Outcome::Served, Reached::Handler)
            }
            Verdict::Shed(why) | Verdict::Close(why) => (Outcome::Shed(why), Reached::Arrival),
        };
        let done = RequestEnd {
            outcome,
            reached,
            waited: Duration::ZERO,
            service: us(10),
            class: Class::default(),
        };
        self.shard.on_done(self.now, id, &done);
        self.shard.on_sent(self.now, id);
        self.stamps[id.index()] = self.now.stamp();
        self.shard.on_tick(self.now, Duration::ZERO, &mut Silent);
        while self.shard.poll_wish(self.now, &mut Silent).is_some() {}
        verdict
    }

    /// An honest client's call, after it held the stamp for all but the round trip.
    fn honest(&mut self, id: u32, time_left: Option<Duration>) -> Verdict {
        self.now = self.now + us(1_000);
        let stamp = self.stamps[id as usize];
        let elapsed = Duration::from_nanos(self.now.stamp().nanos_since(stamp).into());
        let hold = elapsed.saturating_sub(RTT);
        self.call(SessionId(id), Echo { stamp, hold }, time_left)
    }

    fn rtt(&self) -> Duration {
        self.controller.admission.gauges().rtt
    }
}

/// Sixty echoes of the welcome's stamp, which is 0.9 s old by then: the first is believed to be slow.
#[test]
fn one_stamp_counts_once() {
    for profile in ["paper", "artifact", "default"] {
        let mut world = World::new(profile);
        for _ in 0..100 {
            world.honest(1, None);
        }
        assert!(world.rtt() < us(30), "{profile}: {:?}", world.rtt());
        let welcome = world.stamps[LIAR.index()];
        world.now = world.now + Duration::from_millis(800);
        let before = world.rtt();
        for _ in 0..60 {
            world.now = world.now + us(10);
            world.call(LIAR, Echo { stamp: welcome, hold: Duration::ZERO }, None);
        }
        let once = before + Duration::from_secs(1) / 8;
        assert!(world.rtt() <= once, "{profile}: {:?} after sixty echoes of one", world.rtt());
    }
}

#[test]
fn a_stamp_that_was_never_sent_counts_for_nothing() {
    for profile in ["paper", "artifact", "default"] {
        let mut world = World::new(profile);
        for _ in 0..100 {
            world.honest(1, None);
            let made_up = Stamp(world.now.stamp().0.wrapping_sub(900_000_000));
            world.call(LIAR, Echo { stamp: made_up, hold: Duration::ZERO }, None);
        }
        assert!(world.rtt() < us(30), "{profile}: {:?}", world.rtt());
    }
}

/// The liar has a new stamp with every answer and says of each that it took all its time on the way.
#[test]
fn one_client_that_lies_with_every_request_moves_nobody() {
    let mut world = World::new("default");
    for round in 0..400 {
        for id in 1..=HONEST {
            let tight = Some(us(500));
            let verdict = world.honest(id, tight);
            assert_eq!(verdict, Verdict::Admit, "round {round}: refused for another's round trip");
        }
        for _ in 0..10 {
            world.now = world.now + us(700);
            let stamp = world.stamps[LIAR.index()];
            world.call(LIAR, Echo { stamp, hold: Duration::ZERO }, None);
        }
        assert!(world.rtt() < us(30), "round {round}: {:?}", world.rtt());
    }
}
