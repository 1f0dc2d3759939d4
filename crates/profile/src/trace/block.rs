//! A block's frame: 48 bytes that say what follows.

use super::PAYLOAD_MAX;
use super::crc::crc32c;
use crate::record::Ticks;

/// What a file begins with; the version and four zero bytes follow.
pub(super) const MAGIC: [u8; 8] = *b"TWTRACE\x1a";
/// Bytes before the first block.
pub(super) const PREAMBLE_LEN: usize = 16;
/// What every block begins with: where reading can be taken up again.
pub(super) const MARKER: [u8; 4] = *b"TWBK";
/// Bytes of a frame.
pub(super) const FRAME_LEN: usize = 48;
/// In place of a thread: the block is about several, or none.
pub(super) const ANY_THREAD: u32 = u32::MAX;

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Header = 1,
    Tables = 2,
    Events = 3,
    Index = 4,
}

/// A block without its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// Bytes of payload, at most [`PAYLOAD_MAX`].
    pub(super) len: u32,
    pub(super) records: u32,
    /// The one thread it is about, or [`ANY_THREAD`].
    pub(super) thread: u32,
    /// Blocks written before it.
    pub(super) sequence: u32,
    /// The earliest and the latest time in it; zero where it has none.
    pub(super) span: (Ticks, Ticks),
    pub(super) payload_crc: u32,
}

impl Frame {
    pub(super) fn encode(&self) -> [u8; FRAME_LEN] {
        let mut bytes = [0; FRAME_LEN];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MARKER);
        put(4, &[self.kind as u8]);
        put(8, &self.len.to_le_bytes());
        put(12, &self.records.to_le_bytes());
        put(16, &self.thread.to_le_bytes());
        put(20, &self.sequence.to_le_bytes());
        put(24, &self.span.0.to_le_bytes());
        put(32, &self.span.1.to_le_bytes());
        put(40, &self.payload_crc.to_le_bytes());
        let crc = crc32c(&bytes[..FRAME_LEN - 4]);
        bytes[FRAME_LEN - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` where the bytes are no frame: then nothing in them can be trusted.
    pub(super) fn decode(bytes: &[u8; FRAME_LEN]) -> Option<Self> {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let sound = bytes[..4] == MARKER && word(FRAME_LEN - 4) == crc32c(&bytes[..FRAME_LEN - 4]);
        if !sound || bytes[5..8] != [0; 3] || word(8) as usize > PAYLOAD_MAX {
            return None;
        }
        Some(Self {
            kind: Kind::from_byte(bytes[4])?,
            len: word(8),
            records: word(12),
            thread: word(16),
            sequence: word(20),
            span: (long(24), long(32)),
            payload_crc: word(40),
        })
    }
}

impl Kind {
    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Header),
            2 => Some(Self::Tables),
            3 => Some(Self::Events),
            4 => Some(Self::Index),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_and_no_flipped_bit_passes() {
        let frame = Frame {
            kind: Kind::Events,
            len: 77,
            records: 9,
            thread: 3,
            sequence: 4,
            span: (5, u64::MAX),
            payload_crc: 6,
        };
        let bytes = frame.encode();
        assert_eq!(Frame::decode(&bytes), Some(frame));
        for bit in 0..FRAME_LEN * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Frame::decode(&flipped), None, "bit {bit}");
        }
        let long = Frame { len: PAYLOAD_MAX as u32 + 1, ..frame };
        assert_eq!(Frame::decode(&long.encode()), None);
    }
}
