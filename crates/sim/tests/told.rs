//! What a node tells its controller of requests, as computed by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailwater_control::asqm::Policy;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{
    Admission, Arrival, Gauges, Offer, Outcome, Reached, Reason, RequestEnd, Shard, Verdict,
};
use tailwater_core::{Instant, Observer, SessionId};
use tailwater_sim::{Intended, World, simulate_with, world_of};
use tailwater_workload::Scenario;

use crate::common::{ms, us};

/// Admits everything, and notes how it ended.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<RequestEnd>>>);

impl Admission for Notes {
    fn name(&self) -> &'static str {
        "notes"
    }

    fn shard(self: Arc<Self>, _: usize) -> Box<dyn Shard> {
        Box::new(Self(Arc::clone(&self.0)))
    }

    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

impl Shard for Notes {
    fn on_request(
        &mut self,
        _: Instant,
        _: SessionId,
        _: &Arrival,
        _: Duration,
        _: &mut dyn Observer,
    ) -> Verdict {
        Verdict::Admit
    }

    fn on_done(&mut self, _: Instant, _: SessionId, done: &RequestEnd) -> Offer {
        self.0.lock().unwrap().push(*done);
        Offer::OPEN
    }
}

/// Receiving takes 2 µs, sending 3 µs, and deciding on a reject 1 µs.
const COMMON: &str = r#"
slo = "10ms"
warm_up = "1ms"
duration = "10ms"
clients.count = 2
demand.requests_per_second = 1_000
capacity.fixed_rps = 10_000
controller.name = "none"
"#;

/// The world of these lines, behind the common ones.
fn world(lines: &str) -> World {
    let scenario = Scenario::parse("x.toml", &format!("{COMMON}{lines}"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    world_of(&scenario, &scenario.configurations().remove(0), 1)
}

/// Requests of each client in turn, so long after two milliseconds, which compute for 10 µs where they have no path.
fn requests(after: &[Duration]) -> Vec<Intended> {
    let of = |(client, after): (u32, &Duration)| Intended {
        at: Instant::ZERO + ms(2) + *after,
        client,
        service: us(10),
    };
    (0..).zip(after).map(of).collect()
}

/// How those requests ended, as the front tells it.
fn ends(world: &World, after: &[Duration]) -> Vec<RequestEnd> {
    let notes = Notes::default();
    let mut build = |_: usize| -> Controller {
        let mut none = Spec::named("none").build(&world.node.site(world.slo, 1)).unwrap();
        none.admission = Arc::new(notes.clone());
        none
    };
    simulate_with(world, &mut requests(after).into_iter(), &mut build)
        .unwrap_or_else(|broken| panic!("{broken}"));
    let ends = notes.0.lock().unwrap();
    ends.clone()
}

/// Both find a core; the second finds the lock taken.
#[test]
fn the_time_in_a_handler_that_refuses_is_no_waiting() {
    let mut world = world(
        r#"
sim = { cores = 2, rtt = "20us", receive = "2us", send = "3us", shed = "1us" }
[[server.path]]
probability = 1.0
steps = [{ compute = "10us" }, { lock = "A", hold = "100us" }]
"#,
    );
    Arc::make_mut(world.node.paths.as_mut().expect("it has paths")).policy = Policy::Try;
    let ends = ends(&world, &[us(0); 2]);
    let [refused, served] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(refused.outcome, Outcome::Shed(Reason::Lock));
    assert_eq!((refused.reached, refused.waited), (Reached::Handler, us(2)));
    assert_eq!((served.outcome, served.waited), (Outcome::Served, us(2)));
}
