//! What is compared.

use clap::ValueEnum;
use serde::Serialize;

/// A server and its own client, with TLS or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Peer {
    /// tailwater over plain TCP.
    Tailwater,
    /// tailwater over TLS 1.3.
    TailwaterTls,
    /// gRPC with tonic over plain TCP.
    Tonic,
    /// gRPC with tonic over TLS 1.3.
    TonicTls,
}

impl Peer {
    pub(crate) const ALL: [Self; 4] =
        [Self::Tailwater, Self::TailwaterTls, Self::Tonic, Self::TonicTls];

    pub(crate) const fn speaks_tls(self) -> bool {
        matches!(self, Self::TailwaterTls | Self::TonicTls)
    }

    pub(crate) const fn is_tailwater(self) -> bool {
        matches!(self, Self::Tailwater | Self::TailwaterTls)
    }

    /// As the command line and the table name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tailwater => "tailwater",
            Self::TailwaterTls => "tailwater-tls",
            Self::Tonic => "tonic",
            Self::TonicTls => "tonic-tls",
        }
    }
}

/// How many connections, and how many calls on each at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Case {
    /// As the table names it.
    pub(crate) name: &'static str,
    pub(crate) connections: usize,
    pub(crate) outstanding: usize,
}

/// Loaded, with and without batching; and one call at a time, whose round trip is the unloaded one.
pub(crate) const CASES: [Case; 3] = [
    Case { name: "100x1", connections: 100, outstanding: 1 },
    Case { name: "16x16", connections: 16, outstanding: 16 },
    Case { name: "1x1", connections: 1, outstanding: 1 },
];
