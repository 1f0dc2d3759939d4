//! The yardstick: what an echo costs when nothing is done but what the kernel demands.
//!
//! One thread, level-triggered epoll, one `recv` and one `send` for each ready socket. The frames are
//! tailwater's, written out by hand: no sessions, no credits, no queue, no clock. Whatever tailwater
//! costs above this is what its RPC runtime adds.

use crate::host;
use crate::poller::{Poller, Reception};
use crate::ready;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, sockopt,
};
use std::net::SocketAddr;

/// Where and how it serves.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct RawArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Core to run on.
    #[arg(long, default_value_t = 0)]
    core: usize,
    /// block, spin:50us or poll.
    #[arg(long, default_value = "poll")]
    reception: Reception,
}

/// Serves until killed.
pub(crate) fn serve(args: &RawArgs) -> Result<(), String> {
    host::pin(args.core)?;
    host::raise_descriptor_limit();
    let mut server = Server::bind(args).map_err(|error| format!("{}: {error}", args.listen))?;
    ready::announce(address_of(&server.listener)?)?;
    loop {
        server.turn().map_err(|error| error.to_string())?;
    }
}

/// A socket of this address's family, which never blocks.
pub(crate) fn socket(of: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if of.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    rustix::net::socket_with(family, SocketType::STREAM, FLAGS, None)
}

/// Listens.
pub(crate) fn listen(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let listener = socket(address)?;
    rustix::net::bind(&listener, &address)?;
    rustix::net::listen(&listener, CONNECTIONS_MAX as i32)?;
    Ok(listener)
}

/// Where it listens.
pub(crate) fn address_of(listener: &OwnedFd) -> Result<SocketAddr, String> {
    let address = rustix::net::getsockname(listener).map_err(|error| error.to_string())?;
    address.try_into().map_err(|_| "no IP address".to_owned())
}

/// A connection that waits to be let in.
pub(crate) fn accept(listener: &OwnedFd) -> Result<Option<OwnedFd>, Errno> {
    match accept_with(listener, FLAGS) {
        Ok(socket) => {
            sockopt::set_tcp_nodelay(&socket, true)?;
            Ok(Some(socket))
        }
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
        Err(error) => Err(error),
    }
}

struct Server {
    poller: Poller,
    listener: OwnedFd,
    /// By key; closed ones are `None` until their place is taken again.
    connections: Vec<Option<Connection>>,
    input: Vec<u8>,
    output: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// The beginning of a frame whose end has not come yet; shorter than [`FRAME_MAX`].
    tail: Vec<u8>,
}

/// Received at once, in bytes.
pub(crate) const SCRATCH: usize = 64 << 10;
/// Beyond these, connections are closed as they come.
pub(crate) const CONNECTIONS_MAX: usize = 16_384;
pub(crate) const LISTENER: usize = usize::MAX;
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

impl Server {
    fn bind(args: &RawArgs) -> Result<Self, Errno> {
        let listener = listen(args.listen)?;
        let poller = Poller::new(args.reception, None)?;
        poller.watch(&listener, LISTENER)?;
        Ok(Self {
            poller,
            listener,
            connections: Vec::new(),
            input: vec![0; SCRATCH],
            output: Vec::with_capacity(SCRATCH),
        })
    }

