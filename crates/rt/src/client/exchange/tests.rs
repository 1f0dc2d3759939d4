//! Second tries, against two servers that never answer: what they would say comes as an event, and time as it is told.

use super::*;
use crate::client::{Caller, Health};
use crate::time::now;
use crate::{Reply as Answered, Request, Server, ServerConfig};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::client::Reply;
use tailwater_control::retry::{First, HedgeAfter, HedgeConfig};
use tailwater_control::{DropReason, Offer, Outcome, Reason, RetryConfig, Site};
use tailwater_core::{MethodId, Stamp};

const AFTER: Duration = Duration::from_millis(1);

/// A call that may be carried out twice.
#[derive(Clone)]
struct Wish {
    is_wanted: Rc<Cell<bool>>,
    /// It waits for no connection that was lost.
    is_hasty: bool,
    /// How often that was asked.
    asked: Rc<Cell<usize>>,
    outcomes: Rc<RefCell<Vec<Result<Answer, CallError>>>>,
}

impl Fill for Wish {
    fn take_on(&self, _: u64) -> bool {
        true
    }

    fn awaits_connection(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        !self.is_hasty
    }

    fn may_run_twice(&self) -> bool {
        true
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted.get()
    }

    fn fill(self, outcome: Result<Answer, CallError>) {
        self.outcomes.borrow_mut().push(outcome);
    }
}

struct Pair {
    exchange: Exchange<Wish>,
    poller: Poller,
    wish: Wish,
    /// As it is told.
    time: Instant,
    servers: Vec<Server>,
}

fn call() -> NewCall {
    let (method, payload) = (MethodId(1), bytes::Bytes::new());
    NewCall { method, payload, deadline: None, priority: 128, tenant: 0, caller: Caller::NONE }
}

fn silent(controller: &Controller) -> Server {
    let never = |_: Request| std::future::pending::<Answered>();
    Server::start(ServerConfig::default(), controller.admission.clone(), never).unwrap()
}

impl Pair {
    /// Both are reached. Calls go to the first, and are late after a millisecond. So many may be outstanding at one.
    fn reached(outstanding_max: u32) -> Self {
        let site = Site::one_loop(Duration::from_secs(1), 0);
        let controller = Spec::named("none").build(&site).unwrap();
        let servers = [(); 2].map(|()| silent(&controller));
        let replica = |server: &Server| {
            let config = ChannelConfig::new(server.address().clone());
            let config = ChannelConfig { outstanding_max, ..config };
            Replica { config, half: controller.client(0), seed: 0 }
        };
        let retry = RetryConfig { first: First::Primary, ..RetryConfig::default() };
        let after = HedgeAfter::Delay(AFTER);
        let replicas = Replicas::new(retry, 2, 0);
        let replicas = replicas.hedged(HedgeConfig { after, ..HedgeConfig::default() });
        let exchange = Exchange::new(servers.each_ref().map(replica).into(), replicas, 0);
        let (is_wanted, is_hasty) = (Rc::new(Cell::new(true)), false);
        let wish = Wish { is_wanted, is_hasty, asked: Rc::default(), outcomes: Rc::default() };
        let poller = Poller::new().unwrap();
        let mut pair = Self { exchange, poller, wish, time: now(), servers: servers.into() };
        pair.connect();
        pair
    }

    fn connect(&mut self) {
        let (mut ready, mut scratch) = (Vec::new(), vec![0; 1 << 10]);
        while self.is_well(now()) != [true, true] {
            self.exchange.turn(now(), &self.poller, std::iter::empty());
            self.poller.wait(Some(Duration::from_millis(10)), &mut ready);
            for readiness in ready.drain(..) {
                self.exchange.on_ready(now(), &self.poller, readiness, &mut scratch);
            }
        }
        self.time = now();
    }

