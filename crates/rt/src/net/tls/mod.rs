//! TLS 1.3 over streams, by rustls: certificates of servers and clients, and our protocol by name.
//!
//! [`TlsServer`] and [`TlsClient`] say what an end shows and what it demands; [`Certificate`] is what the
//! other end has shown. Sessions are never resumed, so that each connection checks certificates anew.

mod certificate;
mod config;
mod session;

pub use certificate::Certificate;
pub use config::{Clients, Identity, Roots, TlsClient, TlsServer};
pub(super) use session::Session;

use std::fmt;

/// The protocol's name in the handshake (ALPN, RFC 7301). An end that does not agree on it is refused.
pub const PROTOCOL: &[u8] = b"tailwater/2";

/// Why certificates, keys or names cannot be used. The message says what was found and what is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsError(String);

impl TlsError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}
