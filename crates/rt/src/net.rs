//! Addresses, listeners and streams: TCP and Unix sockets behind one face.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// `127.0.0.1:7000` or `[::1]:7000`; port 0 takes a free one.
    Tcp(SocketAddr),
    /// `unix:/path/to/socket`.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            format!(
                "'{text}' found, an address such as 127.0.0.1:7000 or unix:/run/my.sock is needed"
            )
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A listening socket; removes its path when dropped, if it has one.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    address: Address,
}

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
/// Connections that may wait to be accepted: ten thousand clients may come at once.
const BACKLOG: i32 = 16_384;

impl Listener {
    pub(crate) fn bind(address: &Address) -> Result<Self, Errno> {
        let socket = open(address)?;
        match address {
            Address::Tcp(address) => {
                sockopt::set_socket_reuseaddr(&socket, true)?;
                rustix::net::bind(&socket, address)?;
            }
            Address::Unix(path) => {
                remove_dead_socket(path);
                rustix::net::bind(&socket, &SocketAddrUnix::new(path.as_path())?)?;
            }
        }
        rustix::net::listen(&socket, BACKLOG)?;
        let address = match address {
            Address::Tcp(_) => Address::Tcp(
                SocketAddr::try_from(rustix::net::getsockname(&socket)?)
                    .map_err(|_| Errno::AFNOSUPPORT)?,
            ),
            Address::Unix(path) => Address::Unix(path.clone()),
        };
        Ok(Self { socket, address })
    }

    /// With the port that was really taken.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn accept(&self) -> Result<Stream, Errno> {
        let socket = rustix::net::accept_with(&self.socket, FLAGS)?;
        if matches!(self.address, Address::Tcp(_)) {
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        Ok(Stream { socket })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A socket file that nobody listens on any more is in the way of a restart; one in use is not
/// touched, and binding fails as it should.
fn remove_dead_socket(path: &std::path::Path) {
    if std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
    {
        let _ = std::fs::remove_file(path);
    }
}

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

fn open(address: &Address) -> Result<OwnedFd, Errno> {
    let (family, protocol) = match address {
        Address::Tcp(SocketAddr::V4(_)) => (AddressFamily::INET, Some(ipproto::TCP)),
        Address::Tcp(SocketAddr::V6(_)) => (AddressFamily::INET6, Some(ipproto::TCP)),
        Address::Unix(_) => (AddressFamily::UNIX, None),
    };
    rustix::net::socket_with(family, SocketType::STREAM, FLAGS, protocol)
}