    /// The second server is gone.
    fn lose_second(&mut self) {
        drop(self.servers.pop());
        let (mut ready, mut scratch) = (Vec::new(), vec![0; 1 << 10]);
        while self.is_well(self.time) != [true, false] {
            self.poller.wait(Some(Duration::from_millis(10)), &mut ready);
            for readiness in ready.drain(..) {
                self.exchange.on_ready(self.time, &self.poller, readiness, &mut scratch);
            }
        }
        self.turn(0);
    }

    /// Nothing is read in a turn, so that real time has no part in what follows.
    fn turn(&mut self, calls: usize) {
        let order = |_| Order { call: call(), filler: self.wish.clone() };
        self.exchange.turn(self.time, &self.poller, (0..calls).map(order));
    }

    /// So many calls are made, and are late.
    fn with_late(mut self, calls: usize) -> Self {
        self.turn(calls);
        self.time = self.time + AFTER;
        self.turn(0);
        self
    }

    /// Second tries so far.
    fn sent(&self) -> u64 {
        self.exchange.hedge_counts().sent
    }

    /// The only call's try at a replica ends.
    fn ends(&mut self, replica: usize, end: End) {
        let token = self.exchange.callers.which(|_| true)[0];
        self.time = self.time + AFTER;
        self.exchange.on_event(replica, Event { token, at: self.time, call: call(), end });
    }

    fn is_well(&self, time: Instant) -> [bool; 2] {
        [0, 1].map(|replica| self.exchange.channels[replica].health(time) == Health::Well)
    }
}

fn reply(outcome: Outcome) -> Reply {
    let (offer, stamp) = (Offer::OPEN, Stamp(1));
    let [elapsed, sojourn, waited] = [AFTER; 3];
    Reply { outcome, offer, stamp, elapsed, sojourn, waited }
}

fn response() -> End {
    End::Response { status: 0, payload: Vec::new(), reply: reply(Outcome::Served) }
}

fn refused(reason: Reason) -> End {
    End::Rejected { reason: Some(reason), reply: reply(Outcome::Shed(reason)) }
}

/// All that were out got second tries, as far as the budget went, before the answers were heard.
#[test]
fn behind_a_stop_late_calls_are_waited_for_anew() {
    for (stop, second_tries) in [(AFTER, [3, 3]), (AFTER + Duration::from_nanos(1), [0, 2])] {
        let mut pair = Pair::reached(9);
        pair.turn(3);
        pair.time = pair.time + AFTER + stop;
        pair.turn(0);
        let at_once = pair.sent();
        let token = pair.exchange.callers.which(|_| true)[0];
        let answer = Event { token, at: pair.time, call: call(), end: response() };
        pair.exchange.on_event(0, answer);
        pair.time = pair.time + AFTER;
        pair.turn(0);
        assert_eq!([at_once, pair.sent()], second_tries, "{stop:?} late");
    }
}

/// It had been asked at once whether it is there, and calls left it until it said so.
#[test]
fn a_second_try_that_is_given_up_casts_no_doubt_on_its_replica() {
    for (answers, well) in [(0, [true, true]), (1, [false, true])] {
        let mut pair = Pair::reached(9).with_late(1);
        assert_eq!((pair.sent(), pair.is_well(pair.time)), (1, [true, true]));
        pair.ends(answers, response());
        assert_eq!(pair.is_well(pair.time), well, "replica {answers} answered");
        assert!(pair.wish.outcomes.borrow()[0].is_ok());
    }
}

#[test]
fn a_call_that_waits_is_not_tried_elsewhere_besides() {
    let pair = Pair::reached(2).with_late(3);
    assert_eq!(pair.sent(), 2, "the third was not sent yet");
}

#[test]
fn no_second_try_goes_where_calls_wait() {
    for (there, sent) in [(1, 1), (3, 0)] {
        let mut pair = Pair::reached(2);
        (0..there).for_each(|_| {
            pair.exchange.channels[1].submit(pair.time, 99, call());
        });
        assert_eq!(pair.with_late(1).sent(), sent, "{there} calls are there");
    }
}

