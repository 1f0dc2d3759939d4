//! What the stages' tests have in common.

use super::connection::{Connection, Phase};
use super::connections::Connections;
use super::event_loop::{EventLoop, Start};
use super::inbox::Inbox;
use super::introspect::Reporter;
use super::job::{Job, Origin};
use super::key::{ConnectionKey, RequestKey};
use super::shared::Shared;
use crate::config::ServerConfig;
use crate::downstream::Trunk;
use crate::net::{Accept, Listener, PeerRef, Stream};
use crate::poll::Poller;
use crate::service::{Reply, Request};
use std::sync::Arc;
use tailwater_control::Admission;
use tailwater_core::{Class, Instant, MethodId, RequestId, Silent, Stamp};

pub(super) fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A request as a client without deadline and control sends it.
pub(super) const fn sent(id: u64) -> tailwater_wire::Request<'static> {
    tailwater_wire::Request {
        id: RequestId(id),
        method: MethodId(1),
        register: true,
        demand: 0,
        acked: 0,
        echo: None,
        sent_at: Stamp(0),
        budget_us: 0,
        tenant: 0,
        priority: 128,
        payload: b"",
    }
}

/// A request of the connection in this slot, with a kibibyte of arguments, that waits since `ready`.
pub(super) fn job(slot: u32, id: u64, ready: u64) -> Job {
    let key = RequestKey { connection: ConnectionKey::new(slot, 1), id: RequestId(id) };
    let payload = vec![0; 1_024];
    let origin = Origin {
        key,
        arrived: at(ready),
        ready: at(ready),
        bytes: payload.len(),
        class: Class::default(),
        name: None,
    };
    let request = Request {
        method: MethodId(1),
        payload,
        deadline: None,
        priority: 128,
        tenant: 0,
        peer: PeerRef::default(),
    };
    Job { origin, recalled: false, budget: None, request }
}

/// Both ends of a socket: the server's, and a client's.
pub(super) fn streams() -> (Stream, Stream) {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
    let client = Stream::connect(listener.address()).unwrap();
    loop {
        if let Accept::Stream(server) = listener.accept() {
            return (server, client);
        }
        std::thread::yield_now();
    }
}

/// A connection that has greeted, heard last at time zero, and its client's end.
pub(super) fn open(connections: &mut Connections) -> (&mut Connection, Stream) {
    let (server, client) = streams();
    let connection = connections.add(server, at(0), at(10_000));
    connection.phase = Phase::Open;
    (connection, client)
}

/// A loop without a listener, in whose place the test takes its turns.
pub(super) fn event_loop<F: Future<Output = Reply>>(
    config: ServerConfig,
    admission: Arc<dyn Admission>,
) -> EventLoop<F> {
    let inboxes = Arc::new([Inbox::new().unwrap()]);
    let shared = Arc::new(Shared::new(config, admission, inboxes));
    let (_, questions) = Reporter::new(shared.clone());
    let poller = Poller::new().unwrap();
    let trunk =
        (!shared.config.tiers.is_empty()).then(|| Trunk::new(&poller).expect("it is a poller"));
    let start = Start { shared, index: 0, poller, trunk, listener: None, pool: None, questions };
    EventLoop::new(start, Box::new(Silent))
}
