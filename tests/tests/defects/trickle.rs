//! Frames that come a byte at a time.

use super::support::Pace;
use std::time::Duration;
use tailwater_rt::ServerConfig;
use tailwater_tests::{Bystander, Call, ECHO, Served, controller};
use tailwater_wire::GoodbyeCode;

/// Each byte comes well within the server's patience; the frame would take forty times that.
#[test]
fn a_frame_that_comes_by_drips_ends_its_connection() {
    let config = ServerConfig { patience: Duration::from_secs(1), ..ServerConfig::default() };
    let served = Served::start(config, controller("breakwater", &[]));
    let bystander = Bystander::of(&served);
    let pace = Pace::of(Duration::from_millis(10));
    let call = Call::new(1, ECHO, &[7; 8_000]).bytes();
    let (first, drips) = call.split_at(4_000);
    let mut peer = served.peer();
    peer.greet();
    peer.say(first);
    let closed = || served.server.totals().closed > 0;
    let dripped = drips.chunks(1).take(1_000).take_while(|byte| {
        pace.step();
        peer.say(byte);
        !closed()
    });
    let dripped = dripped.count();
    assert!(closed(), "{dripped} drips, and still there");
    assert_eq!(peer.farewell(), GoodbyeCode::Idle);
    bystander.is_unhurt();
}
