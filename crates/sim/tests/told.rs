//! What a node tells its controller of requests, as computed by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailwater_control::asqm::Policy;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{
    Admission, Arrival, Gauges, Offer, Outcome, Reached, Reason, RequestEnd, Shard, Verdict,
};
use tailwater_core::{Instant, Observer, Ratio, SessionId};
use tailwater_sim::{
    Chosen, Fault, FaultKind, Intended, NodeSpec, Struck, World, simulate_with, world_of,
};
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;

use crate::common::{ms, us};

/// What a controller was told.
#[derive(Clone, Default)]
struct Told {
    /// What each request had waited unseen, and the delay at its loop then.
    judged: Vec<(Duration, Duration)>,
    ends: Vec<RequestEnd>,
}

/// Admits everything, and notes what it is told.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Told>>);

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
        arrival: &Arrival,
        delay: Duration,
        _: &mut dyn Observer,
    ) -> Verdict {
        self.0.lock().unwrap().judged.push((arrival.hidden, delay));
        Verdict::Admit
    }

    fn on_done(&mut self, _: Instant, _: SessionId, done: &RequestEnd) -> Offer {
        self.0.lock().unwrap().ends.push(*done);
        Offer::OPEN
    }
}

/// Receiving takes 2 µs, sending 3 µs, and deciding on a reject 1 µs.
const COMMON: &str = r#"
slo = "10ms"
warm_up = "1ms"
duration = "10ms"
clients.count = 3
demand.requests_per_second = 1_000
capacity.fixed_rps = 10_000
controller.name = "none"
sim.cores = 2
sim.rtt = "20us"
sim.receive = "2us"
sim.send = "3us"
sim.shed = "1us"
"#;

const SERVICE: &str = "server.service = { distribution = \"constant\", mean = \"10us\" }";

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
    (0..3).cycle().zip(after).map(of).collect()
}

/// Of the server, for 100 µs.
fn fault(at: Duration, kind: FaultKind) -> Fault {
    let (clients, nodes) = (Chosen::Share(Ratio(1.0)), Struck::default());
    Fault { at, length: us(100), clients, nodes, way: None, kind }
}

/// How those requests ended, as the front tells it.
fn ends(world: &World, after: &[Duration]) -> Vec<RequestEnd> {
    told(world, after).ends
}

/// What the front tells of those requests.
fn told(world: &World, after: &[Duration]) -> Told {
    played(world, after).1
}

/// The run of those requests, and what the front tells of them.
fn played(world: &World, after: &[Duration]) -> (Run, Told) {
    let notes = Notes::default();
    let mut build = |_: usize| -> Controller {
        let mut none = Spec::named("none").build(&world.node.site(world.slo, 1)).unwrap();
        none.admission = Arc::new(notes.clone());
        none
    };
    let (run, _) = simulate_with(world, &mut requests(after).into_iter(), &mut build)
        .unwrap_or_else(|broken| panic!("{broken}"));
    let told = notes.0.lock().unwrap().clone();
    (run, told)
}

/// Both find a core; the second finds the lock taken.
#[test]
fn the_time_in_a_handler_that_refuses_is_no_waiting() {
    let mut world = world(
        r#"
[[server.path]]
probability = 1.0
steps = [{ compute = "10us" }, { lock = "A", hold = "100us" }]
"#,
    );
    Arc::make_mut(world.node.paths.as_mut().expect("it has paths")).policy = Policy::Try;
    let ends = ends(&world, &[us(0); 2]);
    let [refused, served] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(refused.outcome, Outcome::Shed(Reason::Lock));
    assert_eq!(refused.reached, Reached::Handler);
    assert_eq!((refused.waited, refused.service), (us(2), us(10)));
    assert_eq!((served.outcome, served.waited), (Outcome::Served, us(2)));
    assert_eq!(served.service, us(110), "without the time that its answer takes");
}

