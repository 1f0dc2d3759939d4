//! CoDel, and requests that its server had no room for.

use tailwater_rt::ServerConfig;
use tailwater_tests::{Call, Heard, Served, WAIT, controller, eventually};

#[test]
fn requests_for_which_there_was_no_room_are_not_taken_to_wait() {
    let config = ServerConfig { tasks_max: 1, pending_max: 4, ..ServerConfig::default() };
    let served = Served::start(config, controller("codel", &[]));
    let mut peer = served.peer();
    peer.greet();
    let calls = (0..60).flat_map(|id| Call::new(id, WAIT, b"").bytes());
    peer.say(&calls.collect::<Vec<u8>>());
    eventually("all have come", || served.server.totals().received == 60);
    served.gate.open();
    let heard: Vec<Heard> = (0..60).map(|_| peer.hear()).collect();
    let refused = heard.iter().filter(|heard| matches!(heard, Heard::Reject(..))).count();
    assert_eq!(refused, 56);
    eventually("an idle server has no delay", || served.server.gauges().delay.is_zero());
}
