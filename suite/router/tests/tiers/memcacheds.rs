//! The mid-tier over memcacheds: servers of ours that speak memcached's protocol, some of which are lost.

use super::*;
use crate::common::{Gate, Wire, anywhere, node};
use std::net::SocketAddr;
use tailwater_core::pace::Pace;
use tailwater_keyvalue::memcached::TcpServer;
use tailwater_load::Fleet;
use tailwater_load::compare::{Compared, compare};
use tailwater_router::tiers::wire::EACH;

const OVER_MEMCACHEDS: &str = r#"
slo = "10s"
clients.count = 1
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.application = "router"
tier = [{ name = "leaf", nodes = 4, application = true, command = "memcached -p {port}" }]
"#;

pub(super) fn over_memcacheds(more: &[(&str, &str)]) -> Arc<dyn Application> {
    let settings = [("leaf", "memcached"), ("keys", "40"), ("sets", "40"), ("silence", "60s")];
    made_of(OVER_MEMCACHEDS, &[&settings[..], more].concat()).expect("made")
}

/// A mid-tier over memcacheds at these addresses.
fn before(application: &dyn Application, nodes: &[SocketAddr]) -> Tiers {
    let nodes: Vec<Address> = nodes.iter().copied().map(Address::Tcp).collect();
    let router = application.router_over(&place(), &nodes).expect("a mid-tier");
    let controller = controller();
    let front = Server::start(ServerConfig::default(), controller.admission.clone(), router);
    let front = front.expect("it starts");
    let client = ChannelConfig::new(front.address().clone());
    let client = Client::connect_with(client, &controller).expect("a client");
    Tiers { leaves: Vec::new(), front, client }
}

pub(super) fn nodes() -> Vec<TcpServer> {
    (0..LEAVES).map(|_| node(anywhere())).collect()
}

pub(super) fn addresses(nodes: &[TcpServer]) -> Vec<SocketAddr> {
    nodes.iter().map(TcpServer::address).collect()
}

/// Each memcached has the keys that are placed there with what they hold before the first set, and no other.
pub(super) fn each_has_its_own(nodes: &[TcpServer]) {
    for (number, node) in (0_u16..).zip(nodes) {
        let mut wire = Wire::to(node.address());
        for key in 0..KEYS {
            let name = format!("key-{key}");
            let is_placed = placement().of(&key_of(key)).nodes().contains(&number);
            let found = wire.get(&name).expect("an answer");
            assert_eq!(found, is_placed.then(|| preloaded(key)), "{name} at {number}");
        }
    }
}

fn compared(tiers: &Tiers, application: &dyn Application) -> Compared {
    let mut fleet =
        Fleet::connect(tiers.front.address(), 2, &controller(), &[]).expect("connected");
    compare(&mut fleet, Pace::Sleep, application)
}

#[test]
fn every_answer_of_memcacheds_is_right_and_all_replicas_hold_the_same() {
    for placement in ["modulo", "jump", "rendezvous", "ring"] {
        let nodes = nodes();
        let application = over_memcacheds(&[("placement", placement)]);
        let tiers = before(&*application, &addresses(&nodes));
        assert_eq!(tiers.ask(&*application, 0..600), 600, "{placement}");
        let found = compared(&tiers, &*application);
        assert!(found.keys > 20, "{found:?}");
        assert_eq!(found, Compared { keys: found.keys, ..Compared::default() }, "{placement}");
        let ReplicaCounts { lost, returned, gets } = application.replicas();
        assert_eq!((lost, returned, gets.len()), (0, 0, 3), "{placement}");
        assert!(gets.iter().all(|count| *count > 0), "{placement}: {gets:?}");
    }
}

/// By the placement that the stores have, too.
#[test]
fn each_key_is_stored_at_its_replicas_before_anything_is_asked() {
    let nodes = nodes();
    let application = over_memcacheds(&[]);
    let _tiers = before(&*application, &addresses(&nodes));
    each_has_its_own(&nodes);
}

#[test]
fn a_memcached_that_dies_makes_no_answer_wrong_and_is_told() {
    let mut nodes = nodes();
    let application = over_memcacheds(&[]);
    let tiers = before(&*application, &addresses(&nodes));
    assert_eq!(tiers.ask(&*application, 0..200), 200);
    drop(nodes.remove(1));
    assert!(tiers.ask(&*application, 200..600) > 300, "the others answer");
    assert_eq!(compared(&tiers, &*application).differ, Vec::<String>::new());
    assert!(application.replicas().lost > 0, "an answer has told it");
}

