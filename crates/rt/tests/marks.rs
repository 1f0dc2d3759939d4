//! What a profiler is told of a server's requests. This program has the runtime's functions itself, so that the weak
//! references of `tailwater-marks` lead here.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_rt::client::Client;
use tailwater_rt::{Model, Placement, Reply, Request, Server, ServerConfig};

static TOLD: Mutex<BTreeMap<u64, Vec<&str>>> = Mutex::new(BTreeMap::new());

fn tell(request: u64, what: &'static str) {
    TOLD.lock().unwrap().entry(request).or_default().push(what);
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_start(request: u64) {
    tell(request, "start");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_start_waited(request: u64, waited_ns: u64) {
    assert!(waited_ns > 0, "one that has not waited is started");
    tell(request, "start waited");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_block(request: u64) {
    tell(request, "block");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_finish(request: u64) {
    tell(request, "finish");
}

/// Echoes after one wait; method 2 panics after it, method 3 waits for ever.
async fn waits_once(request: Request) -> Reply {
    let mut waits = true;
    poll_fn(|context| {
        let goes_on = !std::mem::replace(&mut waits, false) && request.method.0 != 3;
        if goes_on {
            // Woken here, it would have ended by then, and the next request in its place would be polled once more.
            return Poll::Ready(());
        }
        if request.method.0 != 3 {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await;
    assert_ne!(request.method.0, 2, "a test wants this panic");
    Reply::ok(request.payload)
}

/// Serves 50 echoes, a panic and one that takes too long, and gives what was told of each.
fn told_of(placement: Placement) -> Vec<Vec<&'static str>> {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let config = ServerConfig {
        model: Model { placement, ..Model::default() },
        // It counts before a worker begins, too: long enough for that on a busy machine.
        handler_max: Some(Duration::from_secs(2)),
        ..ServerConfig::default()
    };
    let server = Server::start(config, controller.admission, waits_once).unwrap();
    let client = Client::connect(server.address().clone()).unwrap();
    let calls: Vec<_> = (0..50).map(|_| client.call(1, "echoed")).collect();
    for call in calls {
        assert_eq!(call.wait().unwrap().payload, b"echoed");
    }
    client.call(2, "panics").wait().unwrap_err();
    client.call(3, "hangs").wait().unwrap_err();
    drop(client);
    // Its threads have ended: all is told.
    drop(server);
    std::mem::take(&mut *TOLD.lock().unwrap()).into_values().collect()
}

/// One test, since what is told is of the whole process.
#[test]
fn each_request_is_told_of_from_its_arrival_to_its_answer() {
    for placement in [Placement::Inline, Placement::Workers(2)] {
        let mut told = told_of(placement);
        assert_eq!(told.len(), 52, "{placement}");
        for one in &mut told {
            assert!(["start", "start waited"].contains(&one[0]), "{placement}: {one:?}");
            assert_eq!(one.iter().filter(|what| **what == "finish").count(), 1, "{placement}");
            assert_eq!(*one.last().unwrap(), "finish", "{placement}: {one:?}");
            one[0] = "start";
        }
        let whole =
            told.iter().filter(|one| **one == ["start", "block", "start", "block", "finish"]);
        // The echoes, and the panic: a poll of it has ended as well.
        assert_eq!(whole.count(), 51, "{placement}");
        assert!(told.contains(&vec!["start", "block", "finish"]), "{placement}: it was cut");
    }
}
