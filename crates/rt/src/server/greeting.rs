//! The first frame of a connection, and its answer.

use super::connection::{Connection, Phase};
use super::egress::grant;
use crate::config::ServerConfig;
use crate::net::PeerRef;
use tailwater_core::Instant;
use tailwater_wire::{GoodbyeCode, Hello, Limits, Welcome, negotiate};

/// Why a client is sent away at once.
pub(super) type Refusal = (GoodbyeCode, String);

/// Agrees on version and frame length, and says so.
pub(super) fn greet(
    connection: &mut Connection,
    hello: &Hello,
    config: &ServerConfig,
    now: Instant,
) -> Result<(), Refusal> {
    if hello.version_min > hello.version_max {
        let why = "HELLO's oldest version is newer than its newest";
        return Err((GoodbyeCode::Malformed, why.into()));
    }
    let version = negotiate(hello.version_min, hello.version_max)
        .map_err(|error| (GoodbyeCode::VersionUnsupported, error.to_string()))?;
    (connection.phase, connection.is_greeted) = (Phase::Open, true);
    connection.client_id = hello.client_id;
    connection.peer = connection.stream.peer().map(PeerRef::from).unwrap_or_default();
    connection.tenant = match (&config.tenants, connection.peer.get()) {
        (None, _) => hello.tenant,
        (Some(tenants), Some(peer)) => tenants.tell(&peer),
        // It is gone already.
        (Some(_), None) => 0,
    };
    connection.limits = Limits::new(config.frame_max).agree(hello.max_frame);
    let welcome = Welcome {
        version,
        features: 0,
        max_frame: connection.limits.max_frame(),
        session: connection.key.session().0,
        grant: grant(connection.offer),
        slo_us: u32::try_from(config.slo.as_micros()).unwrap_or(u32::MAX),
        stamp: now.stamp(),
    };
    welcome.encode(connection.output.buffer());
    Ok(())
}
