//! Listening sockets.

use super::listen_error::ListenError;
use super::resolve::resolve;
use super::stream::{FLAGS, open};
use super::unix_path::Claim;
use super::{Address, KeepAlive, SocketRules, Stream};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, sockopt};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use tailwater_control::ConfigError;

/// A listening socket; removes its path when dropped, if it has one.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Dropped before the socket: while the socket lives, its inode is no other's.
    _claim: Option<Claim>,
    socket: OwnedFd,
    address: Address,
    /// Of those that are accepted: unlike other options they do not inherit it.
    quick_ack: bool,
    #[cfg(feature = "tls")]
    tls: Option<super::tls::TlsServer>,
}

/// Connections that may wait to be accepted: ten thousand clients may come at once.
const BACKLOG: i32 = 16_384;

impl Listener {
    pub(crate) fn bind(address: &Address) -> Result<Self, ListenError> {
        match address {
            Address::Tcp(address) => Self::bind_tcp(*address),
            Address::Name(host, port) => Self::bind_name(host, *port),
            Address::Unix(path) => Self::bind_unix(path),
        }
    }

    /// At the first of the name's addresses that is this machine's and free.
    fn bind_name(host: &str, port: u16) -> Result<Self, ListenError> {
        let unresolved = |error: io::Error| ListenError::Unresolved(error.to_string());
        let mut failed = ListenError::Unresolved("the name has no address".into());
        for address in resolve(host, port).map_err(unresolved)? {
            match Self::bind_tcp(address) {
                Ok(listener) => return Ok(listener),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn bind_tcp(address: SocketAddr) -> Result<Self, ListenError> {
        let socket = open(&Address::Tcp(address))?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        // Accepted sockets inherit it.
        sockopt::set_tcp_nodelay(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        let taken = SocketAddr::try_from(rustix::net::getsockname(&socket)?);
        let address = Address::Tcp(taken.map_err(|_| Errno::AFNOSUPPORT)?);
        Ok(Self::new(None, socket, address))
    }

    fn bind_unix(path: &Path) -> Result<Self, ListenError> {
        let address = Address::Unix(path.to_owned());
        let name = SocketAddrUnix::new(path)?;
        let socket = open(&address)?;
        let mut claim = Claim::take(path)?;
        rustix::net::bind(&socket, &name)?;
        claim.mark()?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(Self::new(Some(claim), socket, address))
    }

    const fn new(claim: Option<Claim>, socket: OwnedFd, address: Address) -> Self {
        Self {
            _claim: claim,
            socket,
            address,
            quick_ack: false,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Those who connect from now on must speak TLS.
    #[cfg(feature = "tls")]
    pub(crate) fn with_tls(self, tls: Option<super::tls::TlsServer>) -> Self {
        Self { tls, ..self }
    }

    /// Has the kernel watch over the peers of connections that are accepted from now on.
    pub(crate) fn set_keep_alive(&self, keep_alive: KeepAlive) -> Result<(), Errno> {
        match self.address {
            Address::Tcp(_) => keep_alive.set(&self.socket),
            Address::Name(..) | Address::Unix(_) => Ok(()),
        }
    }

    /// Sets options of connections that are accepted from now on.
    pub(crate) fn with_rules(self, rules: &SocketRules) -> Result<Self, ConfigError> {
        match self.address {
            Address::Tcp(_) => rules.set(&self.socket)?,
            Address::Name(..) | Address::Unix(_) => return Ok(self),
        }
        Ok(Self { quick_ack: rules.quick_ack, ..self })
    }

    /// With the port that was really taken.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// Looks once whether a client waits.
    pub(crate) fn accept(&self) -> Accept {
        match rustix::net::accept_with(&self.socket, FLAGS) {
            Ok(socket) => self.accepted(Stream::new(socket).with_quick_ack(self.quick_ack)),
            Err(errno) => Accept::from(errno),
        }
    }

    #[cfg(not(feature = "tls"))]
    const fn accepted(&self, stream: Stream) -> Accept {
        Accept::Stream(stream)
    }

    #[cfg(feature = "tls")]
    fn accepted(&self, stream: Stream) -> Accept {
        let Some(tls) = &self.tls else { return Accept::Stream(stream) };
        stream.secure_as_server(tls).map_or(Accept::Failed, Accept::Stream)
    }
}

/// What a look at the listener brought.
#[derive(Debug)]
pub(crate) enum Accept {
    /// A client.
    Stream(Stream),
    /// A client that was gone before it was let in: look for the next.
    Gone,
    /// No client waits.
    Later,
    /// The process or the system has no descriptor left. The client stays in the backlog and the
    /// listener readable: looking again at once is a busy loop.
    NoDescriptor,
    /// As [`Accept::NoDescriptor`], but the kernel lacks memory for a socket, or the listener is broken.
    Failed,
}

impl From<Errno> for Accept {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::AGAIN => Self::Later,
            // Linux hands over what is wrong with the client's connection (accept(2), "Error handling").
            Errno::CONNABORTED
            | Errno::INTR
            | Errno::PERM
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NONET
            | Errno::TIMEDOUT => Self::Gone,
            Errno::MFILE | Errno::NFILE => Self::NoDescriptor,
            _ => Self::Failed,
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::Transfer;
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    fn accepted(listener: &Listener) -> Stream {
        poll(&mut [PollFd::new(listener, PollFlags::IN)], None).unwrap();
        match listener.accept() {
            Accept::Stream(stream) => stream,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn accepted_sockets_send_without_delay() {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let _client = Stream::connect(listener.address()).unwrap();
        assert!(sockopt::tcp_nodelay(accepted(&listener)).unwrap());
    }

    /// An exchange of a byte each way; whether the kernel then acknowledges at once what came.
    fn acknowledges_at_once(client: &Stream, server: &Stream) -> bool {
        let mut byte = [0];
        assert_eq!(client.write(&[1]), Transfer::Bytes(1));
        poll(&mut [PollFd::new(server, PollFlags::IN)], None).unwrap();
        assert_eq!(server.read(&mut byte), Transfer::Bytes(1));
        let at_once = sockopt::tcp_quickack(server).unwrap();
        assert_eq!(server.write(&[2]), Transfer::Bytes(1));
        poll(&mut [PollFd::new(client, PollFlags::IN)], None).unwrap();
        assert_eq!(client.read(&mut byte), Transfer::Bytes(1));
        at_once
    }

    #[test]
    fn accepted_sockets_have_the_servers_rules() {
        let law = "reno".to_owned();
        let rules = SocketRules {
            quick_ack: true,
            send_buffer: Some(20_000),
            receive_buffer: Some(30_000),
            congestion_control: Some(law.clone()),
        };
        let bound = || Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = bound().with_rules(&rules).unwrap();
        let client = Stream::connect(listener.address()).unwrap();
        let server = accepted(&listener);
        assert_eq!(sockopt::socket_send_buffer_size(&server).unwrap(), 40_000);
        assert_eq!(sockopt::socket_recv_buffer_size(&server).unwrap(), 60_000);
        assert_eq!(sockopt::tcp_congestion(&server).unwrap(), law);
        assert!((0..50).all(|_| acknowledges_at_once(&client, &server)));
        // Without the rule answers carry the acknowledgements, as soon as some came quickly.
        let usual = bound();
        let client = Stream::connect(usual.address()).unwrap();
        let server = accepted(&usual);
        assert!(!(0..1_000).all(|_| acknowledges_at_once(&client, &server)));
        let unknown =
            SocketRules { congestion_control: Some("nosuchlaw".into()), ..SocketRules::default() };
        let why = bound().with_rules(&unknown).unwrap_err().to_string();
        assert!(why.contains("nosuchlaw") && why.contains("tcp_available"), "{why}");
    }

    #[test]
    fn only_a_clients_own_trouble_lets_the_acceptor_go_on_at_once() {
        let goes_on = |errno| matches!(Accept::from(errno), Accept::Gone);
        assert!([Errno::CONNABORTED, Errno::PROTO, Errno::NETDOWN].into_iter().all(goes_on));
        let stops = [Errno::NOBUFS, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::BADF];
        assert!(!stops.into_iter().any(goes_on));
        assert!(matches!(Accept::from(Errno::NOBUFS), Accept::Failed));
        assert!(matches!(Accept::from(Errno::NFILE), Accept::NoDescriptor));
    }
}
