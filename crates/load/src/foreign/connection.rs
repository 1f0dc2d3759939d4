//! One connection to a server: what is sent in what order, and whether the answers are right.

use super::protocol::{ForeignAsk, Protocol};
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use tailwater_core::Instant;

/// Bytes that are read at a time.
const PART: usize = 64 << 10;
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
    pub(super) fn send(&mut self, ask: ForeignAsk, intended: Instant) -> Result<bool, String> {
        if self.open.len() >= OPEN_MAX {
            return Ok(false);
        }
        self.protocol.request(ask, &mut self.unsent);
        self.open.push_back((ask, intended));
        self.flush().map(|()| true)
    }

    /// Sends more of what is unsent.
    pub(super) fn flush(&mut self) -> Result<(), String> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return Err("the server takes no more bytes".into()),
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("the server does not read: {error}")),
            }
        }
        Ok(())
    }

    /// Takes the answers that are there. `answered` hears the intended time of each request.
    ///
    /// # Errors
    /// With an answer that is not the right one, and when the server has closed the connection.
    pub(super) fn receive(&mut self, answered: &mut dyn FnMut(Instant)) -> Result<(), String> {
        loop {
            match self.stream.read(&mut self.part) {
                Ok(0) => return Err("the server closed the connection".into()),
                Ok(count) => self.read.extend_from_slice(&self.part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("the server does not answer: {error}")),
            }
            self.judge(answered)?;
        }
    }

    fn judge(&mut self, answered: &mut dyn FnMut(Instant)) -> Result<(), String> {
        let mut at = 0;
        while at < self.read.len() {
            let Some((ask, intended)) = self.open.front().copied() else {
                return Err("the server said more than it was asked for".into());
            };
            self.expected.clear();
            self.protocol.answer(ask, &mut self.expected);
            let said = &self.read[at..];
            let common = said.len().min(self.expected.len());
            if said[..common] != self.expected[..common] {
                return Err(wrong(ask, said));
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

fn wrong(ask: ForeignAsk, said: &[u8]) -> String {
    let said = String::from_utf8_lossy(&said[..said.len().min(60)]).into_owned();
    let hint = match ask {
        ForeignAsk::Get(_) => {
            "; where it has forgotten the key, give it more memory or the load fewer keys"
        }
        ForeignAsk::Set(_) => "",
    };
    format!("the server answered {ask:?} by {said:?}, which is not the right answer{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use tailwater_rt::time::now;

    /// A connection whose other end says these bytes, part by part, and the answers that came.
    fn answers(asks: &[ForeignAsk], parts: &[&[u8]]) -> Result<usize, String> {
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
            assert_eq!(answers(&asks, &[&whole[..cut], &whole[cut..]]), Ok(2), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_not_the_answer_is_told() {
        let missed = answers(&[ForeignAsk::Get(0)], &[b"END\r\n"]).unwrap_err();
        assert!(missed.contains("Get(0)") && missed.contains("more memory"), "{missed}");
        let more = answers(&[ForeignAsk::Set(0)], &[b"STORED\r\nSTORED\r\n"]).unwrap_err();
        assert!(more.contains("more than it was asked for"), "{more}");
        let other =
            answers(&[ForeignAsk::Set(0)], &[b"SERVER_ERROR out of memory\r\n"]).unwrap_err();
        assert!(other.contains("SERVER_ERROR out of memory"), "{other}");
    }
}
