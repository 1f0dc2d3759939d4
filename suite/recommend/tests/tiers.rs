//! All three tiers over sockets, by the application as its processes use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_load::Application;
use tailwater_load::Spinner;
use tailwater_load::application::{BadSetting, Node, Order, Place, Whose};
use tailwater_recommend::application::KIND;
use tailwater_recommend::model::Query;
use tailwater_recommend::wire::{self, BAD_REQUEST, PREDICT};
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::downstream::TierConfig;
use tailwater_rt::{Server, ServerConfig};
use tailwater_stats::result::DataUsed;
use tailwater_workload::Scenario;

const SCENARIO: &str = r#"
slo = "10s"
clients.count = 1
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.application = "recommend"
tier = [{ name = "leaf", nodes = LEAVES, application = true }]
"#;

/// A folder of the test's own, gone when it ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("tailwater-recommend-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn made(
        &self,
        leaves: u32,
        settings: &[(&str, &str)],
    ) -> Result<Arc<dyn Application>, BadSetting> {
        let small = [("ratings", "3000"), ("queries", "200"), ("rank", "6"), ("sweeps", "4")];
        made(&self.0, leaves, &[&small[..], settings].concat())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn made(
    data: &Path,
    leaves: u32,
    settings: &[(&str, &str)],
) -> Result<Arc<dyn Application>, BadSetting> {
    let text = SCENARIO.replace("LEAVES", &leaves.to_string());
    let scenario = Scenario::parse("x.toml", &text).expect("a scenario");
    let said: Vec<_> =
        settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let server = &scenario.server;
    let of = (&server.paths[..], &scenario.tiers[..]);
    KIND.make(&said, server.service.clone(), (server.work, false), of, data)
}

fn controller() -> Controller {
    Spec::named("none").build(&Site::one_loop(Duration::from_secs(10), 1)).expect("built")
}

/// Mid-tier and leaves, with two connections to each leaf.
struct Tiers {
    _leaves: Vec<Server>,
    _front: Server,
    client: Client,
}

impl Tiers {
    fn start(application: &dyn Application, leaves: u32) -> Self {
        let (controller, place) = (controller(), place());
        let admission = || controller.admission.clone();
        let leaf = |number| {
            let router = application.node(Node { tier: "leaf", number }, &place).expect("a leaf");
            Server::start(ServerConfig::default(), admission(), router).expect("it starts")
        };
        let leaves: Vec<Server> = (0..leaves).map(leaf).collect();
        let twice = leaves.iter().flat_map(|leaf| [leaf, leaf]);
        let channels = twice.map(|leaf| ChannelConfig::new(leaf.address().clone())).collect();
        let tier = TierConfig::new("leaf", channels).controller(&controller);
        let config = ServerConfig { tiers: vec![tier], ..ServerConfig::default() };
        let router = application.router(&place).expect("a mid-tier");
        let front = Server::start(config, admission(), router).expect("it starts");
        let client = ChannelConfig::new(front.address().clone());
        let client = Client::connect_with(client, &controller).expect("a client");
        Self { _leaves: leaves, _front: front, client }
    }
}

fn place() -> Place {
    Place { loops: 1, workers: 0, crew: 0, locks: None, spinner: Spinner::of_speed(1.0) }
}

fn quiet(_: &str) -> Result<(), String> {
    Ok(())
}

#[test]
fn every_answer_is_right_by_users_and_by_lines() {
    let scratch = Scratch::new("answers");
    for settings in
        [&[][..], &[("among", "everyone")], &[("sharding", "lines"), ("among", "everyone")]]
    {
        let application = scratch.made(3, settings).expect("made");
        application.prepare(Whose::All, &quiet).expect("prepared");
        application.load_questions().expect("loaded");
        let tiers = Tiers::start(&*application, 3);
        for tag in 0..200 {
            let ask = application.ask(&Order { seed: tag.into(), service: Duration::ZERO, tag });
            let answer = tiers.client.call(ask.method.0, ask.payload).wait().expect("answered");
            assert!(
                application.is_answer(answer.status, &answer.payload, tag),
                "{settings:?} {tag}"
            );
            assert!(!application.is_answer(answer.status, &answer.payload, tag + 1));
            assert!(!application.is_answer(1, &answer.payload, tag));
            let mut other = answer.payload.clone();
            *other.last_mut().expect("bytes") ^= 1;
            assert!(!application.is_answer(0, &other, tag), "another rating");
        }
    }
}

#[test]
fn what_is_no_query_is_refused_in_words() {
    let scratch = Scratch::new("words");
    let application = scratch.made(2, &[]).expect("made");
    application.prepare(Whose::All, &quiet).expect("prepared");
    let tiers = Tiers::start(&*application, 2);
    let said = |payload: Vec<u8>| {
        let answer = tiers.client.call(PREDICT.0, payload).wait().expect("an answer");
        assert_eq!(answer.status, BAD_REQUEST);
        String::from_utf8_lossy(&answer.payload).into_owned()
    };
    assert!(said(b"nonsense".to_vec()).contains("8 bytes; 16 are needed"));
    let stranger = wire::request(1, Query { user: 1 << 30, item: 0 });
    assert!(said(stranger).contains("users that are known is needed"));
}

#[test]
fn what_is_prepared_once_is_used_again_and_says_how_good_it_is() {
    let scratch = Scratch::new("again");
    let prepare = |leaves, more: &[(&str, &str)]| -> (Vec<DataUsed>, Vec<String>) {
        let application = scratch.made(leaves, more).expect("made");
        let said = std::cell::RefCell::new(Vec::new());
        let tell = |what: &str| {
            said.borrow_mut().push(what.split(',').next().unwrap_or_default().to_owned());
            Ok(())
        };
        let used = application.prepare(Whose::All, &tell).expect("prepared");
        (used, said.into_inner())
    };
    let (used, said) = prepare(3, &[]);
    assert_eq!(used.len(), 3);
    assert!(used[2].about.contains("RMSE ") && used[2].about.contains("biases alone"), "{used:?}");
    assert!(said.contains(&"learning".to_owned()));
    let (again, said) = prepare(3, &[]);
    assert_eq!((&again, &said[..]), (&used, &["looking at the data".to_owned()][..]));
    // Other leaves need nothing learnt again, and have the same answers.
    let (other, said) = prepare(5, &[]);
    assert_eq!((&other[0], &other[2]), (&used[0], &used[2]));
    assert_ne!(other[1].name, used[1].name);
    assert!(!said.contains(&"learning".to_owned()));
    // By line everything depends on the leaves.
    let (lines, _) = prepare(3, &[("sharding", "lines")]);
    assert!(lines[0].about.contains("in each of 3 slices"), "{}", lines[0].about);
    assert_ne!(lines[2].sha256, used[2].sha256);
}

/// By hand each process has its own data prepared.
#[test]
fn no_process_prepares_more_than_it_needs() {
    let scratch = Scratch::new("whose");
    let application = scratch.made(3, &[]).expect("made");
    for whose in [Whose::Tier("leaf"), Whose::Front] {
        let tell = |what: &str| match what.starts_with("finding the answers") {
            true => Err("no process of this kind has answers".to_owned()),
            false => Ok(()),
        };
        let used = application.prepare(whose, &tell).expect("prepared");
        assert!(used.iter().any(|used| used.name.ends_with("-3leaves")), "{used:?}");
    }
    assert!(application.load_questions().is_err());
    let place = place();
    assert!(application.router(&place).is_ok());
    assert!(application.node(Node { tier: "leaf", number: 2 }, &place).is_ok());
}

#[test]
fn a_preparation_that_is_stopped_leaves_no_file() {
    let scratch = Scratch::new("stopped");
    let application = scratch.made(3, &[]).expect("made");
    let stop = |what: &str| match what.starts_with("learning") {
        true => Err("stopped".to_owned()),
        false => Ok(()),
    };
    assert_eq!(application.prepare(Whose::All, &stop), Err("stopped".into()));
    assert!(!scratch.0.exists());
}

#[test]
fn fewer_users_than_leaves_and_broken_files_are_named() {
    let scratch = Scratch::new("few");
    std::fs::create_dir_all(&scratch.0).expect("a folder");
    let file = scratch.0.join("ratings.csv");
    let text = "user,item,rating\na,x,4\na,y,3\nb,x,2\nb,z,5\n";
    std::fs::write(&file, text).expect("written");
    let path = file.to_str().expect("text").to_owned();
    let prepare = |leaves, sharding: &str| {
        let settings = [("ratings", &path[..]), ("queries", "2"), ("sharding", sharding)];
        let application = made(&scratch.0, leaves, &settings).expect("made");
        application.prepare(Whose::All, &quiet)
    };
    let used = prepare(2, "users").expect("as many users as leaves");
    assert!(used[0].about.starts_with("4 ratings of 3 items by 2 users"), "{}", used[0].about);
    assert_eq!(used[0].licence, "the file's own, which tailwater does not know");
    let error = prepare(3, "users").expect_err("too few");
    assert!(error.contains("found 2 users for 3 leaves"), "{error}");
    let error = prepare(9, "lines").expect_err("too few");
    assert!(error.contains("ratings to learn from for 9 leaves"), "{error}");
    std::fs::write(&file, format!("{text}a,x,4\n")).expect("written");
    let error = prepare(2, "users").expect_err("twice");
    assert!(error.contains("ratings.csv: line 6: user a has rated item x before"), "{error}");
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let error = |leaves, settings: &[(&str, &str)]| {
        made(Path::new("/nowhere"), leaves, settings).map(drop).expect_err("refused").to_string()
    };
    assert!(error(3, &[("ratings", "999")]).contains("a number from 1000 to 10000000"));
    assert!(error(3, &[("sharding", "items")]).contains("one of users, lines"));
    assert!(error(3, &[("rank", "129")]).contains("a number from 1 to 128"));
    assert!(error(3, &[("regularisation", "nan")]).contains("a number from 0.001 to 1000"));
    let application = made(Path::new("/nowhere"), 3, &[]).expect("it reads nothing");
    let error = application.load_questions().expect_err("nothing is there");
    assert!(error.contains("found no prepared data in /nowhere/recommend/"), "{error}");
    let missing = made(Path::new("/nowhere"), 3, &[("ratings", "/no/such.csv")]).expect("made");
    assert!(missing.prepare(Whose::All, &quiet).expect_err("not there").contains("/no/such.csv"));
}
