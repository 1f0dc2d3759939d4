//! What a profiler is told of marked futures. This program has the runtime's functions itself, so that the weak
//! references lead here.

use std::future::{Future, poll_fn};
use std::num::NonZeroU64;
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tailwater_marks::{Caller, Mark, Marked};

static TOLD: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());
/// What is told is of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[unsafe(no_mangle)]
extern "C" fn tw_req_start(request: u64) {
    TOLD.lock().unwrap().push((request, "start".into()));
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_start_waited(request: u64, waited_ns: u64) {
    TOLD.lock().unwrap().push((request, format!("start waited {waited_ns}")));
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_block(request: u64) {
    TOLD.lock().unwrap().push((request, "block".into()));
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_finish(request: u64) {
    TOLD.lock().unwrap().push((request, "finish".into()));
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_called(request: u64, call: u64) {
    TOLD.lock().unwrap().push((request, format!("called {call}")));
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_sent(request: u64, call: u64) {
    TOLD.lock().unwrap().push((request, format!("sent {call}")));
}

/// What was told by the work, in order: of which request, and what.
fn told_of_all(work: impl FnOnce()) -> Vec<(u64, String)> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    TOLD.lock().unwrap().clear();
    work();
    std::mem::take(&mut *TOLD.lock().unwrap())
}

/// The same of work that is of one request.
fn told(work: impl FnOnce()) -> Vec<String> {
    let told = told_of_all(work);
    assert!(told.windows(2).all(|two| two[0].0 == two[1].0), "of one request: {told:?}");
    told.into_iter().map(|(_, what)| what).collect()
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Ready at its third poll.
fn waits_twice() -> impl Future<Output = u32> {
    let mut polls = 0;
    poll_fn(move |_| {
        polls += 1;
        if polls == 3 { Poll::Ready(polls) } else { Poll::Pending }
    })
}

#[test]
fn each_poll_is_work_and_the_end_is_told_before_the_future_is_dropped() {
    let told = told(|| {
        let mut future = pin!(Marked::new(waits_twice()));
        assert!(poll(future.as_mut()).is_pending() && poll(future.as_mut()).is_pending());
        assert_eq!(poll(future.as_mut()), Poll::Ready(3));
        assert_eq!(TOLD.lock().unwrap().len(), 6, "it is ready, and still there");
    });
    assert_eq!(told, ["start", "block", "start", "block", "start", "finish"]);
}

#[test]
fn a_future_that_is_given_up_has_ended_and_one_that_never_began_was_none() {
    assert_eq!(
        told(|| {
            let mut future = Box::pin(Marked::new(waits_twice()));
            assert!(poll(future.as_mut()).is_pending());
        }),
        ["start", "block", "finish"]
    );
    assert!(told(|| drop(Marked::new(waits_twice()))).is_empty());
}

#[test]
fn what_it_waited_before_is_told_once() {
    let told = told(|| {
        let mut mark = Mark::arrived(Duration::from_micros(7));
        assert!(mark.is_read());
        mark.waits();
        mark.works();
        mark.works();
        mark.waits();
        mark.works();
    });
    assert_eq!(told, ["start waited 7000", "block", "start", "finish"]);
}

#[test]
fn what_is_handed_to_a_queue_waits_there_until_a_thread_works_for_it() {
    let mut told = told(|| {
        let mut mark = Mark::new();
        mark.works();
        mark.queues();
        mark.works();
    });
    assert!(told.remove(2).starts_with("start waited "));
    assert_eq!(told, ["start", "block", "finish"]);
}

/// A queue began the wait anew, also where the request had waited before or stood in one already.
#[test]
fn what_it_waited_before_a_queue_is_a_part_of_its_wait() {
    let told = told(|| {
        let mut mark = Mark::arrived(Duration::from_millis(7));
        mark.queues();
        mark.queues();
        mark.works();
    });
    let waited_ns = told[0].strip_prefix("start waited ").expect("it waited").parse::<u64>();
    assert!(waited_ns.is_ok_and(|waited_ns| waited_ns >= 7_000_000), "{told:?}");
}

#[test]
fn what_is_shed_has_waited_and_ended_though_no_thread_has_worked_for_it() {
    let call = NonZeroU64::new(5);
    let shed = told(|| {
        let mut mark = Mark::arrived(Duration::from_micros(7)).of_call(call);
        mark.sheds();
        mark.sheds();
        assert_eq!(Caller::present(), Caller::NONE);
    });
    assert_eq!(shed, ["start waited 7000", "called 5", "block", "finish"]);
    let mut dropped = told(|| Mark::new().of_call(call).queues());
    assert!(dropped.remove(0).starts_with("start waited "), "it was dropped in its queue");
    assert_eq!(dropped, ["called 5", "block", "finish"]);
    // Refused on its arrival.
    assert!(told(|| drop(Mark::arrived(Duration::from_micros(7)))).is_empty());
}

#[test]
fn calls_are_the_last_requests_that_the_thread_works_for() {
    let name = NonZeroU64::new;
    let told = told(|| {
        let mut mark = Mark::new().of_call(name(7));
        mark.works();
        let outer = Caller::present();
        let inner = worked_for(None);
        assert_ne!(Caller::present(), outer);
        drop(inner);
        assert_eq!(Caller::present(), outer);
        // The others are of the outer one alone.
        TOLD.lock().unwrap().clear();
        Caller::present().sent(name(8));
        Caller::present().sent(None);
        Caller::NONE.sent(name(9));
        mark.waits();
        assert_eq!(Caller::present(), Caller::NONE);
    });
    assert_eq!(told, ["sent 8", "block", "finish"]);
    assert_eq!(self::told(|| drop(worked_for(name(5)))), ["start", "called 5", "finish"]);
}

fn worked_for(name: Option<NonZeroU64>) -> Mark {
    let mut mark = Mark::new().of_call(name);
    mark.works();
    mark
}

/// The thread went back to the one before, which had ended: a wait for a call made it a request again.
#[test]
fn a_request_that_has_ended_is_not_worked_for_again_in_whichever_order_they_end() {
    let told = told_of_all(|| {
        // From the first to the last.
        drop([(); 3].map(|()| worked_for(None)));
        assert_eq!(Caller::present(), Caller::NONE);
        Caller::present().pauses(|| ());
        let first = worked_for(None);
        let of_first = Caller::present();
        let (second, third) = (worked_for(None), worked_for(None));
        drop(second);
        drop(third);
        assert_eq!(Caller::present(), of_first);
        drop(first);
        assert_eq!(Caller::present(), Caller::NONE);
    });
    assert_eq!(told.iter().filter(|(_, what)| what == "start").count(), 6, "{told:?}");
    assert_eq!(told.iter().filter(|(_, what)| what == "finish").count(), 6, "{told:?}");
    assert_eq!(told.len(), 12, "{told:?}");
}

#[test]
fn of_many_requests_a_thread_knows_the_last_32() {
    told_of_all(|| {
        let mut all: Vec<_> = (0..40).map(|_| (worked_for(None), Caller::present())).collect();
        let from_the_last = std::iter::from_fn(|| {
            let (_mark, caller) = all.pop()?;
            Some(Caller::present() == caller)
        });
        let known: Vec<_> = from_the_last.collect();
        assert_eq!(known, [[true; 32].as_slice(), &[false; 8]].concat());
        assert_eq!(Caller::present(), Caller::NONE);
    });
}

#[test]
fn what_pauses_is_a_request_that_the_thread_works_for() {
    let told = told(|| {
        let mark = worked_for(None);
        let caller = Caller::present();
        caller.pauses(|| ());
        std::thread::scope(|scope| _ = scope.spawn(|| caller.pauses(|| ())));
        caller.pauses(|| drop(mark));
        caller.pauses(|| ());
    });
    assert_eq!(told, ["start", "block", "start", "block", "finish"]);
}

#[test]
fn a_request_that_another_thread_lets_wait_is_worked_for_once() {
    let told = told(|| {
        let mut mark = worked_for(None);
        std::thread::scope(|scope| _ = scope.spawn(|| mark.waits()));
        mark.works();
        drop(mark);
        assert_eq!(Caller::present(), Caller::NONE);
    });
    assert_eq!(told, ["start", "block", "start", "finish"]);
}

#[cfg(feature = "tower")]
#[test]
fn a_service_works_in_its_call_and_in_its_future() {
    use tailwater_marks::MarkLayer;
    use tower_layer::Layer as _;
    use tower_service::Service;

    struct Echo;

    impl Service<u32> for Echo {
        type Response = u32;
        type Error = std::convert::Infallible;
        type Future = std::future::Ready<Result<u32, Self::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: u32) -> Self::Future {
            let of = TOLD.lock().unwrap()[0].0;
            TOLD.lock().unwrap().push((of, "called".into()));
            std::future::ready(Ok(request))
        }
    }

    let told = told(|| {
        let mut service = MarkLayer.layer(Echo);
        assert!(service.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready());
        assert_eq!(poll(pin!(service.call(7))), Poll::Ready(Ok(7)));
    });
    assert_eq!(told, ["start", "called", "block", "start", "finish"]);
}

/// As on the page: `docs/profiling-requests.md`, "Mark requests".
#[cfg(feature = "tower")]
#[test]
fn each_request_that_a_router_of_axum_answers_is_marked() {
    use axum::Router;
    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use axum::routing::get;
    use tailwater_marks::MarkLayer;
    use tower_service::Service as _;

    async fn handle() -> &'static str {
        let mut told = TOLD.lock().unwrap();
        let of = told[0].0;
        told.push((of, "handled".into()));
        "an answer"
    }

    let mut app: Router = Router::new().route("/", get(handle)).layer(MarkLayer);
    let mut ask = |path: &str| {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        match poll(pin!(app.call(request))) {
            Poll::Ready(answer) => answer.expect("it cannot fail").status(),
            Poll::Pending => panic!("the handler waits for nothing"),
        }
    };
    let answered = told(|| assert_eq!(ask("/"), StatusCode::OK));
    assert_eq!(answered, ["start", "block", "start", "handled", "finish"]);
    // What no route answers is a request, too.
    let unrouted = told(|| assert_eq!(ask("/nowhere"), StatusCode::NOT_FOUND));
    assert_eq!(unrouted, ["start", "block", "start", "finish"]);
}
