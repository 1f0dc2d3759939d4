//! The first calls of a connection, sent before the server has said what it accepts.

use super::support::PATIENT;
use tailwater_rt::ServerConfig;
use tailwater_rt::client::CallError;
use tailwater_tests::{ECHO, Served, controller};

const CONTROLLERS: [&str; 2] = ["none", "breakwater"];

fn of_small_frames(controller_name: &str) -> Served {
    let config = ServerConfig { frame_max: 8 << 10, ..ServerConfig::default() };
    Served::start(config, controller(controller_name, &[]))
}

#[test]
fn a_first_call_that_is_too_long_is_told_so_and_costs_nobody_the_connection() {
    for name in CONTROLLERS {
        let served = of_small_frames(name);
        let client = served.client();
        let small: Vec<_> = (0..5).map(|_| client.call_with(ECHO, "small", PATIENT)).collect();
        let large = client.call_with(ECHO, vec![7; 20 << 10], PATIENT);
        let more: Vec<_> = (0..5).map(|_| client.call_with(ECHO, "small", PATIENT)).collect();
        assert_eq!(large.wait(), Err(CallError::TooLong { most: (8 << 10) - 48 }), "{name}");
        for call in small.into_iter().chain(more) {
            assert!(call.wait().is_ok(), "{name}: a call beside it");
        }
        let totals = served.server.totals();
        assert_eq!((totals.protocol_errors, totals.accepted), (0, 1), "{name}");
    }
}

#[test]
fn the_very_first_call_may_be_as_long_as_the_server_accepts() {
    for name in CONTROLLERS {
        let served = of_small_frames(name);
        for length in [4_048, 4_049, (8 << 10) - 48] {
            let answer = served.client().call_with(ECHO, vec![7; length], PATIENT).wait();
            let answer = answer.expect("it is answered");
            assert_eq!((answer.status, answer.payload.len()), (0, length), "{name}");
        }
    }
}

#[test]
fn the_very_first_call_is_told_when_it_is_too_long() {
    for name in CONTROLLERS {
        let served = of_small_frames(name);
        let answer = served.client().call_with(ECHO, vec![7; 20 << 10], PATIENT).wait();
        assert_eq!(answer, Err(CallError::TooLong { most: (8 << 10) - 48 }), "{name}");
        assert_eq!(served.server.totals().protocol_errors, 0, "{name}");
    }
}
