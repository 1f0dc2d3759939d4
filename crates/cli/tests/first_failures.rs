//! What both drivers count as the failure of a request where it went first: one table for the generator and the simulator.

use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::retry::First;
use tailwater_control::{Reason, RetryConfig, Site};
use tailwater_core::Instant;
use tailwater_load::work::ECHO;
use tailwater_load::{Fleet, ThreadClients};
use tailwater_rt::client::{Caller, End, NewCall};
use tailwater_rt::time::now;
use tailwater_rt::{Reply, Request, Server, ServerConfig};
use tailwater_sim::run;
use tailwater_workload::Scenario;

/// What the first of two replicas does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Answers,
    Refuses,
    /// It goes away with what it has.
    Loses,
}

/// Whether that is a failure at the first replica.
const TABLE: [(Does, bool); 3] =
    [(Does::Answers, false), (Does::Refuses, true), (Does::Loses, true)];

/// After this long a test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn none() -> Controller {
    Spec::named("none").build(&Site::one_loop(PATIENCE, 1)).expect("it is known")
}

fn server(does: Does) -> Server {
    let service = move |request: Request| async move {
        match does {
            Does::Answers => Reply::ok(request.payload),
            Does::Refuses => Reply::Shed(Reason::Lock),
            Does::Loses => std::future::pending().await,
        }
    };
    Server::start(ServerConfig::default(), none().admission, service).expect("it starts")
}

fn call(time: Instant) -> NewCall {
    NewCall {
        method: ECHO,
        payload: "hello".into(),
        deadline: Some(time + PATIENCE),
        priority: 128,
        tenant: 0,
        caller: Caller::NONE,
    }
}

/// Of one request on sockets.
fn by_generator(does: Does) -> bool {
    let (first, second) = (server(does), server(Does::Answers));
    let addresses = [first.address().clone(), second.address().clone()];
    let retry = RetryConfig { first: First::Primary, ..RetryConfig::default() };
    let whose = ThreadClients::all(1);
    let mut fleet = Fleet::connect_to((&addresses, retry), whose, &none(), &[]).expect("a fleet");
    let began = now();
    fleet.submit(0, began, 0, call(began));
    let mut first = Some(first);
    let end = loop {
        assert!(now().since(began) < PATIENCE, "{does:?}: it has not ended");
        fleet.turn(Duration::from_millis(10));
        if let Some((_, event)) = fleet.poll_event() {
            break event.end;
        }
        drop(first.take_if(|server| does == Does::Loses && server.remaining().unanswered > 0));
    };
    assert_eq!(end == End::Lost, does == Does::Loses, "{end:?}");
    fleet.retried().expect("there are replicas").report().failure_p99_us > 0.0
}

/// Of many in simulation, more than the first can do.
const TEXT: &str = r#"
slo = "SLO"
warm_up = "10ms"
duration = "100ms"
repetitions = 1
server.service = { distribution = "constant", mean = "100us" }
server.replicas = 2
server.enforce_deadlines = true
clients.count = 10
clients.retry = { tries = 2, first = "primary" }
demand.requests_per_second = DEMAND
capacity.fixed_rps = 20_000
sim = { cores = 1, rtt = "30us" }
controller = [{ name = "none" }]
"#;

const RESTART: &str =
    "[[fault]]\nkind = \"server-restart\"\nnode = 1\nat = \"50ms\"\nfor = \"20ms\"\n";

fn by_simulator(does: Does) -> bool {
    // A short objective refuses what waits; with a long one only the fault ends requests.
    let (slo, demand, fault) = match does {
        Does::Answers => ("50ms", "1000", ""),
        Does::Refuses => ("2ms", "30000", ""),
        Does::Loses => ("50ms", "12000", RESTART),
    };
    let text = TEXT.replace("SLO", slo).replace("DEMAND", demand) + fault;
    let scenario = Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let experiment = run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let run = &experiment.runs[0];
    assert_eq!(run.fates.lost > 0, does == Does::Loses, "{does:?}: {:?}", run.fates);
    assert_eq!(run.fates.shed > 0, does == Does::Refuses, "{does:?}: {:?}", run.fates);
    run.retry.expect("there are replicas").failure_p99_us > 0.0
}

/// Requests that were lost failed in the generator alone.
#[test]
fn both_drivers_count_the_same_as_the_failure_of_a_first_try() {
    for (does, fails) in TABLE {
        assert_eq!(by_generator(does), fails, "generator: {does:?}");
        assert_eq!(by_simulator(does), fails, "simulator: {does:?}");
    }
}
