//! Calls that time out, and the credit that they held.

use super::support::{HANG, Hung, PATIENT, within};
use std::time::Duration;
use tailwater_control::RetryConfig;
use tailwater_control::retry::First;
use tailwater_core::Ratio;
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::{Placement, ServerConfig};
use tailwater_tests::{ECHO, controller, eventually};

#[test]
fn a_call_that_times_out_gives_its_credit_back() {
    for placement in [Placement::Inline, Placement::Workers(1)] {
        for good_before in [0, 200] {
            let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
            let (served, _hung) = Hung::start(config, controller("breakwater", &[]));
            let client = served.client();
            for _ in 0..good_before {
                assert!(client.call_with(ECHO, "", PATIENT).wait().is_ok());
            }
            let hung = client.call_with(HANG, "", within(Duration::from_millis(100))).wait();
            assert!(hung.is_err(), "{hung:?}");
            let options = within(Duration::from_secs(20));
            let calls = (0..10).map(|_| client.call_with(ECHO, "", options).wait());
            let failed: Vec<CallError> = calls.filter_map(Result::err).collect();
            let first = failed.first();
            let count = failed.len();
            assert_eq!(first, None, "{placement}, after {good_before}: {count} of 10 failed");
        }
    }
}

#[test]
fn a_replica_whose_only_call_timed_out_is_chosen_again() {
    let none = || controller("none", &[]);
    let servers: Vec<_> = (0..2).map(|_| Hung::start(ServerConfig::default(), none())).collect();
    let ends = servers.iter().map(|(served, _)| ChannelConfig::new(served.address().clone()));
    let retry = RetryConfig {
        tries: 2,
        credit_wait: None,
        share: Ratio(0.0),
        burst: 0,
        first: First::LeastLoaded,
    };
    let client = Client::replicas(ends.collect(), &none(), retry).expect("a client starts");
    let received = |replica: usize| servers[replica].0.server.totals().received;
    // Two at once, so that each of the two has one, and has a connection.
    eventually("both are asked", || {
        let calls = [(); 2].map(|()| client.call(ECHO, ""));
        let _ = calls.map(|call| call.wait().is_ok());
        received(0) > 0 && received(1) > 0
    });
    let begun = |replica: usize| servers[replica].1.begun() > 0;
    eventually("one call hangs", || {
        let hung = client.call_with(HANG, "", within(Duration::from_millis(100))).wait();
        assert!(hung.is_err(), "{hung:?}");
        begun(0) || begun(1)
    });
    let shunned = usize::from(begun(1));
    let before = received(shunned);
    // One call at a time meets two idle replicas each time.
    eventually("the replica that hung once is asked again", || {
        assert!(client.call_with(ECHO, "", PATIENT).wait().is_ok());
        received(shunned) > before
    });
}
