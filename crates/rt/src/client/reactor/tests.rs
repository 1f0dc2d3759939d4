use super::super::call::{CallError, CallFuture};
use super::super::slot::{Filler, Slot};
use super::*;
use crate::net::Address;
use std::time::Duration;
use tailwater_control::RetryConfig;
use tailwater_control::catalog::Spec;
use tailwater_core::MethodId;

/// Two replicas at which nothing listens.
fn reactor(retry: RetryConfig) -> Reactor {
    let controller = Spec::named("none").build(Duration::from_secs(1), 1, 0).unwrap();
    let replica = |_| Replica {
        config: ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], 1).into())),
        half: controller.client(0),
        seed: 0,
    };
    Reactor::new((0..2).map(replica).collect(), Replicas::new(retry, 2, 0)).unwrap()
}

fn order(reactor: &Reactor, deadline: Option<Instant>) -> CallFuture {
    let slot = Arc::new(Slot::default());
    let (method, payload) = (MethodId(1), Vec::new());
    let call = NewCall { method, payload, deadline, priority: 128, tenant: 0 };
    reactor.desk.order(Order { call, filler: Filler::new(slot.clone()) });
    CallFuture::new(slot, reactor.desk.clone())
}

fn unfinished(reactor: &Reactor) -> usize {
    reactor.channels.iter().map(Channel::unfinished).sum()
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
    let (method, payload) = (MethodId(1), Vec::new());
    let call = NewCall { method, payload, deadline: None, priority: 128, tenant: 0 };
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
    assert!(reactor.callers.which(|_| true).is_empty());
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
