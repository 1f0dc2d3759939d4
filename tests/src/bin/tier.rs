//! `leaf TRACE`, or `front TRACE ADDRESS…`: a server that records itself, and tells its address. It ends with its
//! standard input.
//!
//! A leaf sleeps for as many milliseconds as its argument says at its place; a front asks all leaves.

#![forbid(unsafe_code)]

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;
use tailwater_profile_rt::control::{record_to, stop};
use tailwater_rt::client::ChannelConfig;
use tailwater_rt::downstream::{TierConfig, tier};
use tailwater_rt::{Reply, Request, Server, ServerConfig};
use tailwater_tests::controller;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [role, trace, leaves @ ..] = &args[..] else {
        panic!("leaf TRACE, or front TRACE ADDRESS…")
    };
    record_to(Path::new(trace)).expect("a recording");
    let server = match role.as_str() {
        "leaf" => leaf(),
        "front" => front(leaves),
        other => panic!("{other} is neither leaf nor front"),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", server.address()).and_then(|()| out.flush()).expect("a reader");
    let _ = std::io::stdin().read(&mut [0]);
    drop(server);
    stop().expect("the trace is written");
}

fn leaf() -> Server {
    let service = |request: Request| async move {
        // It holds its thread, as a slow computation would.
        std::thread::sleep(Duration::from_millis(request.payload[0].into()));
        Reply::ok(Vec::new())
    };
    start(ServerConfig::default(), service)
}

fn front(leaves: &[String]) -> Server {
    let leaf = |address: &String| ChannelConfig::new(address.parse().expect("an address"));
    let tier_of = TierConfig::new("leaf", leaves.iter().map(leaf).collect());
    let config = ServerConfig {
        tiers: vec![tier_of.controller(&controller("none", &[]))],
        ..ServerConfig::default()
    };
    start(config, |request: Request| async move {
        let mut fan = tier("leaf").expect("it is configured").fan(&request);
        for (shard, ms) in request.payload.iter().enumerate() {
            fan = fan.call(shard, 1, vec![*ms]);
        }
        let outcomes = fan.await;
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        Reply::ok(Vec::new())
    })
}

fn start<S>(config: ServerConfig, service: S) -> Server
where
    S: tailwater_rt::Service<Future: Future<Output = Reply>>,
{
    Server::start(config, controller("none", &[]).admission, service).expect("a server")
}