/// The request arrives after 10 µs, its handler begins after 12 µs, and its answer is sent from 22 µs to 25 µs.
#[test]
fn service_is_what_the_core_took_for_the_handler() {
    let path = "[[server.path]]\nprobability = 1.0\nsteps = [{ compute = \"10us\" }]";
    for lines in [SERVICE, path] {
        for (after, kind, waited, service) in [
            (15, FaultKind::ServerPause, us(2), us(110)),
            (23, FaultKind::ServerPause, us(2), us(10)),
            (0, FaultKind::ServerSlow { speed: 0.5 }, us(4), us(20)),
        ] {
            let faults = vec![fault(ms(2) + us(after), kind)];
            let ends = ends(&World { faults, ..world(lines) }, &[us(0)]);
            let [done] = &ends[..] else { panic!("{ends:?}") };
            assert_eq!((done.waited, done.service), (waited, service), "{lines}: {kind:?}");
        }
    }
}

/// What a request waited is known when it is refused: to send the reject is no part of it.
#[test]
fn a_request_that_is_refused_before_its_handler_has_waited_until_then() {
    let world = world(SERVICE);
    let full = World { node: NodeSpec { queue_max: 0, ..world.node.clone() }, ..world };
    let ends = ends(&full, &[us(0)]);
    let [done] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!((done.outcome, done.reached), (Outcome::Shed(Reason::QueueFull), Reached::Queue));
    assert_eq!((done.waited, done.service), (us(2), us(0)));
}

/// The only core is busy with the first until 15 µs after its arrival. The others come 5 µs and 6 µs after it and are parsed one
/// behind the other, each for 2 µs.
#[test]
fn a_request_is_judged_by_what_it_waited_unseen_where_that_is_longer_than_the_delay() {
    let mut world = world(SERVICE);
    world.node.cores = 1;
    let told = told(&world, &[us(0), us(5), us(6)]);
    let judged = [(us(2), us(2)), (us(12), us(12)), (us(13), us(13))];
    assert_eq!(told.judged, judged);
}

/// Of the first three the second runs when the server stops for 100 µs, and the third waits behind it. The fourth comes meanwhile.
#[test]
fn behind_a_handler_that_stood_still_the_loop_first_looks_at_what_has_come() {
    let mut world = world(SERVICE);
    (world.node.cores, world.faults) = (1, vec![fault(ms(2) + us(30), FaultKind::ServerPause)]);
    let told = told(&world, &[us(0), us(1), us(2), us(40)]);
    let unseen: Vec<Duration> = told.judged.iter().map(|(hidden, _)| *hidden).collect();
    // The fourth arrives at 50 µs. The second is answered after 42 µs and the pause.
    assert_eq!(unseen, [us(2), us(16), us(17), us(142 + 2 - 50)]);
}

/// The server restarts, and its three clients connect again before one of them asks for something.
#[test]
fn a_welcome_costs_what_other_messages_cost() {
    let faults = vec![fault(ms(2), FaultKind::ServerRestart)];
    let (run, _) = played(&World { faults, ..world(SERVICE) }, &[ms(8)]);
    let server = run.server;
    let found = (server.rx_per_request, server.tx_per_request, server.cpu_ns_per_request);
    // Three connections and a request are received, three WELCOMEs and an answer are sent.
    let wanted = (4.0, 4.0, 4.0 * 2_000.0 + 4.0 * 3_000.0 + 10_000.0);
    assert_eq!(found, wanted);
}

/// The first request takes 100 µs of the only worker, which is handed the second meanwhile. Its deadline, 120 µs behind its arrival,
/// passes before it can begin.
#[test]
fn a_worker_begins_nothing_that_is_late_and_tells_of_its_own_time() {
    let mut world = world(
        "server.model = \"adb:1\"\n\
         server.service = { distribution = \"constant\", mean = \"100us\" }",
    );
    (world.slo, world.node.enforce_deadlines) = (us(120), true);
    let ends = ends(&world, &[us(0), us(10)]);
    let [served, late] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!((served.outcome, served.service), (Outcome::Served, us(100)));
    // The loop wakes, parses both and wakes the worker.
    assert_eq!(served.waited, us(26 + 2 * 2 + 10 + 26));
    assert_eq!((late.outcome, late.reached), (Outcome::Shed(Reason::Deadline), Reached::Start));
    assert_eq!(late.service, us(0));
    assert!(late.waited > us(120), "{late:?}");
}
