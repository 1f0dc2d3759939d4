//! Memcacheds as a tier behind handlers: values are found or set, and each question ends once.

use crate::common::{Gate, Wire, anywhere, eventually, node};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::TcpServer;
use tailwater_load::application::{Asked, ForeignTier as _, Unanswered};
use tailwater_router::caches::Caches;
use tailwater_rt::net::Address;
use tailwater_rt::time::now;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What comes of it, on this thread.
fn end(mut asked: Asked) -> Result<(), Unanswered> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match asked.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn caches(nodes: &[SocketAddr], keys: u32) -> Caches {
    let nodes: Vec<Address> = nodes.iter().copied().map(Address::Tcp).collect();
    Caches::start(&nodes, keys).expect("a thread")
}

fn in_a_minute() -> Option<Instant> {
    Some(now() + Duration::from_secs(60))
}

const LOST: Result<(), Unanswered> = Err(Unanswered::Refused(Reason::Unavailable));

#[test]
fn what_is_not_there_is_set_and_found_from_then_on() {
    let nodes = [node(anywhere()), node(anywhere())];
    let caches = caches(&nodes.each_ref().map(TcpServer::address), 10);
    assert_eq!(caches.nodes(), 2);
    // All at once, of both nodes, each key several times.
    let asked: Vec<Asked> =
        (0..1_000_u64).map(|draw| caches.ask((draw % 2) as u32, draw / 2, in_a_minute())).collect();
    for asked in asked {
        assert_eq!(end(asked), Ok(()));
    }
    for node in &nodes {
        let mut wire = Wire::to(node.address());
        for key in 0..10 {
            let value = wire.get(&format!("key{key}")).expect("an answer");
            assert!(value.is_some_and(|value| value.len() >= 10), "key{key}");
        }
        assert_eq!(wire.get("key10"), Ok(None));
    }
}

#[test]
fn another_value_than_its_own_is_a_wrong_answer() {
    let node = node(anywhere());
    Wire::to(node.address()).set("key3", b"something else").expect("set");
    let caches = caches(&[node.address()], 10);
    assert_eq!(end(caches.ask(0, 3, None)), Err(Unanswered::Wrong));
    assert_eq!(end(caches.ask(0, 4, None)), Ok(()));
}

#[test]
fn a_node_that_is_not_there_refuses_and_is_asked_once_it_is() {
    let address = node(anywhere()).address();
    let caches = caches(&[address], 10);
    assert_eq!(end(caches.ask(0, 1, in_a_minute())), LOST);
    let _node = node(address);
    eventually("it is asked again", || end(caches.ask(0, 1, in_a_minute())) == Ok(()));
}

#[test]
fn a_node_that_hangs_holds_no_question_beyond_its_deadline() {
    let node = node(anywhere());
    let gate = Gate::to(node.address());
    let caches = caches(&[gate.address], 10);
    assert_eq!(end(caches.ask(0, 1, in_a_minute())), Ok(()));
    gate.hang(true);
    let deadline = now() + Duration::from_millis(30);
    assert_eq!(end(caches.ask(0, 1, Some(deadline))), Err(Unanswered::Refused(Reason::Deadline)));
    assert!(now() >= deadline);
    // Without a deadline it ends with the connection, at the latest with the thread.
    let asked = caches.ask(0, 2, None);
    drop(caches);
    assert_eq!(end(asked), LOST);
}
