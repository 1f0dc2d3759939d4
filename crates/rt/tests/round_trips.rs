//! The server tells its controller which stamps it sent, or no round trip would ever be believed.

use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::{Reply, Request, Server, ServerConfig};

const ECHO: u16 = 1;

async fn echo(request: Request) -> Reply {
    Reply::ok(request.payload)
}

#[test]
fn the_round_trip_of_a_connection_is_known_after_a_few_calls() {
    for profile in ["paper", "default"] {
        let spec = Spec { profile: profile.into(), ..Spec::named("breakwater") };
        let controller =
            spec.build(&Site::one_loop(Duration::from_secs(2), 1)).expect("a sound spec");
        let server = Server::start(ServerConfig::default(), controller.admission.clone(), echo);
        let server = server.expect("the server starts");
        let config = ChannelConfig::new(server.address().clone());
        let client = Client::connect_with(config, &controller).expect("the client starts");
        for _ in 0..20 {
            client.call(ECHO, Vec::new()).wait().expect("it is served");
        }
        let gauges = server.gauges();
        assert!(gauges.rtt > Duration::ZERO, "{profile}: no echo was believed: {gauges:?}");
    }
}
