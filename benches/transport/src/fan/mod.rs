//! Mid-tier servers: each request goes on to four leaves, and is answered with what all of them said.
//!
//! All of them call the same leaves, ask once for each, and check that each answer is the request's own payload. So
//! what they cost differs by how they wait and frame, and by nothing else.

pub(crate) mod raw;
pub(crate) mod tailwater;
pub(crate) mod tonic;

use crate::poller::Reception;
use std::net::SocketAddr;

/// Leaves that each request asks; one process serves them all, by a connection for each.
pub(crate) const LEAVES: usize = 4;

/// Where a mid-tier serves, and whom it asks.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct FanArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Core to run on.
    #[arg(long, default_value_t = 0)]
    pub(crate) core: usize,
    /// block, spin:50us or poll.
    #[arg(long, default_value = "block")]
    pub(crate) reception: Reception,
    /// Where the leaves listen.
    #[arg(long)]
    pub(crate) leaf: SocketAddr,
    /// Copies each body once more (fan-raw alone).
    #[arg(long)]
    pub(crate) copies: bool,
}
