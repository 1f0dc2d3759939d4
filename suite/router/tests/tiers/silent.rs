//! Leaves that are slow, hang, were emptied, or say nothing at all.

use super::*;
use crate::common::Gate;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicU32;
use tailwater_rt::client::CallOptions;
use tailwater_rt::time::sleep;

/// By which the mid-tier meets a leaf.
const MEET: MethodId = MethodId(16);

async fn never() {
    std::future::pending::<()>().await;
}

/// A port that takes connections, and never says anything.
fn mute() -> (TcpListener, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, Address::Tcp(address))
}

fn socket(leaf: &Server) -> SocketAddr {
    match leaf.address() {
        Address::Tcp(address) => *address,
        other => panic!("{other}"),
    }
}

impl Tiers {
    /// All leaves but this one, whose address takes connections and never says anything.
    fn with_mute(application: &dyn Application, mute: Address, number: u32) -> Self {
        let is_there = |other: u32| (other != number).then(|| leaf(application, other, None));
        let leaves: Vec<_> = (0..LEAVES).map(is_there).collect();
        let address = |leaf: &Option<Server>| {
            leaf.as_ref().map_or_else(|| mute.clone(), |leaf| leaf.address().clone())
        };
        let addresses = leaves.iter().map(address).collect();
        Self::at(application, leaves, addresses)
    }

    /// Gets what leaves hold at their start, each key so often, and says how many were answered.
    fn get_first(&self, times: u32) -> usize {
        let get = |turn: u32| {
            let key = turn % KEYS;
            (key, self.client.call(GET.0, wire::get(1, &key_of(key))))
        };
        let asked: Vec<_> = (0..times * KEYS).map(get).collect();
        let answered = asked.into_iter().filter_map(|(key, call)| Some((key, call.wait().ok()?)));
        let right = |(key, answer): &(u32, tailwater_rt::client::Answer)| {
            let answer = wire::Answer::read(&answer.payload).expect("an answer");
            assert_eq!(answer.value, preloaded(*key));
        };
        answered.inspect(right).count()
    }

    /// Asks for what no leaf holds, and says how often that was the answer; otherwise it was refused.
    fn get_nothing(&self, times: u32) -> usize {
        let is_miss = |number: &u32| {
            let key = format!("none-{number}").into_bytes();
            let answer = self.client.call(GET.0, wire::get(1, &key)).wait();
            answer.is_ok_and(|answer| answer.status == wire::MISS)
        };
        (0..times).filter(is_miss).count()
    }
}

/// Its socket stands, so nothing but the time says that it is not there.
#[test]
fn gets_do_not_wait_for_a_leaf_that_takes_connections_and_answers_nothing() {
    let application = few(&[]);
    let (_listener, address) = mute();
    let tiers = Tiers::with_mute(&*application, address, 2);
    assert_eq!(tiers.get_first(3), 3 * KEYS as usize, "within the ten seconds of a call");
}

#[test]
fn a_leaf_that_takes_connections_and_answers_nothing_is_lost_and_sets_pass_it_by() {
    let application = few(&[("silence", "300ms")]);
    let (_listener, address) = mute();
    let tiers = Tiers::with_mute(&*application, address, 2);
    eventually("all are stored", || tiers.set_all(1));
    eventually("it is lost", || tiers.lost() > 0);
    eventually("all are stored again", || tiers.set_all(2));
    // A busy machine may lose another for a while.
    eventually("all are answered", || tiers.get_all(2, 1) == KEYS as usize);
}

#[test]
fn a_leaf_that_hangs_is_lost_and_comes_back_with_nothing_old() {
    let application = few(&[("silence", "300ms")]);
    let leaves: Vec<Server> = (0..LEAVES).map(|number| leaf(&*application, number, None)).collect();
    let gate = Gate::to(socket(&leaves[1]));
    let mut addresses: Vec<_> = leaves.iter().map(|leaf| leaf.address().clone()).collect();
    addresses[1] = Address::Tcp(gate.address);
    let tiers = Tiers::at(&*application, leaves.into_iter().map(Some).collect(), addresses);
    eventually("all are stored", || tiers.set_all(1));
    let lost = tiers.lost();
    gate.hang(true);
    eventually("the others have it", || tiers.set_all(2));
    eventually("it is lost", || tiers.lost() > lost);
    eventually("the others answer", || tiers.get_all(2, 1) == KEYS as usize);
    gate.hang(false);
    eventually("it comes back", || {
        tiers.get_all(2, 1);
        tiers.told().is_some_and(|it| it.lost == it.returned)
    });
    eventually("nothing old is answered", || tiers.get_all(2, 10) == 10 * KEYS as usize);
}

