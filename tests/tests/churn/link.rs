//! Bytes of one connection: a socket that never waits, and frames in both directions.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// A socket that never waits.
pub(crate) struct Link {
    stream: TcpStream,
    input: Vec<u8>,
    output: VecDeque<u8>,
    /// Bytes that a touch sends at most.
    drips: Option<usize>,
}

/// What a read brought.
#[derive(PartialEq, Eq)]
pub(crate) enum Came {
    /// Nothing for now.
    Nothing,
    /// More bytes.
    Bytes,
    /// The end, or a break.
    End,
}

impl Link {
    /// Connects; `None` when nobody listens.
    pub(crate) fn connect(address: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_nonblocking(true).expect("a live socket");
        Some(Self { stream, input: Vec::new(), output: VecDeque::new(), drips: None })
    }

    /// Adds bytes to what is to be sent.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.output.extend(bytes);
    }

    /// From now on only so many bytes leave at once, until all have.
    pub(crate) fn drip(&mut self, bytes: usize) {
        self.drips = Some(bytes);
    }

    /// Whether it sends by drips.
    pub(crate) const fn drips(&self) -> bool {
        self.drips.is_some()
    }

    /// What is left leaves at once again.
    pub(crate) fn hurry(&mut self) {
        self.drips = None;
    }

    /// Sends what the socket takes, or one drip of it.
    pub(crate) fn flush(&mut self) {
        while !self.output.is_empty() {
            let (front, _) = self.output.as_slices();
            let most = self.drips.unwrap_or(front.len()).min(front.len());
            match self.stream.write(&front[..most]) {
                // A connection that is over is found out by the next read.
                Ok(0) | Err(_) => break,
                Ok(count) => drop(self.output.drain(..count)),
            }
            if self.drips.is_some() {
                break;
            }
        }
        if self.output.is_empty() {
            self.output = VecDeque::new();
            self.drips = None;
        }
    }

    /// Reads what has come.
    pub(crate) fn read(&mut self) -> Came {
        let mut bytes = [0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => Came::End,
            Ok(count) => {
                self.input.extend_from_slice(&bytes[..count]);
                Came::Bytes
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Came::Nothing,
            Err(error) if error.kind() == ErrorKind::Interrupted => Came::Nothing,
            Err(_) => Came::End,
        }
    }

    /// What has come and was not taken.
    pub(crate) fn input(&self) -> &[u8] {
        &self.input
    }

    /// Takes so many bytes of it.
    pub(crate) fn take(&mut self, count: usize) {
        self.input.drain(..count);
        if self.input.is_empty() {
            // Two thousand of them do not keep the buffers of their largest answers.
            self.input = Vec::new();
        }
    }
}
