//! Clients that are gone before their answers: nothing breaks, credits come back, and a session's
//! number passes to another without mixing answers.

use std::sync::Arc;
use tailwater_rt::{Placement, ServerConfig};
use tailwater_tests::{Bystander, Call, ECHO, Heard, Served, WAIT, controller, eventually};

const PLACEMENTS: [Placement; 2] = [Placement::Inline, Placement::Workers(2)];

fn start(placement: Placement) -> Served {
    let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
    Served::start(config, controller("breakwater", &[]))
}

#[test]
fn credits_return_while_the_handler_still_runs_and_the_number_is_used_again() {
    for placement in PLACEMENTS {
        let served = start(placement);
        let gate = Arc::clone(&served.gate);
        let mut first = served.peer();
        let number = first.greet().session;
        first.call(&Call::new(1, WAIT, b"of the first"));
        eventually("the handler runs", || gate.arrived() == 1);
        assert_eq!(served.server.gauges().sessions, 1);
        drop(first);
        eventually("the connection is closed", || served.server.totals().closed == 1);
        let gauges = served.server.gauges();
        assert_eq!((gauges.issued, gauges.sessions), (0, 0), "{placement}");

        // The same session number, the same request id, the same method; another client.
        let mut second = served.peer();
        assert_eq!(second.greet().session, number, "the number is free again");
        second.call(&Call::new(1, WAIT, b"of the second"));
        eventually("both handlers run", || gate.arrived() == 2);
        gate.open();
        let Heard::Response(1, payload, _) = second.hear() else {
            panic!("an answer was due");
        };
        assert_eq!(payload, b"of the second", "{placement}");
        second.call(&Call::new(2, ECHO, b"still in step"));
        let next = second.hear();
        assert!(matches!(next, Heard::Response(2, ..)), "{placement}: {next:?}");
        let served_twice = || served.server.totals().served == 2;
        eventually("the first one's answer is counted for nobody", served_twice);
    }
}

#[test]
fn many_that_vanish_at_every_stage_hurt_nobody() {
    for placement in PLACEMENTS {
        let served = start(placement);
        let bystander = Bystander::of(&served);
        let sessions = served.server.gauges().sessions;
        for round in 0..200_u64 {
            let mut peer = served.peer();
            peer.greet();
            peer.call(&Call::new(round, WAIT, b"never read"));
            match round % 3 {
                0 => {}
                1 => peer.finish(),
                // Unread input makes the kernel break the connection off instead of ending it.
                _ => peer.call(&Call::new(round + 1_000, ECHO, &[0; 1_000])),
            }
        }
        eventually("all are gone", || served.server.totals().closed == 200);
        assert_eq!(served.server.gauges().sessions, sessions);
        served.gate.open();
        bystander.is_unhurt();
        eventually("all credits are back", || served.server.gauges().issued == 0);
    }
}

#[test]
fn requests_that_still_queue_when_their_client_vanishes_are_not_run() {
    for placement in [Placement::Inline, Placement::Workers(1)] {
        let config =
            ServerConfig { model: placement.into(), tasks_max: 1, ..ServerConfig::default() };
        let served = Served::start(config, controller("none", &[]));
        let (mut first, mut second) = (served.peer(), served.peer());
        first.greet();
        second.greet();
        first.call(&Call::new(1, WAIT, b"in the only place there is"));
        eventually("it runs", || served.gate.arrived() == 1);
        for id in 0..20 {
            second.call(&Call::new(id, WAIT, b"queues"));
        }
        eventually("the others queue", || served.server.totals().received == 21);
        drop(second);
        eventually("their client is gone", || served.server.totals().closed == 1);
        served.gate.open();
        assert!(matches!(first.hear(), Heard::Response(1, ..)), "{placement}");
        first.call(&Call::new(2, ECHO, b"behind all of them"));
        assert!(matches!(first.hear(), Heard::Response(2, ..)), "{placement}");
        // One job is with the worker ahead of time; whoever waits in the loop is forgotten.
        let handed_over = u32::from(placement != Placement::Inline);
        assert!(served.gate.arrived() <= 1 + handed_over, "{}", served.gate.arrived());
    }
}
