//! Connected sockets that never block.

use super::{Address, KeepAlive, Peer};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};
use std::net::SocketAddr;

pub(super) const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A connected, non-blocking stream.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
}

/// What became of a read or write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// So many bytes.
    Bytes(usize),
    /// Not now.
    WouldBlock,
    /// The peer is gone: it closed, or the connection broke.
    Closed,
}

impl Stream {
    pub(super) const fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// Begins to connect; it stands when the socket becomes writable and [`Stream::trouble`] finds
    /// nothing.
    ///
    /// # Errors
    /// What the kernel says at once, such as a refused Unix socket.
    pub fn connect(address: &Address) -> Result<Self, Errno> {
        let socket = open(address)?;
        let result = match address {
            Address::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true)?;
                rustix::net::connect(&socket, address)
            }
            Address::Unix(path) => {
                rustix::net::connect(&socket, &SocketAddrUnix::new(path.as_path())?)
            }
        };
        match result {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Self { socket }),
            Err(error) => Err(error),
        }
    }

    /// Has the kernel watch over the peer; nothing happens on a Unix socket.
    ///
    /// # Errors
    /// When the kernel refuses a value that [`KeepAlive::check`] finds wrong.
    pub fn set_keep_alive(&self, keep_alive: KeepAlive) -> Result<(), Errno> {
        match sockopt::socket_domain(&self.socket)? {
            AddressFamily::UNIX => Ok(()),
            _ => keep_alive.set(&self.socket),
        }
    }

    /// At the other end.
    ///
    /// # Errors
    /// When the connection does not stand, or no longer.
    pub fn peer(&self) -> Result<Peer, Errno> {
        Peer::of(&self.socket)
    }

    /// A pending error of the socket: how a failed connection attempt shows.
    #[must_use]
    pub fn trouble(&self) -> Option<Errno> {
        match sockopt::socket_error(&self.socket) {
            Ok(Ok(())) => None,
            Ok(Err(error)) | Err(error) => Some(error),
        }
    }

    /// Reads what is there.
    pub fn read(&self, buffer: &mut [u8]) -> Transfer {
        outcome(rustix::net::recv(&self.socket, buffer, RecvFlags::empty()).map(|(_, read)| read))
    }

    /// No more will be written; reading goes on.
    pub(crate) fn finish_writing(&self) {
        // It fails only when the peer is gone, which the next read will tell.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
    }

    /// Writes what fits. An empty buffer is the caller's mistake.
    pub fn write(&self, bytes: &[u8]) -> Transfer {
        outcome(rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL))
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn outcome(result: Result<usize, Errno>) -> Transfer {
    match result {
        Ok(0) => Transfer::Closed,
        Ok(count) => Transfer::Bytes(count),
        Err(Errno::AGAIN | Errno::INTR) => Transfer::WouldBlock,
        Err(_) => Transfer::Closed,
    }
}

pub(super) fn open(address: &Address) -> Result<OwnedFd, Errno> {
    let (family, protocol) = match address {
        Address::Tcp(SocketAddr::V4(_)) => (AddressFamily::INET, Some(ipproto::TCP)),
        Address::Tcp(SocketAddr::V6(_)) => (AddressFamily::INET6, Some(ipproto::TCP)),
        Address::Unix(_) => (AddressFamily::UNIX, None),
    };
    rustix::net::socket_with(family, SocketType::STREAM, FLAGS, protocol)
}
