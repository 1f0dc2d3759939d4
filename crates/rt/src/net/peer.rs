//! At the other end of a stream.

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, getpeername, sockopt::socket_domain};
use std::borrow::Cow;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

/// The other end of a connection, as the kernel knows it; nothing here is the peer's own word.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Peer {
    /// A TCP address.
    Tcp(SocketAddr),
    /// The process that connected to our Unix socket, or that listened at the one we connected to, as
    /// it was then.
    Unix {
        /// Its process number; `None` if it lives in a namespace that we cannot see, such as another
        /// container. Numbers are used again once a process has ended.
        pid: Option<u32>,
        /// Its effective user.
        uid: u32,
        /// Its effective group.
        gid: u32,
    },
    /// A peer that speaks TLS.
    #[cfg(feature = "tls")]
    Tls {
        /// What the kernel knows.
        socket: Box<Self>,
        /// What it has shown of itself; `None` from a client that has not, or before the handshake is
        /// done.
        certificate: Option<std::sync::Arc<super::tls::Certificate>>,
    },
}

impl Peer {
    /// Whether it is on this machine: its socket is a Unix socket or has a loopback address.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix { .. } => true,
            #[cfg(feature = "tls")]
            Self::Tls { socket, .. } => socket.is_local(),
        }
    }

    /// Of a connected socket.
    pub(super) fn of(socket: &impl AsFd) -> Result<Self, Errno> {
        if socket_domain(socket)? == AddressFamily::UNIX {
            return Self::of_unix(socket);
        }
        let name = getpeername(socket)?.ok_or(Errno::NOTCONN)?;
        SocketAddr::try_from(name).map(Self::Tcp).map_err(|_| Errno::AFNOSUPPORT)
    }

    /// By `nix`: `rustix` declares the process number as non-zero, and the kernel says 0 where the
    /// process cannot be seen.
    fn of_unix(socket: &impl AsFd) -> Result<Self, Errno> {
        let found = getsockopt(&socket.as_fd(), PeerCredentials)
            .map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
        let pid = u32::try_from(found.pid()).ok().filter(|pid| *pid > 0);
        Ok(Self::Unix { pid, uid: found.uid(), gid: found.gid() })
    }
}

/// The other end of a request's connection. Each request has one, so that a copy must cost next to nothing:
/// an address of the most usual kind is kept here, and the rest shared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PeerRef(Kept);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Kept {
    #[default]
    Unknown,
    /// A count shared by all requests would be touched twice for each: some 15 ns.
    TcpV4(SocketAddrV4),
    Shared(Arc<Peer>),
}

impl PeerRef {
    /// The peer; `None` where the kernel did not tell.
    #[must_use]
    pub fn get(&self) -> Option<Cow<'_, Peer>> {
        match &self.0 {
            Kept::Unknown => None,
            Kept::TcpV4(address) => Some(Cow::Owned(Peer::Tcp(SocketAddr::V4(*address)))),
            Kept::Shared(peer) => Some(Cow::Borrowed(peer)),
        }
    }
}

impl From<Peer> for PeerRef {
    fn from(peer: Peer) -> Self {
        Self(match peer {
            Peer::Tcp(SocketAddr::V4(address)) => Kept::TcpV4(address),
            other => Kept::Shared(Arc::new(other)),
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Accept, Address, Listener, Stream};
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    fn connected(address: &Address) -> (Listener, Stream, Stream) {
        let listener = Listener::bind(address).unwrap();
        let client = Stream::connect(listener.address()).unwrap();
        poll(&mut [PollFd::new(&listener, PollFlags::IN)], None).unwrap();
        let Accept::Stream(server) = listener.accept() else { panic!("nobody came") };
        (listener, client, server)
    }

    #[test]
    fn the_process_at_the_other_end_of_a_unix_socket_is_told() {
        let name = format!("tailwater-{}-peer.sock", std::process::id());
        let (_listener, client, server) =
            connected(&Address::Unix(std::env::temp_dir().join(name)));
        let us = Peer::Unix {
            pid: Some(std::process::id()),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
        };
        assert_eq!(server.peer(), Ok(us.clone()));
        assert_eq!(client.peer(), Ok(us));
    }

    #[test]
    fn the_address_at_the_other_end_of_a_tcp_connection_is_told() {
        let (listener, client, server) = connected(&"127.0.0.1:0".parse().unwrap());
        let Address::Tcp(listening) = *listener.address() else { panic!("it listens on TCP") };
        assert_eq!(client.peer(), Ok(Peer::Tcp(listening)));
        let Ok(Peer::Tcp(address)) = server.peer() else { panic!("{:?}", server.peer()) };
        assert!(address.ip().is_loopback() && address != listening);
    }

    #[test]
    fn what_a_request_is_told_of_its_peer_is_all_that_is_known() {
        let unix = Peer::Unix { pid: Some(7), uid: 1, gid: 2 };
        let [v4, v6] = ["127.0.0.1:80", "[::1]:80"].map(|it| Peer::Tcp(it.parse().unwrap()));
        for peer in [unix, v4, v6] {
            assert_eq!(PeerRef::from(peer.clone()).get().as_deref(), Some(&peer));
        }
        assert_eq!(PeerRef::default().get(), None);
    }
}