/// It comes back with what it had, and is told what it has missed.
#[test]
fn a_memcached_that_was_cut_off_answers_nothing_old() {
    let nodes = nodes();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let application = over_memcacheds(&[]);
    let at: Vec<SocketAddr> = gates.iter().map(|gate| gate.address).collect();
    let tiers = before(&*application, &at);
    assert!(tiers.set_all(1));
    gates[2].cut();
    eventually("it is lost", || tiers.lost() > 0);
    assert!(tiers.set_all(2));
    gates[2].open();
    eventually("it is back", || {
        assert_eq!(tiers.get_all(2, 1), KEYS as usize, "by the others, too");
        let Upheavals { lost, returned } = tiers.upheavals();
        lost == returned
    });
    assert_eq!(tiers.get_all(2, 8), 8 * KEYS as usize);
}

#[test]
fn a_memcached_that_has_another_value_is_found_after_the_run() {
    let nodes = nodes();
    let application = over_memcacheds(&[("keys", "1"), ("sets", "100")]);
    let tiers = before(&*application, &addresses(&nodes));
    assert_eq!(tiers.ask(&*application, 0..2), 2);
    let third = usize::from(placement().of(&key_of(0)).nodes()[2]);
    let mut wire = Wire::to(nodes[third].address());
    assert_eq!(wire.set("key-0", b"another"), Ok(()));
    let found = compared(&tiers, &*application);
    assert_eq!((found.keys, found.differ.len()), (1, 1), "{found:?}");
    assert!(found.differ[0].contains(&format!("leaf {third} has no value of the key")));
}

/// It is started by a fault, or by hand. One memcached was emptied meanwhile.
#[test]
fn a_mid_tier_that_comes_after_another_keeps_what_was_written() {
    let nodes = nodes();
    let application = over_memcacheds(&[]);
    let first = before(&*application, &addresses(&nodes));
    assert!(first.set_all(3));
    drop(first);
    assert_eq!(Wire::to(nodes[1].address()).ask("flush_all"), "OK");
    let second = before(&*application, &addresses(&nodes));
    assert_eq!(second.get_all(3, 8), 8 * KEYS as usize);
}

#[test]
fn a_memcached_that_stores_nothing_stops_the_start() {
    let mut nodes = nodes();
    let at: Vec<Address> = addresses(&nodes).into_iter().map(Address::Tcp).collect();
    // Nothing listens there any more.
    drop(nodes.pop());
    let why = over_memcacheds(&[]).router_over(&place(), &at).err().expect("refused");
    let end = "does not tell what it has of key-";
    assert!(why.starts_with("the memcached at ") && why.contains(end), "{why}");
}

/// One of them was cut off while the mid-tier before had a set acknowledged. Only that one knew which value is the last.
#[test]
fn memcacheds_that_differ_stop_the_start() {
    let nodes = nodes();
    let at: Vec<Address> = addresses(&nodes).into_iter().map(Address::Tcp).collect();
    let application = over_memcacheds(&[]);
    drop(before(&*application, &addresses(&nodes)));
    let first = usize::from(placement().of(&key_of(0)).nodes()[0]);
    assert_eq!(Wire::to(nodes[first].address()).set("key-0", b"another"), Ok(()));
    let why = application.router_over(&place(), &at).err().expect("refused");
    assert!(why.starts_with("memcacheds have different values of key-0"), "{why}");
}

/// Its rest would be commands, whose answers others would take for theirs.
#[test]
fn a_key_that_memcached_would_read_as_commands_is_refused() {
    let nodes = nodes();
    let application = over_memcacheds(&[]);
    let tiers = before(&*application, &addresses(&nodes));
    for key in [&b"x\r\nflush_all"[..], b"a 0 0 1\r\nx\r\nset b", b"a b", b"a\0", b"a\x7f"] {
        for (method, payload) in
            [(GET, wire::get(1, key)), (SET, wire::set(1, key, b"y")), (EACH, wire::get(1, key))]
        {
            let answer = tiers.client.call(method.0, payload).wait().expect("an answer");
            assert_eq!(answer.status, BAD_REQUEST, "{key:?}");
        }
    }
    assert_eq!(tiers.ask(&*application, 0..200), 200, "nothing was shifted or emptied");
}

#[test]
fn leaves_and_the_tier_must_say_the_same() {
    let error = |text: &str, settings: &[(&str, &str)]| {
        made_of(text, settings).map(drop).expect_err("refused").to_string()
    };
    let why = error(SCENARIO, &[("leaf", "memcached")]);
    assert!(why.starts_with("leaf is \"memcached\", and tier leaf has no command"), "{why}");
    let why = error(OVER_MEMCACHEDS, &[]);
    assert!(why.starts_with("leaf is \"store\", and tier leaf has a command"), "{why}");
    let why = error(OVER_MEMCACHEDS, &[("leaf", "memcached"), ("memory", "32")]);
    assert!(why.starts_with("memory is \"32\", and memcached's stands in the command"), "{why}");
    let why = error(SCENARIO, &[("leaf", "redis")]);
    assert_eq!(why, "leaf is \"redis\"; one of store, memcached is needed");
    assert!(made_of(OVER_MEMCACHEDS, &[("leaf", "memcached")]).is_ok());
}
