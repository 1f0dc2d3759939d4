//! One connection to a server: what is sent in what order, and whether the answers are right.

use super::error::ForeignError;
use super::protocol::{ForeignAsk, Protocol};
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use tailwater_core::Instant;

/// Bytes that are read at a time.
const PART: usize = 64 << 10;
/// Bytes of a wrong answer that are told: a line.
const SAID_MAX: usize = 60;
/// Open requests of one connection; more are not sent, and count as unanswered.
const OPEN_MAX: usize = 4_096;

pub(super) struct Connection {
    protocol: Protocol,
    stream: TcpStream,
    /// What the socket has not taken yet.
    unsent: Vec<u8>,
    /// What was read and belongs to no whole answer yet.
    read: Vec<u8>,
    /// Requests without an answer, the oldest first, with their intended times.
    open: VecDeque<(ForeignAsk, Instant)>,
    expected: Vec<u8>,
    part: Vec<u8>,
}

impl Connection {
    pub(super) fn open(protocol: Protocol, address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let (unsent, read, open) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Self { protocol, stream, unsent, read, open, expected: Vec::new(), part: vec![0; PART] })
    }

    /// Sends a request, or as much of it as the socket takes. False where too many are open.
    pub(super) fn send(
        &mut self,
        ask: ForeignAsk,
        intended: Instant,
    ) -> Result<bool, ForeignError> {
        if self.open.len() >= OPEN_MAX {
            return Ok(false);
        }
        self.protocol.request(ask, &mut self.unsent);
        self.open.push_back((ask, intended));
        self.flush().map(|()| true)
    }

    /// Sends more of what is unsent.
    pub(super) fn flush(&mut self) -> Result<(), ForeignError> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return Err(ForeignError::Broken(io::ErrorKind::WriteZero.into())),
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ForeignError::Broken(error)),
            }
        }
        Ok(())
    }

    /// Takes the answers that are there. `answered` hears the intended time of each request.
    ///
    /// # Errors
    /// With an answer that is not the right one, and when the server has closed the connection.
    pub(super) fn receive(
        &mut self,
        answered: &mut dyn FnMut(Instant),
    ) -> Result<(), ForeignError> {
        loop {
            match self.stream.read(&mut self.part) {
                Ok(0) => return Err(ForeignError::Closed),
                Ok(count) => self.read.extend_from_slice(&self.part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ForeignError::Broken(error)),
            }
            self.judge(answered)?;
        }
    }

    fn judge(&mut self, answered: &mut dyn FnMut(Instant)) -> Result<(), ForeignError> {
        let mut at = 0;
        while at < self.read.len() {
            let Some((ask, intended)) = self.open.front().copied() else {
                return Err(ForeignError::Unasked);
            };
            self.expected.clear();
            self.protocol.answer(ask, &mut self.expected);
            let said = &self.read[at..];
            let common = said.len().min(self.expected.len());
            if said[..common] != self.expected[..common] {
                let said = &said[..said.len().min(SAID_MAX)];
                let said = String::from_utf8_lossy(said).into_owned();
                return Err(ForeignError::Wrong { ask, said });
            }
            if common < self.expected.len() {
                break;
            }
            at += common;
            self.open.pop_front();
            answered(intended);
        }
        self.read.drain(..at);
        Ok(())
    }

    /// Requests without an answer.
    pub(super) fn unanswered(&self) -> usize {
        self.open.len()
    }

    /// Their intended times.
    pub(super) fn open_since(&self) -> impl Iterator<Item = Instant> {
        self.open.iter().map(|(_, intended)| *intended)
    }

    /// Whether the socket is to be watched for room.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use tailwater_rt::time::now;

    /// A connection whose other end says these bytes, part by part, and the answers that came.
    fn answers(asks: &[ForeignAsk], parts: &[&[u8]]) -> Result<usize, ForeignError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let mut connection = Connection::open(Protocol::Memcached, address).expect("it listens");
        let (mut server, _) = listener.accept().expect("it connects");
        for ask in asks {
            assert!(connection.send(*ask, now())?);
        }
        let mut count = 0;
        for part in parts {
            server.write_all(part).expect("it is read");
            let mut fds = [rustix::event::PollFd::new(&connection, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut fds, None).expect("what was written arrives");
            connection.receive(&mut |_| count += 1)?;
        }
        Ok(count)
    }

    #[test]
    fn answers_are_compared_byte_for_byte_however_they_are_cut() {
        let asks = [ForeignAsk::Set(0), ForeignAsk::Get(0)];
        let whole = b"STORED\r\nVALUE key0 0 10\r\naaaaaaaaaa\r\nEND\r\n";
        for cut in 1..whole.len() {
            let found = answers(&asks, &[&whole[..cut], &whole[cut..]]);
            assert!(matches!(found, Ok(2)), "cut at {cut}: {found:?}");
        }
    }

    #[test]
    fn what_is_not_the_answer_is_told() {
        let told =
            |asks: &[ForeignAsk], parts: &[&[u8]]| answers(asks, parts).unwrap_err().to_string();
        let missed = told(&[ForeignAsk::Get(0)], &[b"END\r\n"]);
        assert!(missed.contains("Get(0)") && missed.contains("more memory"), "{missed}");
        let more = told(&[ForeignAsk::Set(0)], &[b"STORED\r\nSTORED\r\n"]);
        assert!(more.contains("more than it was asked for"), "{more}");
        let other = told(&[ForeignAsk::Set(0)], &[b"SERVER_ERROR out of memory\r\n"]);
        assert!(other.contains("SERVER_ERROR out of memory"), "{other}");
    }
}
