//! The application over real sockets: requests that wait for a segment are refused when their budget is
//! too small, and every answer that comes is right.

use std::process::id;
use std::time::Duration;
use tailwater_control::asqm::{Asqm, Policy};
use tailwater_control::catalog::Spec;
use tailwater_control::{Reason, Site};
use tailwater_load::Spinner;
use tailwater_load::application::{Order, Place, Whose};
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::{LockRules, Server, ServerConfig};
use tailwater_search::application::KIND;
use tailwater_search::service::BAD_REQUEST;
use tailwater_search::wire;
use tailwater_workload::{Distribution, Service, Work};

const CALLS: u32 = 40;
const WAIT: Duration = Duration::from_secs(60);

/// How many of [`CALLS`] requests at once are answered, rightly, and how many refused at a lock. Each
/// holds the only segment for 5 ms at least.
fn answered_and_refused(policy: Policy) -> (usize, usize) {
    let settings =
        [("text", "generated"), ("documents", "500"), ("segments", "1"), ("read", "5ms")];
    let said: Vec<_> =
        settings.map(|(key, value): (&str, &str)| (key.to_owned(), value.to_owned())).into();
    let name = format!("tailwater-search-{}-{}", id(), policy == Policy::Plain);
    let data = std::env::temp_dir().join(name);
    let service = Service { distribution: Distribution::Constant, mean: Duration::ZERO };
    let search = KIND.make(&said, service, (Work::Spin, false), (&[], &[]), &data);
    let search = search.expect("an application");
    search.prepare(Whose::All, &|_| Ok(())).expect("prepared");
    search.load_questions().expect("loaded");
    let rules = LockRules { policy, target: WAIT, budget: Some(Duration::from_millis(20)) };
    let locks = Some(rules);
    let place = Place { loops: 1, workers: 0, crew: 0, locks, spinner: Spinner::of_speed(1.0) };
    let router = search.router(&place).expect("it serves");
    std::fs::remove_dir_all(&data).expect("removed");
    let controller = Spec::named("none").build(&Site::one_loop(WAIT, 1)).expect("a controller");
    let config = ServerConfig { locks, ..ServerConfig::default() };
    let server = Server::start(config, controller.admission.clone(), router).expect("it starts");
    let client = ChannelConfig::new(server.address().clone());
    let client = Client::connect_with(client, &controller).expect("a client");

    let nonsense = client.call(wire::SEARCH.0, "nonsense").wait().expect("an answer");
    assert_eq!(nonsense.status, BAD_REQUEST);

    let calls: Vec<_> = (0..CALLS)
        .map(|tag| {
            let ask = search.ask(&Order { seed: tag.into(), service: Duration::ZERO, tag });
            client.call(ask.method.0, ask.payload)
        })
        .collect();
    let (mut answered, mut refused) = (0, 0);
    for (tag, call) in (0..CALLS).zip(calls) {
        match call.wait() {
            Ok(answer) => {
                assert!(search.is_answer(answer.status, &answer.payload, tag), "request {tag}");
                answered += 1;
            }
            Err(CallError::Shed(Reason::Lock)) => refused += 1,
            Err(other) => panic!("request {tag}: {other}"),
        }
    }
    let _ = server.drain(WAIT);
    (answered, refused)
}

#[test]
fn what_does_not_fit_the_budget_is_refused_at_the_segment() {
    let (answered, refused) = answered_and_refused(Policy::Asqm(Asqm::DEFAULT));
    // 40 requests of 5 ms: a budget of 20 ms is not enough for all, however slow this machine is.
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused");
}

#[test]
fn with_plain_locks_everybody_waits() {
    assert_eq!(answered_and_refused(Policy::Plain), (CALLS as usize, 0));
}
