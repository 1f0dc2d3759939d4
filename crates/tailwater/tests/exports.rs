//! Everything that the façade's own types are made of can be named through it: this compiles or it does not.
//! The values are taken apart without `..`, so that a new field is missed here first.

use std::any::type_name;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tailwater as facade;

/// A server's settings, down to the last.
fn server_config(config: facade::ServerConfig) -> Vec<&'static str> {
    let facade::ServerConfig {
        listen,
        loops: _,
        cores: _,
        model,
        workers_max: _,
        crew_max: _,
        drain_every: _,
        slo: _,
        connections_max: _,
        queue_max: _,
        pending_max: _,
        pending_bytes_max: _,
        tasks_max: _,
        output_high: _,
        output_total_max: _,
        input_total_max: _,
        patience: _,
        rate_min: _,
        ping_after: _,
        keep_alive,
        sockets,
        #[cfg(feature = "tls")]
        tls,
        tenants,
        tasks_per_connection_max: _,
        handler_max: _,
        enforce_deadlines: _,
        introspection,
        frame_max: _,
        locks,
        tiers,
    } = config;
    let _: Vec<facade::TierConfig> = tiers;
    let _: facade::Introspection = introspection;
    let _: Option<facade::Tenants> = tenants;
    #[cfg(feature = "tls")]
    let _: Option<facade::tls::TlsServer> = tls;
    let listen: facade::Address = listen;
    let facade::Model { reception, placement, completion } = model;
    let reception: facade::Reception = reception;
    let placement: facade::Placement = placement;
    let completion: facade::Completion = completion;
    let keep_alive: Option<facade::KeepAlive> = keep_alive;
    let facade::SocketRules {
        quick_ack: _,
        send_buffer: _,
        receive_buffer: _,
        congestion_control: _,
    } = sockets;
    let locks: Option<facade::LockRules> = locks;
    if let Some(facade::LockRules { policy, target: _, budget: _ }) = locks {
        let _: facade::Policy = policy;
        if let facade::Policy::Asqm(asqm) = policy {
            let _: facade::Asqm = asqm;
        }
    }
    let threads = [name_of(&reception), name_of(&placement), name_of(&completion)];
    [&[name_of(&listen)], &threads[..], &[name_of(&keep_alive)]].concat()
}

/// A client's settings, down to the last.
fn channel_config(config: facade::ChannelConfig) -> (facade::Address, Option<facade::KeepAlive>) {
    let facade::ChannelConfig {
        address,
        connect_timeout: _,
        ping_after: _,
        ping_patience: _,
        backoff_min: _,
        backoff_max: _,
        keep_alive,
        #[cfg(feature = "tls")]
        tls,
        frame_max: _,
        output_max: _,
        outstanding_max: _,
        client_id: _,
    } = config;
    #[cfg(feature = "tls")]
    let _: Option<facade::tls::TlsClient> = tls;
    (address, keep_alive)
}

fn retry_config(config: facade::RetryConfig) -> (facade::Ratio, facade::First) {
    let facade::RetryConfig { tries: _, credit_wait: _, share, burst: _, first } = config;
    (share, first)
}

fn tiers(server: &facade::Server) -> Vec<facade::TierCounts> {
    let hedge = facade::HedgeConfig {
        after: facade::HedgeAfter::Quantile(facade::Ratio(0.9)),
        ..Default::default()
    };
    let _ = facade::TierConfig::new("leaf", Vec::new()).hedge(hedge);
    server.tiers()
}

fn controller(built: facade::Controller) -> (Arc<dyn facade::Admission>, facade::Mode) {
    let switch: Arc<facade::Switch> = built.switch;
    (built.admission, switch.get())
}

/// What a handler sees, and what it may answer.
fn handler(request: facade::Request) -> facade::Reply {
    let facade::Request { method, payload, deadline, priority: _, tenant: _, peer } = request;
    let (_, _): (facade::MethodId, Option<facade::Instant>) = (method, deadline);
    let _: facade::PeerRef = peer;
    facade::Reply::ok(payload)
}

fn refused_at_a_lock(refused: facade::Refused) -> facade::Reply {
    refused.into()
}

/// How a call may end.
fn call_error(error: facade::CallError) -> Option<facade::Reason> {
    match error {
        facade::CallError::Shed(reason) => Some(reason),
        facade::CallError::Runtime(fault) => {
            let _: facade::Fault = fault;
            None
        }
        _ => None,
    }
}

fn start_error(error: facade::StartError) -> Option<(facade::Address, facade::ListenError)> {
    match error {
        facade::StartError::Listen(address, why) => Some((address, why)),
        facade::StartError::Config(why) => {
            let facade::ConfigError { place: _, setting: _, found: _, needed: _ } = why;
            None
        }
        facade::StartError::Core(why) => {
            let _: facade::PinError = why;
            None
        }
        facade::StartError::System(_) => None,
    }
}

/// Why a text is no address, or names no clients.
fn wrong_words(text: &str) -> (Option<facade::AddressError>, Option<facade::WordError>) {
    (text.parse::<facade::Address>().err(), text.parse::<facade::Introspection>().err())
}

/// An observer for [`facade::Server::start_observed`].
struct Watch;

impl facade::Observer for Watch {
    fn on_event(&mut self, _now: facade::Instant, event: &facade::Event) {
        if let facade::Event::Registered(session) = event {
            let _: facade::SessionId = *session;
        }
    }
}

fn observed(config: facade::ServerConfig, built: &facade::Controller) -> facade::Server {
    let service = |request: facade::Request| async move { handler(request) };
    let watch = |index| {
        let observer: Box<dyn facade::Observer + Send> =
            if index == 0 { Box::new(Watch) } else { Box::new(facade::Silent) };
        observer
    };
    let admission = built.admission.clone();
    facade::Server::start_observed(config, admission, service, watch).expect("it starts")
}

fn name_of<T>(_: &T) -> &'static str {
    type_name::<T>()
}

#[test]
fn whatever_the_facades_types_are_made_of_has_a_name_in_it() {
    let built = facade::breakwater(Duration::from_secs(1));
    let server = observed(facade::ServerConfig::default(), &built);
    let (totals, gauges): (facade::Totals, facade::Gauges) = (server.totals(), server.gauges());
    assert_eq!((totals.accepted, gauges.sessions), (0, 0));
    assert!(tiers(&server).is_empty());
    let client = facade::Client::connect(server.address().clone()).expect("a client starts");
    let options = facade::CallOptions { tenant: 7, ..facade::CallOptions::default() };
    let call: facade::CallFuture = client.call_with(1, "named", options);
    let answer: Result<facade::Answer, facade::CallError> = call.wait();
    assert_eq!(answer.map(|answer| answer.payload), Ok(b"named".to_vec()));

    assert_eq!(server_config(facade::ServerConfig::default()).len(), 5);
    let config = facade::ChannelConfig::new(facade::Address::Unix(PathBuf::from("/run/x")));
    assert!(channel_config(config).1.is_some());
    let loopback = facade::Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 1)));
    assert_eq!(retry_config(facade::RetryConfig::default()).1, facade::First::Own);
    let (admission, mode) = controller(facade::breakwater(Duration::from_secs(1)));
    let _: Box<dyn facade::Shard> = admission.shard(0);
    assert_eq!(mode, facade::Mode::Enforce);
    assert_eq!(call_error(facade::CallError::Expired), None);
    let taken = facade::StartError::Listen(loopback, facade::ListenError::InUse);
    assert!(start_error(taken).is_some());
    assert!(matches!(wrong_words("?"), (Some(_), Some(_))));
    let _ = refused_at_a_lock;
}