#[test]
fn a_call_of_which_no_answer_is_wanted_any_more_is_not_tried_twice() {
    let pair = Pair::reached(9);
    pair.wish.is_wanted.set(false);
    assert_eq!(pair.with_late(1).sent(), 0);
}

#[test]
fn a_call_that_may_have_been_carried_out_does_not_hear_that_it_was_not() {
    let unsent = || End::Unsent(DropReason::QueueFull);
    for (first, second, told) in
        [(End::Lost, unsent(), CallError::Disconnected), (unsent(), unsent(), CallError::QueueFull)]
    {
        let mut pair = Pair::reached(9).with_late(1);
        pair.ends(0, first);
        assert!(pair.wish.outcomes.borrow().is_empty(), "the second goes on");
        pair.ends(1, second);
        pair.turn(0);
        assert_eq!(*pair.wish.outcomes.borrow(), [Err(told)]);
    }
}

/// It was looked at for its first try alone, and stayed until the lost server was there again.
#[test]
fn of_two_tries_the_one_that_goes_on_leaves_a_lost_replica_where_it_waits() {
    let mut pair = Pair::reached(1);
    // What another has outstanding there leaves no room.
    pair.exchange.channels[1].submit(pair.time, 99, call());
    pair.turn(0);
    let mut pair = pair.with_late(1);
    assert_eq!(pair.sent(), 1);
    pair.lose_second();
    pair.ends(0, refused(Reason::Draining));
    pair.turn(0);
    let token = pair.exchange.callers.which(|_| true)[0];
    let place = pair.exchange.callers.get(token).expect("it waits").place;
    assert_eq!(place.replica, 0);
}

/// For as long as one server was lost, each turn walked over all calls of the other.
#[test]
fn calls_that_wait_for_no_lost_connection_are_looked_at_only_where_one_waits() {
    let mut pair = Pair::reached(64);
    pair.wish.is_hasty = true;
    pair.turn(32);
    pair.lose_second();
    pair.wish.asked.set(0);
    pair.turn(0);
    assert!(pair.exchange.trouble().is_some(), "the second is lost");
    assert_eq!((pair.wish.asked.get(), pair.exchange.unfinished()), (0, 32));
}

/// Both of its tries counted, so that it had none left.
#[test]
fn of_two_tries_the_one_that_was_not_begun_does_not_count() {
    for (first, heard) in [
        (End::NotTaken, None),
        (refused(Reason::Draining), None),
        (refused(Reason::Lock), Some(CallError::Shed(Reason::Lock))),
    ] {
        let mut pair = Pair::reached(9).with_late(1);
        pair.ends(0, first);
        pair.ends(1, refused(Reason::Lock));
        pair.turn(0);
        let told = pair.wish.outcomes.borrow().first().cloned();
        assert_eq!(told, heard.map(Err), "without an end it is tried again");
    }
}

/// Hosts are often told apart by the upper half of their clients' numbers, as places were.
#[test]
fn no_two_replicas_of_clients_with_neighbouring_numbers_have_one_number() {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let config = ChannelConfig::new(crate::net::Address::Tcp(([127, 0, 0, 1], 1).into()));
    let nth = |index, number| {
        Replica::nth(index, config.clone(), number, |seed| controller.client(seed)).seed
    };
    let clients = (1..=8_u64).flat_map(|host| (0..8).map(move |client| host << 32 | client));
    let clients: Vec<u64> = clients.collect();
    assert!(clients.iter().all(|&number| nth(0, number) == number));
    let all = clients.iter().flat_map(|&number| (0..8).map(move |index| (index, number)));
    let all = all.map(|(index, number)| nth(index, number));
    let distinct: std::collections::BTreeSet<_> = all.collect();
    assert_eq!(distinct.len(), 8 * clients.len());
}