/// It takes longer to say who it is than a tenth of the longest silence: it is slow, and not silent.
#[test]
fn a_leaf_that_is_slow_to_be_met_comes_back_and_nothing_waits_for_it() {
    let application = few(&[("silence", "4s")]);
    let mut tiers = Tiers::start(&*application);
    eventually("all are stored", || tiers.set_all(1));
    let slowly = || sleep(Duration::from_millis(600));
    tiers.restart_as(1, |address| leaf_that(&*application, (1, Some(address)), MEET, slowly));
    tiers.until_returned(1, 1);
    eventually("all are answered", || tiers.get_all(1, 5) == 5 * KEYS as usize);
}

/// It was emptied, and takes no copy of what it lacks.
#[test]
fn a_get_does_not_wait_for_a_copy() {
    let application = few(&[]);
    let mut tiers = Tiers::start(&*application);
    assert!(tiers.set_all(1));
    tiers.restart_as(1, |address| leaf_that(&*application, (1, Some(address)), rpc::ADD, never));
    tiers.until_returned(1, 1);
    assert_eq!(tiers.get_all(1, 10), 10 * KEYS as usize, "within the ten seconds of a call");
}

/// Values that an emptied leaf was given.
static GIVEN: AtomicU32 = AtomicU32::new(0);

async fn is_given() {
    GIVEN.fetch_add(1, Relaxed);
}

/// No get asks for what it lacks, and yet it is the only one that has it in the end.
#[test]
fn an_emptied_leaf_is_given_what_others_hold_without_being_asked_for_it() {
    let application = few(&[]);
    let mut tiers = Tiers::start(&*application);
    assert!(tiers.set_all(1));
    let counting = |address| leaf_that(&*application, (1, Some(address)), rpc::ADD, is_given);
    tiers.restart_as(1, counting);
    let placement = placement();
    let belongs = |key: &u32| placement.of(&key_of(*key)).nodes().contains(&1);
    let wanted = (0..KEYS).filter(belongs).count();
    assert!(wanted > 20, "{wanted}");
    eventually("it is given all", || {
        tiers.get_nothing(10);
        GIVEN.load(Relaxed) as usize >= wanted
    });
    [0, 2, 3].into_iter().for_each(|leaf: usize| drop(tiers.leaves[leaf].take()));
    eventually("it answers them", || tiers.get_all(1, 1) == wanted);
}

/// That there is nothing is a leaf's knowledge again once it has what the others hold.
#[test]
fn leaves_that_are_emptied_one_after_the_other_know_what_is_not_there() {
    let application = few(&[("replicas", "4")]);
    let mut tiers = Tiers::start(&*application);
    assert!(tiers.set_all(1));
    for number in 0..LEAVES {
        tiers.restart(&*application, number);
        eventually("it comes back", || {
            tiers.get_nothing(10);
            tiers.told().is_some_and(|it| (it.lost, it.returned) == (number + 1, number + 1))
        });
        tiers.get_nothing(300);
    }
    eventually("one of them is warm", || tiers.get_nothing(1) == 1);
    assert_eq!(tiers.get_all(1, 5), 5 * KEYS as usize);
}

/// One leaf answers no get: each that goes there is late.
fn with_one_that_is_late(settings: &[(&str, &str)]) -> Tiers {
    let application = few(settings);
    let start = |number: u32| match number {
        1 => leaf_that(&*application, (1, None), rpc::GET, never),
        _ => leaf(&*application, number, None),
    };
    Tiers::of(&*application, (0..LEAVES).map(start).collect())
}

#[test]
fn a_late_get_is_answered_by_another_replica_and_the_first_is_told_to_end() {
    let tiers = with_one_that_is_late(&[("hedge", "1ms"), ("hedge_burst", "1000")]);
    // Behind these all leaves are met.
    assert!(tiers.set_all(1));
    // It is asked now and then, and each time another answers.
    assert_eq!(tiers.get_all(1, 10), 10 * KEYS as usize, "within the ten seconds of a call");
    let counts = &tiers.front.tiers()[0];
    assert!(counts.hedged > 0 && counts.hedges_won > 0, "{counts:?}");
    assert!(counts.hedges_won <= counts.hedged, "{counts:?}");
    let late = tiers.leaves[1].as_ref().expect("it lives");
    eventually("nothing is left of it", || late.remaining().unanswered == 0);
}

#[test]
fn without_a_budget_there_is_no_second_try() {
    let none = [("hedge", "1ms"), ("hedge_share", "0"), ("hedge_burst", "0")];
    let tiers = with_one_that_is_late(&none);
    let brief = CallOptions { deadline: Duration::from_millis(500), ..CallOptions::default() };
    eventually("some were late", || {
        let get = |key| tiers.client.call_with(GET.0, wire::get(1, &key_of(key)), brief);
        let asked: Vec<_> = (0..KEYS).map(get).collect();
        for call in asked {
            let _ = call.wait();
        }
        tiers.front.tiers()[0].hedges_over_budget > 0
    });
    assert_eq!(tiers.front.tiers()[0].hedged, 0);
}
