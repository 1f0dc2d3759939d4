//! Bytes to one memcached, and back.

use std::sync::Arc;
use tailwater_keyvalue::memcached::buffers::{Buffer, NoRoom, Pool};
use tailwater_rt::net::{Stream, Transfer};
use tailwater_rt::poll::{Interest, Poller};

/// Commands that wait to be sent; beyond this the node is busy.
const OUTPUT_MAX: usize = 16 << 20;
/// Of these, what is not borrowed from the pool.
pub(super) const OUTPUT_OWN: usize = 256 << 10;
/// What is kept of an input that a large value has made long.
const INPUT_KEPT: usize = 256 << 10;

/// A connection that stands.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// The poller's.
    key: u64,
    output: Buffer,
    /// Of the output, which is cut off when it is the longer part.
    sent: usize,
    watches_output: bool,
    input: Vec<u8>,
    /// Bytes of input without which the first answer is not whole.
    needed: usize,
}

impl Connection {
    /// The poller watches it under this key for reading.
    pub(super) const fn new(stream: Stream, key: u64, pool: Arc<Pool>) -> Self {
        let output = Buffer::new(OUTPUT_OWN, pool);
        Self { stream, key, output, sent: 0, watches_output: false, input: Vec::new(), needed: 1 }
    }

    /// Makes room for a command of so many bytes.
    pub(super) fn make_room(&mut self, bytes: usize) -> Result<(), NoRoom> {
        if self.output.bytes.len() + bytes > OUTPUT_MAX {
            return Err(NoRoom);
        }
        self.output.reserve(bytes)
    }

    /// Leaves a command, for which there is room, for the next [`Connection::flush`].
    pub(super) fn queue(&mut self, parts: &[&[u8]]) {
        parts.iter().for_each(|part| self.output.bytes.extend_from_slice(part));
    }

    pub(super) fn has_output(&self) -> bool {
        !self.output.bytes.is_empty()
    }

    /// Sends what is there, as far as the node takes it.
    pub(super) fn flush(&mut self, poller: &Poller) -> Result<(), &'static str> {
        while self.sent < self.output.bytes.len() {
            match self.stream.write(&self.output.bytes[self.sent..]) {
                Transfer::Bytes(more) => self.sent += more,
                Transfer::WouldBlock => break,
                Transfer::Closed => return Err("it closed the connection"),
            }
        }
        // Moving the rest costs less than sending what was before it did.
        if self.sent * 2 >= self.output.bytes.len() {
            self.output.bytes.drain(..std::mem::take(&mut self.sent));
            self.output.trim();
        }
        let waits = self.has_output();
        if waits != self.watches_output {
            let interest = Interest { readable: true, writable: waits };
            let watched = poller.modify(&self.stream, self.key, interest);
            watched.map_err(|_| "the kernel does not watch the connection")?;
            self.watches_output = waits;
        }
        Ok(())
    }

    /// Reads what has come, and hands it to `take`. It says how much of that was whole answers and how many bytes the
    /// next one needs. False if nothing has come.
    pub(super) fn receive<E: From<&'static str>>(
        &mut self,
        scratch: &mut [u8],
        mut take: impl FnMut(&[u8]) -> Result<(usize, usize), E>,
    ) -> Result<bool, E> {
        let read = match self.stream.read(scratch) {
            Transfer::Bytes(read) => read,
            Transfer::WouldBlock => return Ok(false),
            Transfer::Closed => return Err("it closed the connection".into()),
        };
        // Usually nothing is left of earlier reads, and the answers need not be copied.
        if self.input.is_empty() {
            let (used, needed) = take(&scratch[..read])?;
            self.input.extend_from_slice(&scratch[used..read]);
            self.needed = needed;
        } else {
            self.input.extend_from_slice(&scratch[..read]);
            if self.input.len() >= self.needed {
                let (used, needed) = take(&self.input)?;
                self.input.drain(..used);
                self.input.shrink_to(INPUT_KEPT);
                self.needed = needed;
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    /// A node that always lags behind: what it has taken is not kept.
    #[test]
    fn what_was_sent_is_dropped_although_more_always_waits() {
        let (ours, mut theirs) = UnixStream::pair().expect("sockets");
        let stream = Stream::try_from(OwnedFd::from(ours)).expect("a socket");
        let poller = Poller::new().expect("a poller");
        poller.add(&stream, 1, Interest::READ).expect("watched");
        let pool = Arc::new(Pool::new(64 << 20));
        let mut connection = Connection::new(stream, 1, pool.clone());
        let command = vec![b'c'; 64 << 10];
        let mut taken = vec![0; 64 << 10];
        let mut refused = 0;
        for turn in 0..3_000 {
            match connection.make_room(command.len()) {
                Ok(()) => connection.queue(&[&command]),
                Err(NoRoom) => refused += 1,
            }
            connection.flush(&poller).expect("it is there");
            assert!(
                connection.output.bytes.len() <= OUTPUT_MAX,
                "{}",
                connection.output.bytes.len()
            );
            assert!(turn < 20 || connection.has_output(), "it lags behind");
            if turn % 4 > 0 && turn > 40 {
                theirs.read_exact(&mut taken).expect("commands");
            }
        }
        assert!(refused > 0 && refused < 3_000 / 2, "{refused}");
        assert!(pool.lent() <= 2 * OUTPUT_MAX, "{}", pool.lent());
    }
}
