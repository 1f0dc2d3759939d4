//! Handlers that wait for themselves or for each other, over real sockets: debug builds name the locks.

#![cfg(debug_assertions)]

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::asqm::{Asqm, Policy};
use tailwater_control::catalog::Spec;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::time::sleep;
use tailwater_rt::{LockRules, Placement, Reply, Router, Server, ServerConfig};
use tailwater_sync::task::Mutex;

const TWICE: u16 = 1;
const FORTH: u16 = 2;
const BACK: u16 = 3;
const BRANCHES: u16 = 4;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

struct Locks {
    items: Mutex<()>,
    slabs: Mutex<()>,
    /// How many handlers have their first lock.
    inside: AtomicU32,
}

/// What it panics with, or nothing.
async fn said(work: impl Future<Output = ()>) -> Reply {
    let mut work = pin!(work);
    let message =
        poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(polled) => polled.map(|()| String::new()),
            Err(panic) => Poll::Ready(*panic.downcast::<String>().expect("a message")),
        });
    Reply::ok(message.await.into_bytes())
}

async fn twice(locks: &Locks) {
    let _first = locks.items.lock_within_budget().await;
    sleep(MS).await;
    let _second = locks.items.lock_within_budget().await;
}

async fn one_then_other(locks: &Locks, one: &Mutex<()>, other: &Mutex<()>) {
    let _one = one.lock().await;
    locks.inside.fetch_add(1, SeqCst);
    while locks.inside.load(SeqCst) < 2 {
        sleep(MS).await;
    }
    let _other = other.lock().await;
}

/// One holds the lock while it sleeps, and the other queues.
async fn branches(locks: &Locks) {
    let mut holds = pin!(async {
        let _held = locks.items.lock().await;
        for _ in 0..5 {
            sleep(MS).await;
        }
    });
    let mut wants = pin!(async { drop(locks.items.lock().await) });
    let mut held = false;
    poll_fn(|context| {
        held = held || holds.as_mut().poll(context).is_ready();
        let wanted = wants.as_mut().poll(context).is_ready();
        if wanted && held { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn serve(placement: Placement, rules: Option<LockRules>) -> (Server, Client) {
    let locks = Arc::new(Locks {
        items: Mutex::named("items", ()),
        slabs: Mutex::named("slabs", ()),
        inside: AtomicU32::new(0),
    });
    let [a, b, c, d] = [(); 4].map(|()| locks.clone());
    let router = Router::new()
        .route(TWICE, move |_| {
            let locks = a.clone();
            async move { said(twice(&locks)).await }
        })
        .route(FORTH, move |_| {
            let locks = b.clone();
            async move { said(one_then_other(&locks, &locks.items, &locks.slabs)).await }
        })
        .route(BACK, move |_| {
            let locks = c.clone();
            async move { said(one_then_other(&locks, &locks.slabs, &locks.items)).await }
        })
        .route(BRANCHES, move |_| {
            let locks = d.clone();
            async move { said(branches(&locks)).await }
        });
    let controller = Spec::named("none").build(&Site::one_loop(HOUR, 1)).unwrap();
    let config = ServerConfig { model: placement.into(), locks: rules, ..ServerConfig::default() };
    let server = Server::start(config, controller.admission.clone(), router).unwrap();
    let channel = ChannelConfig::new(server.address().clone());
    let client = Client::connect_with(channel, &controller).unwrap();
    (server, client)
}

#[test]
fn handlers_that_wait_in_vain_panic_with_the_names_of_their_locks() {
    let asqm = LockRules { policy: Policy::Asqm(Asqm::DEFAULT), target: HOUR, budget: Some(HOUR) };
    for placement in [Placement::Inline, Placement::Workers(2)] {
        for rules in [None, Some(asqm)] {
            let (_server, client) = serve(placement, rules);
            let answer = |call: tailwater_rt::client::CallFuture| {
                String::from_utf8(call.wait().unwrap().payload).unwrap()
            };
            let twice = answer(client.call(TWICE, ""));
            assert!(twice.contains("`items` is wanted again by the task"), "{twice}");
            assert_eq!(answer(client.call(BRANCHES, "")), "", "nobody waits in vain");
            let both = [FORTH, BACK].map(|method| client.call(method, "")).map(answer);
            let [named, served] = if both[0].is_empty() { [1, 0] } else { [0, 1] };
            assert!(both[named].contains("`items`") && both[named].contains("`slabs`"), "{both:?}");
            assert_eq!(both[served], "", "the other goes on");
        }
    }
}
