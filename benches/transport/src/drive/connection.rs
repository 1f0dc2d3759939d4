//! One connection: its socket, its half-received message, its calls without an answer.

use super::PATIENCE;
use crate::protocol::{Event, Protocol};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// A connection that speaks `P`.
pub(super) struct Connection<P> {
    socket: TcpStream,
    protocol: P,
    /// Number of the next call.
    next: u64,
    /// Number and start of every call without an answer, oldest first.
    calls: VecDeque<(u64, u64)>,
    /// The beginning of a message whose end has not come yet.
    tail: Vec<u8>,
    open: bool,
}

impl<P: Protocol> Connection<P> {
    /// Connects and says what the protocol begins with. True when the server must answer that first.
    pub(super) fn open(address: SocketAddr, number: u64) -> Result<(Self, bool), String> {
        let connect = || {
            let socket = TcpStream::connect_timeout(&address, PATIENCE)?;
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let mut connection = Self {
            socket: connect().map_err(|error: std::io::Error| error.to_string())?,
            protocol: P::new(number),
            next: 0,
            calls: VecDeque::new(),
            tail: Vec::new(),
            open: true,
        };
        let mut greeting = Vec::new();
        let waits = connection.protocol.open(&mut greeting);
        connection.open = !waits;
        connection.send(&greeting)?;
        Ok((connection, waits))
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Appends the next call to `output`.
    pub(super) fn ask(&mut self, now_ns: u64, output: &mut Vec<u8>) -> Result<(), String> {
        self.protocol.ask(self.next, now_ns, output)?;
        self.calls.push_back((self.next, now_ns));
        self.next += 1;
        Ok(())
    }

    /// Fills `input` with what was left over and what has come, and says how much that is.
    pub(super) fn receive(&mut self, input: &mut [u8]) -> Result<usize, String> {
        let kept = self.tail.len();
        input[..kept].copy_from_slice(&self.tail);
        match rustix::net::recv(&self.socket, &mut input[kept..], RecvFlags::empty()) {
            Ok((0, _)) => Err("the server closed it".to_owned()),
            Ok((received, _)) => Ok(kept + received),
            Err(Errno::AGAIN | Errno::INTR) => Ok(kept),
            Err(error) => Err(format!("cannot receive: {error}")),
        }
    }

    /// Hears every complete message, hands the start of each answered call to `answered`, keeps the
    /// rest for the next time. True when the connection has just been opened.
    pub(super) fn take(
        &mut self,
        input: &[u8],
        now_ns: u64,
        output: &mut Vec<u8>,
        answered: &mut Vec<u64>,
    ) -> Result<bool, String> {
        let was_open = self.open;
        let mut rest = input;
        while let Some((used, event)) = self.protocol.take(rest, now_ns, output)? {
            match event {
                Event::Open => self.open = true,
                Event::Answer(call) => answered.push(self.answered(call)?),
                Event::Noted => {}
            }
            rest = &rest[used..];
        }
        self.tail.clear();
        self.tail.extend_from_slice(rest);
        Ok(self.open && !was_open)
    }

    /// Sends all of `output`: what is outstanding is far below a socket's buffer, so that a part left
    /// over means a server that does not read.
    pub(super) fn send(&self, output: &[u8]) -> Result<(), String> {
        if output.is_empty() {
            return Ok(());
        }
        match rustix::net::send(&self.socket, output, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == output.len() => Ok(()),
            Ok(sent) => Err(format!("the server took {sent} of {} bytes", output.len())),
            Err(error) => Err(format!("cannot send: {error}")),
        }
    }

    /// When the call was made. Most servers answer in order, so that the search ends at once.
    fn answered(&mut self, call: u64) -> Result<u64, String> {
        let at = self.calls.iter().position(|(number, _)| *number == call);
        at.and_then(|at| self.calls.remove(at))
            .map(|(_, sent_ns)| sent_ns)
            .ok_or_else(|| format!("call {call} was answered twice or never made"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload;
    use crate::protocol::Tarpc;
    use std::io::Read;
    use std::net::TcpListener;

    /// A protocol of bare call numbers, one byte each; 255 opens.
    struct Bytes;

    impl Protocol for Bytes {
        fn new(_: u64) -> Self {
            Self
        }
        fn open(&mut self, output: &mut Vec<u8>) -> bool {
            output.push(255);
            true
        }
        fn ask(&mut self, call: u64, _: u64, output: &mut Vec<u8>) -> Result<(), String> {
            output.extend_from_slice(&[call as u8; 2]);
            Ok(())
        }
        fn take(
            &mut self,
            input: &[u8],
            _: u64,
            _: &mut Vec<u8>,
        ) -> Result<Option<(usize, Event)>, String> {
            Ok(input.first_chunk().map(|[a, b]| match a {
                255 => (2, Event::Open),
                call => {
                    assert_eq!(call, b);
                    (2, Event::Answer((*call).into()))
                }
            }))
        }
    }

    fn connection<P: Protocol>() -> (Connection<P>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (connection, _) = Connection::open(address, 5).unwrap();
        (connection, listener.accept().unwrap().0)
    }

    #[test]
    fn answers_are_matched_in_any_order_and_only_once() {
        let (mut connection, mut server) = connection::<Bytes>();
        let mut greeting = [0];
        server.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting, [255]);
        let (mut output, mut answered) = (Vec::new(), Vec::new());
        for now_ns in [10, 20, 30] {
            connection.ask(now_ns, &mut output).unwrap();
        }
        let mut take = |input: &[u8]| {
            answered.clear();
            let opened = connection.take(input, 40, &mut Vec::new(), &mut answered)?;
            Ok::<_, String>((opened, answered.clone()))
        };
        assert_eq!(take(&[255, 255, 2, 2]), Ok((true, vec![30])));
        assert_eq!(take(&[255, 255, 0, 0, 1]), Ok((false, vec![10])));
        assert!(take(&[2, 2]).unwrap_err().contains("call 2"));
        assert_eq!(connection.tail, [1], "kept until the rest comes");
    }

    #[test]
    fn a_server_that_closes_is_an_error() {
        let (mut connection, server) = connection::<Tarpc>();
        drop(server);
        let mut input = [0; payload::LEN];
        connection.socket.set_nonblocking(false).unwrap();
        assert!(connection.receive(&mut input).unwrap_err().contains("closed"));
    }
}
