//! One connection's TLS: from ciphertext on a socket to plaintext and back, without blocking.
//!
//! Bounds: rustls keeps at most a record and a half of what was received (some 34 KiB; 64 KiB of
//! certificates in a handshake) and 64 KiB of what is to be sent; beyond that nothing is taken.

use super::{Certificate, PROTOCOL, TlsClient, TlsError, TlsServer};
use crate::net::{Address, Transfer};
use rustix::fd::OwnedFd;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown,
};
use rustls::{ClientConnection, Connection, ServerConnection};
use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

/// Longest record on the wire (RFC 8446, 5.2, and its header). A buffer with so much room takes
/// whatever one read brings, so that no plaintext stays behind.
const RECORD_MAX: usize = 5 + (1 << 14) + 256;
/// What rustls asks the kernel for at once; fewer bytes say that the socket is empty.
const READ_SIZE: usize = 4_096;
/// Reads in one go. Records without plaintext fill no buffer, so that a peer could hold its loop with them; the socket stays readable.
const GO: usize = 16;

#[derive(Debug)]
pub(in crate::net) struct Session {
    tls: Connection,
    /// Plaintext that rustls holds.
    unread: usize,
    reading: Reading,
    writing: Writing,
    certificate: Option<Arc<Certificate>>,
    failure: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    Handshake,
    Open,
    /// The peer closed, vanished or broke the rules.
    Ended,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Writing {
    Open,
    /// The end is to be told once all is with the kernel.
    Ending,
    Ended,
}

/// What a look at the socket brought.
enum Received {
    /// There may be more.
    Much,
    /// The socket is empty now.
    Last,
}

impl Session {
    pub(in crate::net) fn server(server: &TlsServer) -> Result<Self, TlsError> {
        ServerConnection::new(server.config.clone())
            .map(Self::new)
            .map_err(|error| unusable(&error))
    }

    pub(in crate::net) fn client(client: &TlsClient, address: &Address) -> Result<Self, TlsError> {
        ClientConnection::new(client.config.clone(), client.name_at(address)?)
            .map(Self::new)
            .map_err(|error| unusable(&error))
    }

    fn new(tls: impl Into<Connection>) -> Self {
        Self {
            tls: tls.into(),
            unread: 0,
            reading: Reading::Handshake,
            writing: Writing::Open,
            certificate: None,
            failure: None,
        }
    }

    pub(in crate::net) fn is_handshaking(&self) -> bool {
        self.reading == Reading::Handshake
    }

    pub(in crate::net) fn wants_write(&self) -> bool {
        self.tls.wants_write()
    }

    pub(in crate::net) const fn has_unread(&self) -> bool {
        self.unread > 0
    }

    pub(in crate::net) const fn certificate(&self) -> Option<&Arc<Certificate>> {
        self.certificate.as_ref()
    }

    pub(in crate::net) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Goes on with the handshake, and no further; false if it has failed. What came behind its last
    /// message is unread then.
    pub(in crate::net) fn shake_hands(&mut self, socket: &OwnedFd) -> bool {
        while self.is_handshaking() && matches!(self.receive(socket), Some(Received::Much)) {}
        self.send(socket) && self.failure.is_none()
    }

    pub(in crate::net) fn read(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Transfer {
        let mut filled = self.take(buffer);
        for _ in 0..GO {
            let has_room = filled == 0 || buffer.len() - filled >= RECORD_MAX;
            if self.reading == Reading::Ended || self.unread > 0 || !has_room {
                break;
            }
            let received = self.receive(socket);
            filled += self.take(&mut buffer[filled..]);
            // What the handshake, or a change of keys, has us say.
            self.send(socket);
            if !matches!(received, Some(Received::Much)) {
                break;
            }
        }
        match filled {
            0 if self.reading == Reading::Ended => Transfer::Closed,
            0 => Transfer::WouldBlock,
            count => Transfer::Bytes(count),
        }
    }

    /// Takes what fits beside what is unsent. During the handshake that is nothing: no plaintext is
    /// accepted for a peer that is not known.
    pub(in crate::net) fn write(&mut self, socket: &OwnedFd, bytes: &[u8]) -> Transfer {
        if !self.send(socket) || self.failure.is_some() {
            return Transfer::Closed;
        }
        let mut taken = 0;
        while taken < bytes.len() && !self.is_handshaking() && !self.wants_write() {
            match self.tls.writer().write(&bytes[taken..]) {
                Ok(0) | Err(_) => break,
                Ok(count) => taken += count,
            }
            if !self.send(socket) {
                return Transfer::Closed;
            }
        }
        if taken == 0 { Transfer::WouldBlock } else { Transfer::Bytes(taken) }
    }

    /// Sends ciphertext until none is left or the socket is full; false if the peer is gone.
    pub(in crate::net) fn send(&mut self, socket: &OwnedFd) -> bool {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Socket(socket)) {
                Ok(_) => {}
                Err(error) if is_later(&error) => return true,
                Err(_) => return false,
            }
        }
        if self.writing == Writing::Ending {
            self.writing = Writing::Ended;
            // It fails only when the peer is gone, which the next read will tell.
            let _ = shutdown(socket, Shutdown::Write);
        }
        true
    }

    pub(in crate::net) fn finish_writing(&mut self, socket: &OwnedFd) {
        if self.writing == Writing::Open {
            self.tls.send_close_notify();
            self.writing = Writing::Ending;
        }
        self.send(socket);
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while self.unread > 0 && filled < buffer.len() {
            match self.tls.reader().read(&mut buffer[filled..]) {
                Ok(0) | Err(_) => self.unread = 0,
                Ok(count) => {
                    filled += count;
                    self.unread -= count;
                }
            }
        }
        filled
    }

    /// Reads and decrypts once; `None` when nothing came.
    fn receive(&mut self, socket: &OwnedFd) -> Option<Received> {
        let count = match self.tls.read_tls(&mut Socket(socket)) {
            Ok(0) => return self.end("the connection ended without notice"),
            Ok(count) => count,
            Err(error) if is_later(&error) => return None,
            Err(error) => return self.end(error),
        };
        let state = match self.tls.process_new_packets() {
            Ok(state) => state,
            Err(error) => return self.end(error),
        };
        self.unread = state.plaintext_bytes_to_read();
        if self.is_handshaking() && !self.tls.is_handshaking() {
            self.establish();
        }
        if state.peer_has_closed() {
            self.reading = Reading::Ended;
        }
        Some(if count < READ_SIZE { Received::Last } else { Received::Much })
    }

    /// The handshake is done. rustls lets an end pass that names no protocol at all.
    fn establish(&mut self) {
        if self.tls.alpn_protocol() != Some(PROTOCOL) {
            self.tls.send_close_notify();
            self.end("the peer does not name our protocol (ALPN)");
            return;
        }
        self.reading = Reading::Open;
        let shown = self.tls.peer_certificates().and_then(<[_]>::first);
        self.certificate = shown.map(|der| Arc::new(Certificate::new(der)));
    }

    /// A cut stream is closed like any other; its frames tell what is missing.
    fn end(&mut self, why: impl ToString) -> Option<Received> {
        self.reading = Reading::Ended;
        // Of a peer that is refused nothing is heard.
        self.unread = 0;
        self.failure.get_or_insert_with(|| why.to_string());
        None
    }
}

fn unusable(error: &rustls::Error) -> TlsError {
    TlsError::new(format!("TLS cannot begin: {error}"))
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// The socket as rustls wants it.
struct Socket<'a>(&'a OwnedFd);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(sendmsg(self.0, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