    fn turn(&mut self) -> Result<(), Errno> {
        for index in 0..self.poller.wait()? {
            match self.poller.key(index) {
                LISTENER => self.accept()?,
                key => {
                    if self.answer(key).is_none() {
                        self.connections[key] = None;
                    }
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), Errno> {
        while let Some(socket) = accept(&self.listener)? {
            let free = self.connections.iter().position(Option::is_none);
            let key = free.unwrap_or(self.connections.len());
            if key >= CONNECTIONS_MAX {
                continue;
            }
            self.poller.watch(&socket, key)?;
            let connection = Connection { socket, tail: Vec::new() };
            match free {
                Some(key) => self.connections[key] = Some(connection),
                None => self.connections.push(Some(connection)),
            }
        }
        Ok(())
    }

    /// One `recv`, an answer to every complete frame, one `send`. `None`: close the connection.
    fn answer(&mut self, key: usize) -> Option<()> {
        let connection = self.connections[key].as_mut()?;
        let kept = connection.tail.len();
        self.input[..kept].copy_from_slice(&connection.tail);
        let received = match rustix::net::recv(
            &connection.socket,
            &mut self.input[kept..],
            RecvFlags::empty(),
        ) {
            Ok((0, _)) => return None,
            Ok((received, _)) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Some(()),
            Err(_) => return None,
        };
        let input = &self.input[..kept + received];
        self.output.clear();
        let used = echo(input, &mut self.output)?;
        connection.tail.clear();
        connection.tail.extend_from_slice(&input[used..]);
        if self.output.is_empty() {
            return Some(());
        }
        let sent = rustix::net::send(&connection.socket, &self.output, SendFlags::NOSIGNAL);
        // A closed loop has too little outstanding to fill a socket's buffer; whoever does is not
        // the client that this server is for, and it holds nothing for it.
        (sent == Ok(self.output.len())).then_some(())
    }
}

/// Of the protocol; `tailwater_wire::VERSION_MAX`.
const VERSION: u8 = 2;
const PREFIX: usize = 8;
/// Room for a body of 8 KiB.
pub(crate) const FRAME_MAX: u32 = 16 << 10;
/// What frames are called, and the length of their heads.
pub(crate) const HELLO: (u8, usize) = (1, 36);
pub(crate) const WELCOME: (u8, usize) = (2, 40);
pub(crate) const REQUEST: (u8, usize) = (3, 48);
pub(crate) const RESPONSE: (u8, usize) = (4, 40);

/// Appends the answer to every complete frame and says how many bytes those took; `None` for bytes
/// that are no HELLO or REQUEST.
fn echo(input: &[u8], output: &mut Vec<u8>) -> Option<usize> {
    each_frame(input, [HELLO, REQUEST], |kind, frame| {
        if kind == HELLO.0 {
            welcome(output);
        } else {
            respond(&frame[8..16], &frame[REQUEST.1..], output);
        }
        Some(())
    })
}

/// Shows every complete frame of two kinds, and says how many bytes those took; `None` for other bytes, and where
/// `on_frame` says so.
#[inline]
pub(crate) fn each_frame(
    input: &[u8],
    kinds: [(u8, usize); 2],
    mut on_frame: impl FnMut(u8, &[u8]) -> Option<()>,
) -> Option<usize> {
    let mut rest = input;
    while let Some(prefix) = rest.first_chunk::<PREFIX>() {
        let [a, b, c, d, kind, ..] = *prefix;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        let (_, needed) = kinds.into_iter().find(|(known, _)| *known == kind)?;
        if len > FRAME_MAX as usize || len < needed {
            return None;
        }
        let Some((frame, behind)) = rest.split_at_checked(len) else {
            break;
        };
        on_frame(kind, frame)?;
        rest = behind;
    }
    Some(input.len() - rest.len())
}

/// Version 2, frames up to [`FRAME_MAX`], no limit on requests outstanding.
pub(crate) fn welcome(output: &mut Vec<u8>) {
    let mut head = [0; WELCOME.1];
    head[..4].copy_from_slice(&(WELCOME.1 as u32).to_le_bytes());
    head[4] = WELCOME.0;
    head[6] = VERSION;
    head[12..16].copy_from_slice(&FRAME_MAX.to_le_bytes());
    head[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
    output.extend_from_slice(&head);
}

/// Status 0, the request's id and payload, no limit on requests outstanding.
pub(crate) fn respond(id: &[u8], payload: &[u8], output: &mut Vec<u8>) {
    let mut head = [0; RESPONSE.1];
    head[..4].copy_from_slice(&((RESPONSE.1 + payload.len()) as u32).to_le_bytes());
    head[4] = RESPONSE.0;
    head[8..16].copy_from_slice(id);
    head[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    output.extend_from_slice(&head);
    output.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::{MethodId, RequestId, Stamp};
    use tailwater_wire::{
        Goodbye, GoodbyeCode, Hello, Limits, Request, ServerFrame, VERSION_MAX, VERSION_MIN,
        decode_from_server,
    };

    /// A HELLO and a request, as tailwater's own code writes them.
    fn session() -> Vec<u8> {
        let mut bytes = Vec::new();
        let hello = Hello {
            version_min: VERSION_MIN,
            version_max: VERSION_MAX,
            features: 0,
            max_frame: 4096,
            client_id: 0,
            tenant: 0,
        };
        hello.encode(&mut bytes);
        let request = Request {
            id: RequestId(0x0102_0304_0506_0708),
            method: MethodId(1),
            register: true,
            demand: 0,
            acked: 0,
            echo: None,
            sent_at: Stamp(5),
            budget_us: 0,
            tenant: 0,
            priority: 128,
            payload: b"ping",
        };
        request.encode(&Limits::default(), &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn tailwaters_own_code_understands_the_answers() {
        let mut output = Vec::new();
        let input = session();
        assert_eq!(echo(&input, &mut output), Some(input.len()));
        let limits = Limits::default();
        let (welcome, used) = decode_from_server(&output, &limits).unwrap().unwrap();
        let ServerFrame::Welcome(welcome) = welcome else {
            panic!("{welcome:?}");
        };
        assert_eq!((welcome.version, welcome.grant.window), (VERSION_MAX, u32::MAX));
        let (response, _) = decode_from_server(&output[used..], &limits).unwrap().unwrap();
        let ServerFrame::Response(response) = response else {
            panic!("{response:?}");
        };
        assert_eq!(response.head.id, RequestId(0x0102_0304_0506_0708));
        assert_eq!(response.head.grant.window, u32::MAX);
        assert_eq!((response.status, response.payload), (0, &b"ping"[..]));
    }

    #[test]
    fn any_cut_gives_the_same_answers() {
        let input = session();
        let mut whole = Vec::new();
        echo(&input, &mut whole).unwrap();
        for cut in 0..input.len() {
            let mut output = Vec::new();
            let used = echo(&input[..cut], &mut output).unwrap();
            let rest = echo(&input[used..], &mut output).unwrap();
            assert_eq!((used + rest, &output), (input.len(), &whole), "cut at {cut}");
        }
    }

    #[test]
    fn other_bytes_close_the_connection() {
        let mut goodbye = Vec::new();
        Goodbye::new(GoodbyeCode::Done, "").encode(&mut goodbye);
        let too_long = [0xff, 0xff, 0, 0, REQUEST.0, 0, 0, 0];
        let too_short = [47, 0, 0, 0, REQUEST.0, 0, 0, 0];
        for bytes in [&goodbye[..], &too_long, &too_short, &[0; 8]] {
            assert_eq!(echo(bytes, &mut Vec::new()), None, "{bytes:?}");
        }
    }
}
