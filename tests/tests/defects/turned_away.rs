//! Connections beyond the most that a server may have.

use tailwater_rt::ServerConfig;
use tailwater_tests::{Heard, Served, controller, hello};
use tailwater_wire::{GoodbyeCode, VERSION_MAX, VERSION_MIN};

/// A reset may overtake the farewell, on some systems and networks.
#[test]
fn a_client_for_which_there_is_no_room_hears_why_and_then_the_end_and_no_reset() {
    let config = ServerConfig { connections_max: 1, ..ServerConfig::default() };
    let served = Served::start(config, controller("breakwater", &[]));
    let mut inside = served.peer();
    inside.greet();
    let mut resets = 0;
    for _ in 0..100 {
        let mut late = served.peer();
        late.say(&hello(VERSION_MIN, VERSION_MAX));
        let heard = late.hear();
        let told = matches!(heard, Heard::Goodbye(GoodbyeCode::TooManyConnections, _));
        assert!(told, "{heard:?}");
        resets += u32::from(late.hear() == Heard::Reset);
    }
    assert_eq!(resets, 0, "of 100 that were turned away");
}
