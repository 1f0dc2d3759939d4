//! Whether replicas hold the same after a run, and a leaf that carries out two writes in another order.

use super::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tailwater_core::pace::Pace;
use tailwater_keyvalue::rpc;
use tailwater_load::Fleet;
use tailwater_load::compare::{Compared, compare};
use tailwater_rt::time::sleep;

/// A leaf that carries out the first write behind the second one.
fn swapping(application: &dyn Application, number: u32) -> Server {
    let router = application.node(Node { tier: "leaf", number }, &place()).expect("a leaf");
    let router = Arc::new(router);
    let [begun, done] = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    let service = move |request: Request| {
        let (router, begun, done) = (router.clone(), begun.clone(), done.clone());
        async move {
            let is_write = request.method == rpc::SET;
            let is_first = is_write && begun.fetch_add(1, Relaxed) == 0;
            while is_first && done.load(Relaxed) == 0 {
                sleep(Duration::from_millis(1)).await;
            }
            let reply = router.call(request).await;
            done.fetch_add(u32::from(is_write), Relaxed);
            reply
        }
    };
    Server::start(ServerConfig::default(), controller().admission, service).expect("it starts")
}

/// As a generator does when its load is over.
fn compared(tiers: &Tiers, application: &dyn Application) -> Compared {
    let mut fleet =
        Fleet::connect(tiers.front.address(), 2, &controller(), &[]).expect("connected");
    compare(&mut fleet, Pace::Sleep, application)
}

/// Two writes of one key at once, on three replicas, of which one may be swapping.
fn after_two_writes(swaps: bool) -> Compared {
    let settings = [("keys", "1"), ("sets", "100"), ("memory", "8"), ("silence", "60s")];
    let application = made(&settings).expect("made");
    let placement = placement();
    let third = u32::from(placement.of(&key_of(0)).nodes()[2]);
    let start = |number: u32| match swaps && number == third {
        true => swapping(&*application, number),
        false => leaf(&*application, number, None),
    };
    let tiers = Tiers::of(&*application, (0..LEAVES).map(start).collect());
    assert_eq!(tiers.ask(&*application, 0..2), 2, "both are acknowledged");
    compared(&tiers, &*application)
}

#[test]
fn two_writes_that_one_replica_carries_out_in_another_order_are_found_after_the_run() {
    assert_eq!(after_two_writes(false), Compared { keys: 1, ..Compared::default() });
    let found = after_two_writes(true);
    assert_eq!((found.keys, found.untold, found.differ.len()), (1, 0, 1), "{found:?}");
    let why = &found.differ[0];
    assert!(why.starts_with("key-0: leaf ") && why.contains("write 0 of generator"), "{why}");
    assert!(why.contains("write 1 of generator"), "{why}");
}

/// What a leaf has lost or missed is no difference: it is not asked for that, or says that it may lack something.
#[test]
fn replicas_agree_after_a_load_also_where_leaves_have_died_and_come_back() {
    let application = few(&[]);
    let mut tiers = Tiers::start(&*application);
    assert_eq!(tiers.ask(&*application, 0..400), 400);
    let quiet = compared(&tiers, &*application);
    assert!(quiet.keys > 20, "{quiet:?}");
    assert_eq!(quiet, Compared { keys: quiet.keys, ..Compared::default() });
    drop(tiers.leaves[1].take());
    tiers.ask(&*application, 400..800);
    assert_eq!(compared(&tiers, &*application).differ, Vec::<String>::new());
    tiers.restart(&*application, 3);
    tiers.ask(&*application, 800..1_600);
    assert_eq!(compared(&tiers, &*application).differ, Vec::<String>::new());
}
