use super::super::Caller;
use super::super::answer::CallError;
use super::super::call::CallFuture;
use super::super::config::ChannelConfig;
use super::super::event::NewCall;
use super::super::exchange::Order;
use super::super::slot::{Filler, Slot};
use super::*;
use crate::net::Address;
use crate::{Reply, Request, Server, ServerConfig};
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_control::{RetryConfig, Site};
use tailwater_core::MethodId;

/// Two replicas at which nothing listens.
fn reactor(retry: RetryConfig) -> Reactor {
    let nothing = Address::Tcp(([127, 0, 0, 1], 1).into());
    reactor_of(vec![nothing.clone(), nothing], retry)
}

fn reactor_of(addresses: Vec<Address>, retry: RetryConfig) -> Reactor {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let count = addresses.len();
    let replica = |address| Replica {
        config: ChannelConfig::new(address),
        half: controller.client(0),
        seed: 0,
    };
    let replicas = addresses.into_iter().map(replica).collect();
    Reactor::new(replicas, Replicas::new(retry, count, 0)).unwrap()
}

fn order(reactor: &Reactor, deadline: Option<Instant>) -> CallFuture {
    let slot = Arc::new(Slot::default());
    let (method, payload) = (MethodId(1), bytes::Bytes::new());
    let call =
        NewCall { method, payload, deadline, priority: 128, tenant: 0, caller: Caller::NONE };
    reactor.desk.order(Order { call, filler: Filler::new(slot.clone()) });
    CallFuture::new(slot, reactor.desk.clone())
}

fn unfinished(reactor: &Reactor) -> usize {
    reactor.exchange.unfinished()
}

#[test]
fn calls_of_a_reactor_that_is_gone_are_told() {
    let mut reactor = reactor(RetryConfig::default());
    let taken = order(&reactor, None);
    reactor.turn(Instant::ZERO);
    let waits = order(&reactor, None);
    let desk = reactor.desk.clone();
    drop(reactor);
    let slot = Arc::new(Slot::default());
    let (method, payload) = (MethodId(1), bytes::Bytes::new());
    let call =
        NewCall { method, payload, deadline: None, priority: 128, tenant: 0, caller: Caller::NONE };
    desk.order(Order { call, filler: Filler::new(slot.clone()) });
    for call in [taken, waits, CallFuture::new(slot, desk)] {
        assert_eq!(call.wait(), Err(CallError::Disconnected));
    }
}

/// A17: five hundred futures were dropped before there was a connection, and all five hundred were sent.
#[test]
fn a_dropped_future_leaves_nothing_behind() {
    let mut reactor = reactor(RetryConfig::default());
    let calls: Vec<_> = (0..500).map(|_| order(&reactor, None)).collect();
    reactor.turn(Instant::ZERO);
    assert_eq!(unfinished(&reactor), 500);
    let before = order(&reactor, None);
    drop((calls, before));
    reactor.turn(Instant::ZERO);
    assert_eq!(unfinished(&reactor), 0);
    assert!(reactor.exchange.is_empty());
}

#[test]
fn a_call_that_was_not_sent_by_its_deadline_has_expired() {
    let mut reactor = reactor(RetryConfig::default());
    let due = Instant::from_nanos(5_000);
    let call = order(&reactor, Some(due));
    reactor.turn(Instant::ZERO);
    assert_eq!(unfinished(&reactor), 1);
    reactor.turn(due);
    assert_eq!(unfinished(&reactor), 0);
    assert_eq!(call.wait(), Err(CallError::Expired));
}

/// Turns until the channels have the ends of all calls, which the next turn finds.
fn go_on_until_all_have_ended(reactor: &mut Reactor) {
    let (mut ready, mut scratch) = (Vec::new(), vec![0; 1 << 10]);
    reactor.turn(now());
    while unfinished(reactor) > 0 {
        reactor.rest(now(), &mut ready);
        for readiness in ready.drain(..) {
            reactor.on_ready(now(), readiness, &mut scratch);
        }
        if unfinished(reactor) > 0 {
            reactor.turn(now());
        }
    }
}

#[test]
fn an_answer_that_was_read_before_its_deadline_was_looked_at_counts() {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let echo = |request: Request| async move { Reply::ok(request.payload) };
    let server = Server::start(ServerConfig::default(), controller.admission, echo).unwrap();
    let mut reactor = reactor_of(vec![server.address().clone()], RetryConfig::default());
    let due = now() + Duration::from_secs(3_600);
    let call = order(&reactor, Some(due));
    go_on_until_all_have_ended(&mut reactor);
    reactor.turn(due);
    assert_eq!(call.wait().map(|answer| answer.status), Ok(0));
}

#[test]
fn a_call_that_was_dropped_before_its_deadline_was_looked_at_hears_why() {
    let mut reactor = reactor(RetryConfig::default());
    let due = Instant::from_nanos(5_000);
    let oldest = order(&reactor, Some(due));
    // Longer than a channel's queue, and not longer than what the desk holds.
    let others: Vec<_> =
        (1..super::super::desk::CALLS_MAX).map(|_| order(&reactor, None)).collect();
    reactor.turn(Instant::ZERO);
    reactor.turn(due);
    assert_eq!(oldest.wait(), Err(CallError::QueueFull));
    drop(others);
}

#[test]
fn one_call_more_than_the_desk_holds_is_refused() {
    let reactor = reactor(RetryConfig::default());
    let calls: Vec<_> = (0..super::super::desk::CALLS_MAX).map(|_| order(&reactor, None)).collect();
    assert_eq!(order(&reactor, None).wait(), Err(CallError::QueueFull));
    assert!(reactor.desk.next_order().is_some());
    let taken = order(&reactor, None);
    drop(reactor);
    assert_eq!(taken.wait(), Err(CallError::Disconnected), "there was room again");
    drop(calls);
}
