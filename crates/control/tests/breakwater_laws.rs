//! Breakwater's equations as a server's loops carry them out, each seen from outside (OSDI '20, §3.2, §4).
//! Profile `paper`, an objective of 200 µs and so a target delay of 80 µs, an update every 10 µs.

use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_control::{
    Admission, Arrival, Echo, Offer, Outcome, Reached, RequestEnd, Shard, Site, Verdict,
};
use tailwater_core::{Class, Instant, SessionId, Silent};

const SLO: Duration = Duration::from_micros(200);
const TARGET: Duration = Duration::from_micros(80);
const INTERVAL: Duration = Duration::from_micros(10);

struct Server {
    admission: Arc<dyn Admission>,
    shards: Vec<Box<dyn Shard>>,
    now: Instant,
}

impl Server {
    /// A server of so many loops whose pool is not below `pool_min`.
    fn new(loops: usize, pool_min: u32) -> Self {
        let mut spec = Spec { profile: "paper".into(), ..Spec::named("breakwater") };
        spec.overrides = vec![
            ("interval".into(), format!("{}us", INTERVAL.as_micros())),
            ("pool_min".into(), pool_min.to_string()),
        ];
        let admission = spec.build(&Site::of_loops(SLO, loops, 1)).expect("a sound spec").admission;
        let shards = (0..loops).map(|index| Arc::clone(&admission).shard(index)).collect();
        Self { admission, shards, now: Instant::ZERO + Duration::from_millis(1) }
    }

    fn pool(&self) -> u32 {
        self.admission.gauges().pool
    }

    /// Registers with a request.
    fn register(&mut self, session: SessionId) {
        self.shards[0].on_open(self.now, session, &mut Silent);
        self.request(session, &Arrival { register: true, ..Arrival::default() });
    }

    fn request(&mut self, session: SessionId, arrival: &Arrival) {
        let zero = Duration::ZERO;
        let verdict = self.shards[0].on_request(self.now, session, arrival, zero, &mut Silent);
        assert_eq!(verdict, Verdict::Admit);
        self.shards[0].on_start(self.now, session, zero, None, &mut Silent);
    }

    fn answer(&mut self, session: SessionId) -> Offer {
        let (outcome, reached) = (Outcome::Served, Reached::Handler);
        let (waited, service) = (Duration::ZERO, INTERVAL);
        let done = RequestEnd { outcome, reached, waited, service, class: Class::default() };
        self.shards[0].on_done(self.now, session, &done)
    }

    /// An interval passes, at the end of which the loops see these delays, one after the other.
    fn update(&mut self, delays: &[Duration]) {
        self.now = self.now + INTERVAL;
        for (shard, delay) in self.shards.iter_mut().zip(delays) {
            shard.on_tick(self.now, *delay, &mut Silent);
        }
    }
}

#[test]
fn free_credits_are_overcommitted_in_equal_shares_beyond_what_is_wanted() {
    // Eq. 4: N_oc = max(C_avail / n_c, 1); eq. 5: a client gets its demand and that.
    for (demand, window) in [(0, 25), (5, 30)] {
        let mut server = Server::new(1, 100);
        (0..4).map(SessionId).for_each(|session| server.register(session));
        server.shards[0].on_demand(server.now, SessionId(0), demand, 0);
        assert_eq!(server.answer(SessionId(0)).window, window, "of a demand of {demand}");
    }
}

#[test]
fn an_answer_takes_a_credit_while_more_are_out_than_the_pool_has() {
    let mut server = Server::new(1, 1);
    server.register(SessionId(0));
    (0..200).for_each(|_| server.update(&[Duration::ZERO]));
    let grown = server.answer(SessionId(0));
    assert!(grown.window > 150, "{grown:?}");
    // Eq. 2 takes half at most, of an update.
    (0..3).for_each(|_| server.update(&[100 * TARGET]));
    assert!(server.pool() < 30, "{}", server.pool());
    // However much it wants: the request spent one, eq. 6 takes another.
    let greedy = Arrival { demand: 1_000, acked: grown.seq, ..Arrival::default() };
    server.request(SessionId(0), &greedy);
    let cut = server.answer(SessionId(0));
    assert_eq!(cut.window, grown.window - 2);
}

#[test]
fn the_slowest_loop_decides_whichever_makes_the_update() {
    let mut server = Server::new(2, 1);
    server.register(SessionId(0));
    (0..100).for_each(|_| server.update(&[Duration::ZERO; 2]));
    let grown = server.pool();
    assert!(grown > 90, "{grown}");
    // The first loop, which finds nothing waiting, is the one that updates; it knows of the second's
    // delay from the interval before.
    server.shards[1].on_tick(server.now, 10 * TARGET, &mut Silent);
    (0..10).for_each(|_| server.update(&[Duration::ZERO, 10 * TARGET]));
    assert!(server.pool() < grown / 2, "{} of {grown}", server.pool());
}

#[test]
fn a_round_trip_moves_the_smoothed_one_by_an_eighth_of_the_difference() {
    let mut server = Server::new(1, 1_000);
    server.register(SessionId(0));
    let mut rtts = Vec::new();
    for rtt_us in [80, 160] {
        let seq = server.answer(SessionId(0)).seq;
        server.shards[0].on_sent(server.now, SessionId(0));
        let echo = Echo { stamp: server.now.stamp(), hold: Duration::ZERO };
        server.now = server.now + Duration::from_micros(rtt_us);
        let arrival = Arrival { echo: Some(echo), acked: seq, ..Arrival::default() };
        server.request(SessionId(0), &arrival);
        rtts.push(server.admission.gauges().rtt);
    }
    assert_eq!(rtts, [Duration::from_micros(80), Duration::from_micros(90)]);
}
