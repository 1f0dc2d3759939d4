//! Requests that wait for longer than their answers are worth anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::{MethodId, RequestId, Stamp};
use tailwater_rt::time::now;
use tailwater_rt::{Placement, Reply, Router, Server, ServerConfig};
use tailwater_tests::{Call, Heard, Peer, controller};
use tailwater_wire::Limits;

const COMPUTE: u16 = 1;
const COUNTED: u16 = 2;

/// A call of [`COUNTED`] that is worth something for a millisecond.
fn brief(id: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let request = tailwater_wire::Request {
        id: RequestId(id),
        method: MethodId(COUNTED),
        register: true,
        demand: 0,
        acked: 0,
        echo: None,
        sent_at: Stamp(0),
        budget_us: 1_000,
        tenant: 0,
        priority: 128,
        payload: b"",
    };
    request.encode(&Limits::default(), &mut bytes).expect("it fits");
    bytes
}

/// The only thread for handlers computes for five milliseconds; requests that came with it and were
/// worth something for one are not begun afterwards.
#[test]
fn no_handler_begins_after_its_deadline_whatever_the_controller() {
    let names = ["none", "codel", "dagor", "gradient", "seda", "window", "aqm-only"];
    let mut begun_late = Vec::new();
    for name in names {
        for placement in [Placement::Inline, Placement::Workers(1)] {
            let begun = Arc::new(AtomicU32::new(0));
            let counter = begun.clone();
            let router = Router::new()
                .route(COMPUTE, |_| async {
                    let until = now() + Duration::from_millis(5);
                    while now() < until {
                        std::hint::spin_loop();
                    }
                    Reply::ok(Vec::new())
                })
                .route(COUNTED, move |_| {
                    counter.fetch_add(1, SeqCst);
                    async { Reply::ok(Vec::new()) }
                });
            let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
            let server = Server::start(config, controller(name, &[]).admission, router);
            let server = server.expect("the test's server starts");
            let mut peer = Peer::connect(server.address());
            peer.greet();
            // In one write, so that one read finds all.
            let all = [Call::new(0, COMPUTE, b"").bytes(), brief(1), brief(2), brief(3)].concat();
            peer.say(&all);
            let heard: Vec<Heard> = (0..4).map(|_| peer.hear()).collect();
            let late = Reason::Deadline as u16;
            let refused =
                |heard: &&Heard| matches!(heard, Heard::Reject(_, why, _) if *why == late);
            let refused = heard.iter().filter(refused).count();
            if (begun.load(SeqCst), refused) != (0, 3) {
                begun_late.push((name, placement, begun.load(SeqCst), refused));
            }
        }
    }
    assert!(begun_late.is_empty(), "controller, placement, begun, refused: {begun_late:?}");
}
