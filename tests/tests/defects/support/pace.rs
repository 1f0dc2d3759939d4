//! Steps that take a while: a peer that is slow by design makes one between two of its acts.

use super::PATIENT;
use std::time::Duration;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::{Reply, Server, ServerConfig};
use tailwater_tests::controller;

/// A server of naps of its own, so that the server under test is left alone.
pub(crate) struct Pace {
    client: Client,
    _server: Server,
}

impl Pace {
    /// Each step takes so long, or longer on a busy machine.
    pub(crate) fn of(nap: Duration) -> Self {
        let none = controller("none", &[]);
        let naps = move |_| async move {
            tailwater_rt::time::sleep(nap).await;
            Reply::ok(Vec::new())
        };
        let server = Server::start(ServerConfig::default(), none.admission.clone(), naps);
        let server = server.expect("a server of naps starts");
        let config = ChannelConfig::new(server.address().clone());
        let client = Client::connect_with(config, &none).expect("a client starts");
        Self { client, _server: server }
    }

    /// Makes a step.
    pub(crate) fn step(&self) {
        let answer = self.client.call_with(1, "", PATIENT).wait();
        assert!(answer.is_ok(), "a nap ended in {answer:?}");
    }
}
