//! Connected sockets that never block.

#[cfg(feature = "tls")]
use super::tls::{Session, TlsClient, TlsError, TlsServer};
use super::transfer::Transfer;
use super::{Address, KeepAlive, Peer};
use crate::poll::Interest;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};
#[cfg(feature = "tls")]
use std::cell::RefCell;
use std::net::SocketAddr;

pub(super) const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A connected, non-blocking stream.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    /// What was read is acknowledged at once.
    quick_ack: bool,
    /// Present where the stream speaks TLS. In a cell because a read may have to send, and the other
    /// way about; never borrowed across a call.
    #[cfg(feature = "tls")]
    session: Option<RefCell<Box<Session>>>,
}

impl Stream {
    /// Of a connected socket, which must be non-blocking.
    pub(super) const fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            quick_ack: false,
            #[cfg(feature = "tls")]
            session: None,
        }
    }

    /// What is read from now on is acknowledged at once, where it is a TCP socket.
    pub(super) const fn with_quick_ack(mut self, quick_ack: bool) -> Self {
        self.quick_ack = quick_ack;
        self
    }

    /// Begins to connect; it stands when the socket becomes writable and [`Stream::trouble`] finds
    /// nothing.
    ///
    /// # Errors
    /// What the kernel says at once, such as a refused Unix socket. A name is not resolved here, but by
    /// [`Dial`](super::Dial).
    pub fn connect(address: &Address) -> Result<Self, Errno> {
        let socket = open(address)?;
        let result = match address {
            Address::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true)?;
                rustix::net::connect(&socket, address)
            }
            // Names are resolved before.
            Address::Name(..) => Err(Errno::ADDRNOTAVAIL),
            Address::Unix(path) => {
                rustix::net::connect(&socket, &SocketAddrUnix::new(path.as_path())?)
            }
        };
        match result {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Self::new(socket)),
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
        let peer = Peer::of(&self.socket)?;
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            let certificate = session.borrow().certificate().cloned();
            return Ok(Peer::Tls { socket: Box::new(peer), certificate });
        }
        Ok(peer)
    }

    /// A pending error of the socket: how a failed connection attempt shows.
    #[must_use]
    pub fn trouble(&self) -> Option<Errno> {
        match sockopt::socket_error(&self.socket) {
            Ok(Ok(())) => None,
            Ok(Err(error)) | Err(error) => Some(error),
        }
    }

    /// Reads what is there. With TLS and a buffer of less than 32 KiB some of it may remain; see
    /// [`Stream::has_unread`].
    pub fn read(&self, buffer: &mut [u8]) -> Transfer {
        let read = self.receive(buffer);
        if self.quick_ack && matches!(read, Transfer::Bytes(_)) {
            // The kernel forgets it with the next answer (tcp(7)). Where it cannot be set, the read was no worse.
            let _ = sockopt::set_tcp_quickack(&self.socket, true);
        }
        read
    }

    fn receive(&self, buffer: &mut [u8]) -> Transfer {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.borrow_mut().read(&self.socket, buffer);
        }
        outcome(rustix::net::recv(&self.socket, buffer, RecvFlags::empty()).map(|(_, read)| read))
    }

    /// Writes what fits. An empty buffer is the caller's mistake.
    pub fn write(&self, bytes: &[u8]) -> Transfer {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.borrow_mut().write(&self.socket, bytes);
        }
        outcome(rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL))
    }

    /// Sends what TLS holds and the kernel had no room for: the handshake's messages and the rest of
    /// what [`Stream::write`] has taken. To be called when the socket is writable. Without TLS there is
    /// no such thing.
    pub fn push(&self) -> Transfer {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session
            && !session.borrow_mut().send(&self.socket)
        {
            return Transfer::Closed;
        }
        Transfer::Bytes(0)
    }

    /// No more will be written; reading goes on.
    pub fn finish_writing(&self) {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.borrow_mut().finish_writing(&self.socket);
        }
        // It fails only when the peer is gone, which the next read will tell.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
    }

    /// Whether something can be read although the socket may be empty: TLS has decrypted it already. The
    /// poller does not tell of it.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.borrow().has_unread();
        }
        false
    }

    /// Whether the peer is not known yet: nothing can be written, and nothing comes.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            return session.borrow().is_handshaking();
        }
        false
    }

    /// What the socket is to be watched for when its owner wants this of the stream. It may change with
    /// each call that reads, writes or pushes.
    #[must_use]
    pub fn interest(&self, wanted: Interest) -> Interest {
        #[cfg(feature = "tls")]
        if let Some(session) = &self.session {
            let session = session.borrow();
            // During a handshake the socket is writable nearly always, which helps only if something is
            // to be sent.
            let (early, writes) = (session.is_handshaking(), session.wants_write());
            return Interest {
                readable: wanted.readable || early,
                writable: writes || wanted.writable && !early,
            };
        }
        wanted
    }
}

#[cfg(feature = "tls")]
impl Stream {
    /// Speaks TLS from now on, as the end that was connected to.
    ///
    /// # Errors
    /// When the configuration does not allow a session.
    pub fn secure_as_server(self, tls: &TlsServer) -> Result<Self, TlsError> {
        Ok(self.secured(Session::server(tls)?))
    }

    /// Speaks TLS from now on, as the end that connected to `address`.
    ///
    /// # Errors
    /// When the server's name is not known: a Unix socket has none.
    pub fn secure_as_client(self, tls: &TlsClient, address: &Address) -> Result<Self, TlsError> {
        Ok(self.secured(Session::client(tls, address)?))
    }

    /// Why TLS has ended the stream, if it has: a certificate that is not believed, a peer that broke the
    /// rules or was cut off.
    #[must_use]
    pub fn tls_failure(&self) -> Option<String> {
        let session = self.session.as_ref()?.borrow();
        session.failure().map(str::to_owned)
    }

    /// Goes on with the handshake; false if it has failed.
    pub(super) fn shake_hands(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.borrow_mut().shake_hands(&self.socket))
    }

    fn secured(self, session: Session) -> Self {
        Self { session: Some(RefCell::new(Box::new(session))), ..self }
    }
}

/// Of a connected socket; it is made non-blocking.
impl TryFrom<OwnedFd> for Stream {
    type Error = Errno;

    fn try_from(socket: OwnedFd) -> Result<Self, Errno> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self::new(socket))
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
        Address::Name(..) => return Err(Errno::ADDRNOTAVAIL),
    };
    rustix::net::socket_with(family, SocketType::STREAM, FLAGS, protocol)
}
