//! A process without descriptors: its server goes on, and its handlers' calls end by their deadlines. Alone in its
//! program, since the limit is the process's.

mod common;

use common::{Port, boxed, eventually};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::downstream::{TierConfig, tier};
use tailwater_rt::time::now;
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};

/// Says which leaf's server is not reached, and why.
const TROUBLE: u16 = 2;
/// Is answered without a call.
const DIRECT: u16 = 3;

fn controller() -> Controller {
    Spec::named("none").build(&Site::of_loops(Duration::from_secs(60), 4, 1)).unwrap()
}

/// Takes what is left, and gives it back when it is dropped.
struct Exhausted {
    _files: Vec<File>,
    before: Rlimit,
}

impl Exhausted {
    fn now() -> Self {
        let before = getrlimit(Resource::Nofile);
        let few = Rlimit { current: Some(256), maximum: before.maximum };
        setrlimit(Resource::Nofile, few).expect("a lower limit is allowed");
        let files = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        Self { _files: files, before }
    }
}

impl Drop for Exhausted {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.before).expect("it was the limit before");
    }
}

async fn middle(request: Request) -> Reply {
    let leaves = tier("leaf").expect("the tier is configured");
    match request.method.0 {
        TROUBLE => Reply::ok(leaves.trouble().unwrap_or_default().into_bytes()),
        DIRECT => Reply::ok(request.payload),
        _ => {
            let soon = now() + Duration::from_millis(20);
            match leaves.fan(&request).by(soon).call(0, 1, request.payload).await.remove(0) {
                Ok(answer) => Reply::ok(answer.payload),
                Err(CallError::Expired) => Reply::failure(1, "expired"),
                Err(other) => Reply::failure(2, &other.to_string()),
            }
        }
    }
}

fn status(client: &Client, method: u16) -> u16 {
    client.call(method, "asked").wait().expect("the middle answers").status
}

#[test]
fn a_server_without_descriptors_answers_and_calls_its_leaf_when_there_are_some_again() {
    for word in ["aib", "sib", "adb:1", "sdb:1", "aib+1", "sib+1"] {
        // Nothing listens there at first.
        let port = Port::keep();
        let address = Address::Tcp(port.address());
        let leaf = ChannelConfig {
            backoff_max: Duration::from_millis(20),
            ..ChannelConfig::new(address.clone())
        };
        let config = ServerConfig {
            model: word.parse().expect("a model"),
            crew_max: Some(1),
            tiers: vec![TierConfig::new("leaf", vec![leaf]).controller(&controller())],
            ..ServerConfig::default()
        };
        let server = Server::start(config, controller().admission, boxed(middle)).unwrap();
        let channel = ChannelConfig::new(server.address().clone());
        let client = Client::connect_with(channel, &controller()).unwrap();
        assert_eq!(status(&client, DIRECT), 0);
        let exhausted = Exhausted::now();
        eventually("attempts find no descriptor", || {
            let why = client.call(TROUBLE, "").wait().expect("the middle answers").payload;
            String::from_utf8_lossy(&why).contains("open files")
        });
        // Each has one fate, and the thread that waited is free again.
        let asked: Vec<_> = (0..20).map(|_| client.call(1, "asked")).collect();
        for call in asked {
            assert_eq!(call.wait().expect("the middle answers").status, 1, "{word}");
        }
        assert_eq!(status(&client, DIRECT), 0, "{word}");
        assert_eq!(server.failure(), None, "{word}");
        drop(exhausted);
        let config = ServerConfig { listen: address, ..ServerConfig::default() };
        let echo = |request: Request| async move { Reply::ok(request.payload) };
        let _leaf = Server::start(config, controller().admission, boxed(echo)).unwrap();
        eventually("the leaf is called", || status(&client, 1) == 0);
    }
}
