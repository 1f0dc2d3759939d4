//! More connections than a server may have.

use tailwater_rt::ServerConfig;
use tailwater_tests::{Bystander, Call, ECHO, Heard, Served, controller, eventually, hello};
use tailwater_wire::{GoodbyeCode, VERSION_MAX, VERSION_MIN};

#[test]
fn who_finds_no_room_is_told_and_gets_in_once_somebody_leaves() {
    for loops in [1, 3] {
        let config = ServerConfig { loops, connections_max: 6, ..ServerConfig::default() };
        let served = Served::start(config, controller("breakwater", &[]));
        let bystander = Bystander::of(&served);
        let mut inside: Vec<_> = (0..5).map(|_| served.peer()).collect();
        for peer in &mut inside {
            peer.greet();
        }
        for number in 1..=40 {
            let mut late = served.peer();
            late.say(&hello(VERSION_MIN, VERSION_MAX));
            assert_eq!(late.farewell(), GoodbyeCode::TooManyConnections);
            eventually("it is counted", || served.server.totals().turned_away == number);
        }
        for (id, peer) in (0..).zip(&mut inside) {
            peer.call(&Call::new(id, ECHO, b"still served"));
            assert!(matches!(peer.hear(), Heard::Response(..)));
        }
        inside.truncate(3);
        eventually("two have left", || served.server.totals().closed == 2);
        inside.extend((0..2).map(|_| served.peer()));
        for peer in &mut inside[3..] {
            peer.greet();
        }
        bystander.is_unhurt();
    }
}
