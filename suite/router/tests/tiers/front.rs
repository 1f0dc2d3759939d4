//! memcached's protocol in front: the proxy over servers of ours, asked as the generator asks it.

use super::memcacheds::{addresses, each_has_its_own, nodes, over_memcacheds};
use super::*;
use crate::common::{Wire, anywhere};
use std::net::SocketAddr;
use std::ops::Range;
use tailwater_core::pace::Pace;
use tailwater_load::application::{FrontPlace, ServingFront};
use tailwater_load::compare::{Compared, compare};
use tailwater_load::{Fleet, fleet};
use tailwater_rt::client::End;
use tailwater_rt::time::now;

fn made_with(more: &[(&str, &str)]) -> Arc<dyn Application> {
    over_memcacheds(&[&[("front", "memcached")], more].concat())
}

/// The proxy before memcacheds at these addresses.
fn proxy(application: &dyn Application, nodes: &[SocketAddr]) -> Box<dyn ServingFront> {
    let nodes: Vec<Address> = nodes.iter().copied().map(Address::Tcp).collect();
    let listen = Address::Tcp(anywhere());
    let front = application.foreign_front().expect("memcached's protocol");
    let at = FrontPlace { listen: &listen, nodes: &nodes, connections_max: 64 };
    front.start(&at).expect("it serves")
}

fn clients(application: &dyn Application, proxy: &dyn ServingFront) -> Fleet {
    let front = application.foreign_front().expect("memcached's protocol");
    let address = Address::Tcp(proxy.address());
    Fleet::connect_foreign((&address, &front), 2, &[]).expect("connected")
}

/// Asks the requests of these numbers by two clients. How many answers were right, and how many wrong.
fn ask(
    application: &dyn Application,
    proxy: &dyn ServingFront,
    numbers: Range<u32>,
) -> (usize, usize) {
    let mut clients = clients(application, proxy);
    let all = numbers.len();
    for number in numbers {
        let call = fleet::call(application.ask(&order(number)), None);
        clients.submit(number as usize % 2, now(), number.into(), call);
    }
    let (mut ended, mut right, mut wrong) = (0, 0, 0);
    while ended < all {
        clients.turn(Duration::from_millis(10));
        while let Some((_, event)) = clients.poll_event() {
            ended += 1;
            if let End::Response { status, payload, .. } = &event.end {
                let is_right = application.is_answer(*status, payload, event.token as u32);
                right += usize::from(is_right);
                wrong += usize::from(!is_right);
            }
        }
    }
    (right, wrong)
}

#[test]
fn every_answer_of_the_proxy_is_right() {
    for placement in ["modulo", "jump", "rendezvous", "ring"] {
        let nodes = nodes();
        let application = made_with(&[("placement", placement)]);
        let proxy = proxy(&*application, &addresses(&nodes));
        assert!(proxy.is_well());
        assert_eq!(ask(&*application, &*proxy, 0..600), (600, 0), "{placement}");
        assert_eq!(application.replicas(), ReplicaCounts::default(), "nothing tells of them");
    }
}

/// Keys lie where the mid-tier has them.
#[test]
fn each_key_is_stored_by_the_leaves_names_before_anything_is_asked() {
    let nodes = nodes();
    let application = made_with(&[]);
    let _proxy = proxy(&*application, &addresses(&nodes));
    each_has_its_own(&nodes);
}

#[test]
fn another_value_of_a_memcached_is_a_wrong_answer() {
    let nodes = nodes();
    let application = made_with(&[("keys", "1"), ("sets", "0")]);
    let proxy = proxy(&*application, &addresses(&nodes));
    assert_eq!(ask(&*application, &*proxy, 0..20), (20, 0));
    for node in &nodes {
        assert_eq!(Wire::to(node.address()).set("key-0", b"another"), Ok(()));
    }
    assert_eq!(ask(&*application, &*proxy, 20..40), (0, 20));
    for node in &nodes {
        assert_eq!(Wire::to(node.address()).ask("flush_all"), "OK");
    }
    assert_eq!(ask(&*application, &*proxy, 40..60), (0, 20), "nothing is there");
}

#[test]
fn a_memcached_that_dies_makes_no_answer_of_the_proxy_wrong() {
    let mut nodes = nodes();
    let application = made_with(&[]);
    let proxy = proxy(&*application, &addresses(&nodes));
    assert_eq!(ask(&*application, &*proxy, 0..200), (200, 0));
    drop(nodes.remove(1));
    let (right, wrong) = ask(&*application, &*proxy, 200..600);
    assert!(right > 300 && wrong == 0, "the others answer: {right} right, {wrong} wrong");
}

#[test]
fn where_no_memcached_is_left_the_proxy_refuses() {
    let nodes = nodes();
    let application = made_with(&[]);
    let proxy = proxy(&*application, &addresses(&nodes));
    assert_eq!(ask(&*application, &*proxy, 0..40), (40, 0));
    drop(nodes);
    assert_eq!(ask(&*application, &*proxy, 40..80), (0, 0), "neither right nor wrong");
}

#[test]
fn counts_and_replicas_are_not_asked_for_in_memcacheds_protocol() {
    let nodes = nodes();
    let application = made_with(&[]);
    let proxy = proxy(&*application, &addresses(&nodes));
    assert_eq!(ask(&*application, &*proxy, 0..200), (200, 0));
    let mut clients = clients(&*application, &*proxy);
    assert_eq!(compare(&mut clients, Pace::Sleep, &*application), Compared::default());
    assert_eq!((clients.clients(), clients.servers()), (2, 1));
    clients.ask_for_counts(now(), 9);
    let (who, event) = clients.poll_event().expect("it is known at once");
    assert_eq!((who, event.token, event.end), (2, 9, End::NotTaken));
}

#[test]
fn a_front_of_memcacheds_protocol_needs_memcacheds() {
    let error = |settings: &[(&str, &str)]| {
        made_of(SCENARIO, settings).map(drop).expect_err("refused").to_string()
    };
    let why = error(&[("front", "memcached")]);
    assert!(why.starts_with("front is \"memcached\", and leaf is \"store\"; leaf = "), "{why}");
    let why = error(&[("front", "redis")]);
    assert_eq!(why, "front is \"redis\"; one of rpc, memcached is needed");
    assert!(over_memcacheds(&[]).foreign_front().is_none());
}
