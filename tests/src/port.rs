//! A port of a test's own. Tests of other crates take this file in by its path: they stand below this crate.

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::net::{Ipv4Addr, SocketAddr};

/// A port that no other program gets while this lives. Nothing listens there but what the test starts, as often as it likes.
#[derive(Debug)]
pub struct Port {
    _bound: OwnedFd,
    address: SocketAddr,
}

impl Port {
    /// Any that is free.
    ///
    /// # Panics
    /// When none is.
    #[must_use]
    pub fn keep() -> Self {
        let (family, stream) = (AddressFamily::INET, SocketType::STREAM);
        let bound = rustix::net::socket_with(family, stream, SocketFlags::CLOEXEC, None);
        let bound = bound.expect("a descriptor");
        // Servers have it, too: one that does not listen is no obstacle to another that binds (socket(7), SO_REUSEADDR).
        sockopt::set_socket_reuseaddr(&bound, true).expect("a fresh socket");
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        rustix::net::bind(&bound, &anywhere).expect("a port is free");
        let address = rustix::net::getsockname(&bound).expect("it is bound");
        Self {
            _bound: bound,
            address: address.try_into().expect("it is bound to an address of IP"),
        }
    }

    /// Of this machine alone.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}
