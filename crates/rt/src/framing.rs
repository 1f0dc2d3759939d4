//! Both ends' half of a byte stream: bytes to whole frames, and frames to bytes that leave together.

use crate::net::{Stream, Transfer};
use std::borrow::Cow;

/// A buffer that is empty is given back if it is larger: ten thousand idle connections should not each
/// keep the buffer of their largest call.
const KEPT_CAPACITY: usize = 16 << 10;

/// The beginning of a frame whose rest has not come. It holds one frame's bytes at most: a length beyond
/// the agreed limit is refused from the first eight bytes.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    held: Vec<u8>,
}

impl Incoming {
    /// Bytes that wait for the rest of their frame.
    pub(crate) const fn held(&self) -> usize {
        self.held.len()
    }

    /// Those bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.held
    }

    /// What can be read now: the held bytes and the fresh ones behind them. Without held bytes nothing is
    /// copied. What is left goes back by [`Incoming::keep`].
    pub(crate) fn feed<'a>(&mut self, fresh: &'a [u8]) -> Reading<'a> {
        if self.held.is_empty() {
            return Reading { bytes: Cow::Borrowed(fresh), used: 0 };
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(fresh);
        Reading { bytes: Cow::Owned(held), used: 0 }
    }

    /// Keeps what was not taken.
    pub(crate) fn keep(&mut self, reading: Reading<'_>) {
        match reading.bytes {
            Cow::Borrowed(fresh) => self.held.extend_from_slice(&fresh[reading.used..]),
            Cow::Owned(mut held) => {
                held.drain(..reading.used);
                give_back(&mut held);
                // What counts against bounds is the length. A byte behind each frame would keep the largest one's memory for ever.
                if held.capacity() > KEPT_CAPACITY.max(4 * held.len()) {
                    held.shrink_to(KEPT_CAPACITY);
                }
                self.held = held;
            }
        }
    }

    /// Forgets the held bytes: their connection is at its end.
    pub(crate) fn clear(&mut self) {
        self.held = Vec::new();
    }
}

/// Bytes from which frames are taken, front to back.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    bytes: Cow<'a, [u8]>,
    used: usize,
}

impl Reading<'_> {
    /// What has not been taken.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// How many bytes were taken.
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// A frame of this length, from the front of the rest, was taken.
    pub(crate) fn take(&mut self, length: usize) {
        self.used += length;
        debug_assert!(self.used <= self.bytes.len(), "no more is taken than was there");
    }
}

/// Frames that wait to be written. The owner bounds them: see its limits.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

/// What became of a flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flushed {
    /// All is with the kernel.
    Done,
    /// The kernel's buffer is full: go on when the socket is writable.
    Blocked,
    /// The peer is gone.
    Closed,
}

impl Outgoing {
    /// Where frames are appended.
    pub(crate) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Bytes that the kernel has not taken.
    pub(crate) const fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Hands over what the kernel takes now. A blocked buffer is compacted, so that it does not creep
    /// while its reader is slow.
    pub(crate) fn flush(&mut self, stream: &Stream) -> Flushed {
        while self.unsent() > 0 {
            match stream.write(&self.bytes[self.sent..]) {
                Transfer::Bytes(count) => self.sent += count,
                Transfer::WouldBlock => {
                    self.compact();
                    return Flushed::Blocked;
                }
                Transfer::Closed => return Flushed::Closed,
            }
        }
        self.clear();
        Flushed::Done
    }

    /// Forgets everything: the connection is gone.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        give_back(&mut self.bytes);
    }

    /// Moves the rest to the front once the sent part is the larger: each byte moves once on average.
    fn compact(&mut self) {
        if self.sent >= self.unsent() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

/// Gives the memory of a large buffer back once nothing is in it.
pub(crate) fn give_back(buffer: &mut Vec<u8>) {
    if buffer.is_empty() && buffer.capacity() > KEPT_CAPACITY {
        *buffer = Vec::new();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Frames of a length byte and a body, taken whole.
    fn frames(incoming: &mut Incoming, fresh: &[u8]) -> Vec<Vec<u8>> {
        let mut taken = Vec::new();
        let mut reading = incoming.feed(fresh);
        while let Some(&length) = reading.rest().first()
            && let Some(frame) = reading.rest().get(..usize::from(length))
        {
            taken.push(frame.to_vec());
            reading.take(usize::from(length));
        }
        incoming.keep(reading);
        taken
    }

    /// One byte of the next frame stands behind a large one, and again behind each small one.
    #[test]
    fn the_memory_of_a_large_frame_is_not_kept_for_a_byte_behind_it() {
        let mut incoming = Incoming::default();
        for part in vec![7; (1 << 20) + 1].chunks(1 << 16) {
            let reading = incoming.feed(part);
            incoming.keep(reading);
        }
        let mut reading = incoming.feed(&[]);
        reading.take(1 << 20);
        incoming.keep(reading);
        for _ in 0..10 {
            assert_eq!(incoming.held(), 1);
            assert!(incoming.held.capacity() <= KEPT_CAPACITY, "{}", incoming.held.capacity());
            let mut reading = incoming.feed(&[7; 8]);
            reading.take(8);
            incoming.keep(reading);
        }
    }

    #[test]
    fn frames_come_out_whole_however_they_were_cut() {
        let bytes = [3, 1, 1, 1, 2, 7, 5, 1, 2, 3, 4];
        let whole = frames(&mut Incoming::default(), &bytes);
        assert_eq!(whole.len(), 4);
        for cut in 0..bytes.len() {
            let mut incoming = Incoming::default();
            let mut found = frames(&mut incoming, &bytes[..cut]);
            found.extend(frames(&mut incoming, &bytes[cut..]));
            assert_eq!(found, whole, "cut at {cut}");
            assert_eq!(incoming.held(), 0);
        }
    }

    #[test]
    fn the_beginning_of_a_frame_is_held_and_nothing_else() {
        let mut incoming = Incoming::default();
        assert_eq!(frames(&mut incoming, &[2, 0, 9, 1, 1]).len(), 1);
        assert_eq!(incoming.held(), 3);
        assert_eq!(frames(&mut incoming, &[1, 1]).len(), 0);
        assert_eq!(incoming.held(), 5);
        incoming.clear();
        assert_eq!(incoming.held(), 0);
    }

    #[test]
    fn only_large_and_empty_buffers_are_given_back() {
        let kept = |capacity: usize, bytes: usize| {
            let mut buffer = Vec::with_capacity(capacity);
            buffer.resize(bytes, 7);
            give_back(&mut buffer);
            (buffer.capacity() >= capacity, buffer.len())
        };
        assert_eq!(kept(KEPT_CAPACITY, 0), (true, 0));
        assert_eq!(kept(KEPT_CAPACITY + 1, 0), (false, 0));
        assert_eq!(kept(KEPT_CAPACITY + 1, 1), (true, 1));
    }
}
