//! A server without manners: a bare listener, and frames made one by one.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tailwater_core::{Pause, RequestId, Stamp};
use tailwater_rt::Address;
use tailwater_wire::{
    ClientFrame, Grant, Limits, ReplyHead, Response, Welcome, decode_from_client,
};

/// Listens, and does nothing by itself.
pub(crate) struct Fake {
    listener: TcpListener,
}

impl Fake {
    /// On a free port.
    pub(crate) fn listen() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        Self { listener }
    }

    /// Where.
    pub(crate) fn address(&self) -> Address {
        Address::Tcp(self.listener.local_addr().expect("it is bound"))
    }

    /// Waits for a client.
    pub(crate) fn accept(&self) -> Side {
        let (stream, _) = self.listener.accept().expect("a client comes");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("above zero");
        Side { stream, input: Vec::new(), version: 0 }
    }

    /// A client that has come, if one has.
    pub(crate) fn try_accept(&self) -> Option<TcpStream> {
        self.listener.set_nonblocking(true).expect("a live socket");
        self.listener.accept().ok().map(|(stream, _)| stream)
    }
}

/// The server's end of a connection.
pub(crate) struct Side {
    stream: TcpStream,
    input: Vec<u8>,
    version: u16,
}

impl Side {
    /// Reads up to the next REQUEST and returns its number; `None` when the client is gone, or says
    /// nothing for half a minute.
    pub(crate) fn request(&mut self) -> Option<u64> {
        loop {
            if let Some(id) = self.parse() {
                return Some(id);
            }
            let mut bytes = [0; 4 << 10];
            match self.stream.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// Says WELCOME, with this window.
    pub(crate) fn welcome(&mut self, window: u32) {
        let mut bytes = Vec::new();
        Welcome {
            version: self.version,
            features: 0,
            max_frame: Limits::DEFAULT,
            session: 0,
            grant: Grant { window, seq: 0, level: 0, pause: Pause::NONE },
            slo_us: 0,
            stamp: Stamp(0),
        }
        .encode(&mut bytes);
        self.say(&bytes);
    }

    /// Answers a call, whether it was made or not.
    pub(crate) fn respond(&mut self, id: u64, window: u32, seq: u32, payload: &[u8]) {
        let grant = Grant { window, seq, level: 0, pause: Pause::NONE };
        let head =
            ReplyHead { id: RequestId(id), grant, stamp: Stamp(0), sojourn_ns: 0, waited_ns: 0 };
        let mut bytes = Vec::new();
        let response = Response { head, status: 0, payload };
        response.encode(&Limits::default(), &mut bytes).expect("a small payload");
        self.say(&bytes);
    }

    fn say(&mut self, bytes: &[u8]) {
        // A client that has closed is found out by the next read.
        let _ = self.stream.write_all(bytes);
    }

    fn parse(&mut self) -> Option<u64> {
        loop {
            let decoded = decode_from_client(&self.input, &Limits::default());
            let (frame, length) = decoded.expect("a client sends only frames")?;
            let mut id = None;
            match frame {
                ClientFrame::Hello(hello) => self.version = hello.version_max,
                ClientFrame::Request(request) => id = Some(request.id.0),
                _ => {}
            }
            self.input.drain(..length);
            if id.is_some() {
                return id;
            }
        }
    }
}
