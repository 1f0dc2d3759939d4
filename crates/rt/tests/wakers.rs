//! Wakers of a caller's own making: what panics in them ends no call but its own.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_rt::client::{CallFuture, Client};
use tailwater_rt::{Reply, Request, Server, ServerConfig};

/// Far longer than a server takes to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server whose handlers answer once they are let go, one for each message; and its client.
fn held() -> (Server, Client, Sender<()>) {
    let (let_go, held) = channel();
    let held = Arc::new(Mutex::new(held));
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let service = move |request: Request| {
        let held = held.clone();
        async move {
            held.lock().unwrap().recv().unwrap();
            Reply::ok(request.payload)
        }
    };
    let admission = controller.admission.clone();
    let server = Server::start(ServerConfig::default(), admission, service).unwrap();
    let client = Client::connect(server.address().clone()).unwrap();
    (server, client, let_go)
}

fn poll(call: &mut CallFuture, waker: &Waker) -> bool {
    let polled = Pin::new(call).poll(&mut Context::from_waker(waker));
    matches!(polled, Poll::Ready(_))
}

const UNCLONABLE: RawWakerVTable = RawWakerVTable::new(|_| panic!("no clone"), drop, drop, drop);

#[test]
fn a_call_whose_wakers_clone_panics_still_ends() {
    let (_server, client, let_go) = held();
    let mut call = client.call(1, "cloned");
    // SAFETY: the functions of the table use no data, so that every thread may call them at any time.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &UNCLONABLE)) };
    let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut call, &waker)));
    assert!(polled.is_err(), "the clone's panic is the caller's");
    let_go.send(()).unwrap();
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(call.wait()));
    let answer = told.recv_timeout(PATIENCE).expect("the call ends");
    assert_eq!(answer.map(|answer| answer.payload), Ok(b"cloned".to_vec()));
}

struct Unwakable;

impl Wake for Unwakable {
    fn wake(self: Arc<Self>) {
        panic!("no wake-up");
    }
}

#[test]
fn a_waker_that_panics_ends_no_other_call() {
    let (_server, client, let_go) = held();
    let mut call = client.call(1, "first");
    assert!(!poll(&mut call, &Arc::new(Unwakable).into()));
    let next = client.call(1, "next");
    let_go.send(()).unwrap();
    let_go.send(()).unwrap();
    assert_eq!(next.wait().map(|answer| answer.payload), Ok(b"next".to_vec()));
    assert_eq!(call.wait().map(|answer| answer.payload), Ok(b"first".to_vec()));
}
