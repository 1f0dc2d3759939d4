//! All three tiers over sockets.

use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_hdsearch::application::KIND;
use tailwater_hdsearch::frontier::{Bench, Tried};
use tailwater_hdsearch::index::ivf::{Clustered, Ivf, Training};
use tailwater_hdsearch::index::lsh::{Hashed, Lsh, Settings};
use tailwater_hdsearch::midtier::MidTier;
use tailwater_hdsearch::oracle::{ByClusters, ByHashes};
use tailwater_hdsearch::placement;
use tailwater_hdsearch::questions;
use tailwater_hdsearch::vectors::{Generator, Kind, Set};
use tailwater_hdsearch::wire::{self, Query};
use tailwater_load::Spinner;
use tailwater_load::application::{Node, Order, Place, Whose};
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::downstream::TierConfig;
use tailwater_rt::{Server, ServerConfig};
use tailwater_workload::Scenario;

fn quiet(_: usize) -> Result<(), ()> {
    Ok(())
}

fn set() -> Set {
    Set::generated(&Generator::new(Kind::Words.recipe(50), 2), 4_000, 60, quiet).expect("made")
}

/// [`Bench::measure`] asks over sockets, and fails at the first wrong answer.
#[test]
fn both_indexes_are_measured_with_every_answer_right() {
    let set = set();
    let truth = questions::truth(&set, 10, quiet).expect("found");
    let bench = Bench::new(&set, &truth, 10, 3);
    let settings = Settings { tables: 6, bits: 6, probes: 4 };
    let hashed = Hashed::new(set.points.rows(), settings, 1).expect("hashed");
    let lsh = Tried {
        name: "lsh",
        settings: settings.to_string(),
        index: Box::new(Lsh::new(&hashed, bench.placement, settings).expect("an index")),
        look_up: Box::new(ByHashes::new(set.points.rows(), &hashed, settings)),
    };
    let as_given = bench.tiers(&placement::Order::as_given(4_000)).expect("leaves");
    let lsh = bench.measure(&as_given, lsh).expect("measured");
    let clustered = Clustered::new(set.points.rows(), 50, Training::default()).expect("clustered");
    let ivf = |probes| Tried {
        name: "ivf",
        settings: String::new(),
        index: Box::new(Ivf::new(&clustered, probes).expect("an index")),
        look_up: Box::new(ByClusters::new(set.points.rows(), &clustered, probes)),
    };
    let ordered = bench.tiers(clustered.parts().1).expect("leaves");
    let some = bench.measure(&ordered, ivf(5)).expect("measured");
    let all = bench.measure(&ordered, ivf(50)).expect("measured");
    for point in [&lsh, &some] {
        assert!((0.3..1.0).contains(&point.quality.recall_10), "{point:?}");
        assert!(point.quality.candidates < 3_000.0 && point.latency_us.p50 > 0.0);
    }
    assert_eq!(
        (all.quality.recall_1, all.quality.recall_10),
        (1.0, 1.0),
        "every point was looked at"
    );
    assert_eq!(all.quality.candidates, 4_000.0);
}

#[test]
fn what_is_no_query_is_refused_in_words() {
    let set = set();
    let bench = Bench::new(&set, &[], 10, 2);
    let clustered = Clustered::new(set.points.rows(), 20, Training::default()).expect("clustered");
    let index = Ivf::new(&clustered, 2).expect("an index");
    let midtier = MidTier::new(Box::new(index), bench.placement, 50);
    let tiers = bench.tiers(clustered.parts().1).expect("leaves");
    let front = tiers.front(midtier).expect("a mid-tier");
    let short = Query { neighbours: 10, vector: vec![0.0; 49] };
    let error = front.ask(wire::request(1, &short)).expect_err("refused").to_string();
    assert_eq!(error, "found a query of 49 dimensions; those of the set, 50, are needed");
    let error = front.ask(b"nonsense".to_vec()).expect_err("refused").to_string();
    assert!(error.starts_with("found the end of the request"), "{error}");
    // A query far from every point is answered all the same.
    let far = Query { neighbours: 10, vector: vec![1e9; 50] };
    let answer = front.ask(wire::request(7, &far)).expect("answered");
    assert_eq!((answer.tag, answer.found.len()), (7, 10));
}

const SCENARIO: &str = r#"
slo = "10s"
clients.count = 1
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.application = "hdsearch"
tier = [{ name = "leaf", nodes = 3, application = true }]
"#;

/// The application as its processes use it: prepared once, each tier opens its part, and with two connections to each
/// leaf every answer is right.
#[test]
fn the_application_answers_what_it_prepared() {
    let folder =
        std::env::temp_dir().join(format!("tailwater-hdsearch-tiers-{}", std::process::id()));
    let scenario = Scenario::parse("x.toml", SCENARIO).expect("a scenario");
    let settings = [("points", "3000"), ("queries", "40"), ("bits", "7"), ("dimensions", "20")];
    let said: Vec<_> = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let (server, tiers) = (&scenario.server, &scenario.tiers[..]);
    let of = (&server.paths[..], tiers);
    let made = KIND.make(&said, server.service.clone(), (server.work, false), of, &folder);
    let application = made.expect("an application");
    application.prepare(Whose::All, &|_| Ok(())).expect("prepared");
    application.load_questions().expect("loaded");

    let controller =
        Spec::named("none").build(&Site::one_loop(Duration::from_secs(10), 1)).expect("built");
    let place =
        Place { loops: 1, workers: 0, crew: 0, locks: None, spinner: Spinner::of_speed(1.0) };
    let admission = || controller.admission.clone();
    let leaf = |number| {
        let router = application.node(Node { tier: "leaf", number }, &place).expect("a leaf");
        Server::start(ServerConfig::default(), admission(), router).expect("it starts")
    };
    let leaves: Vec<Server> = (0..3).map(leaf).collect();
    let twice = leaves.iter().flat_map(|leaf| [leaf, leaf]);
    let channels = twice.map(|leaf| ChannelConfig::new(leaf.address().clone())).collect();
    let tier = TierConfig::new("leaf", channels).controller(&controller);
    let config = ServerConfig { tiers: vec![tier], ..ServerConfig::default() };
    let router = application.router(&place).expect("a mid-tier");
    let front = Server::start(config, admission(), router).expect("it starts");
    let client = ChannelConfig::new(front.address().clone());
    let client = Client::connect_with(client, &controller).expect("a client");
    for tag in 0..100 {
        let ask = application.ask(&Order { seed: tag.into(), service: Duration::ZERO, tag });
        let answer = client.call(ask.method.0, ask.payload).wait().expect("answered");
        assert!(application.is_answer(answer.status, &answer.payload, tag), "request {tag}");
        assert!(!application.is_answer(answer.status, &answer.payload, tag + 1));
    }
    std::fs::remove_dir_all(folder).expect("removed");
}
