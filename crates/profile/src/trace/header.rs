//! Where a trace comes from.

use super::error::Trouble;
use super::varint::{self, Cursor};
use crate::record::Clock;

/// The recorded process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Instruction set, as the compiler calls it (`x86_64`).
    pub architecture: String,
    /// The process's number.
    pub pid: u32,
    /// Path of the program.
    pub program: String,
    /// The program's GNU build id; empty where it has none.
    pub build_id: Vec<u8>,
    /// Both clocks when recording began.
    pub clock: Clock,
}

impl Header {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        varint::put_text(out, &self.architecture);
        varint::put(out, u64::from(self.pid));
        varint::put_text(out, &self.program);
        varint::put_bytes(out, &self.build_id);
        encode_clock(out, &self.clock);
    }

    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Trouble> {
        Ok(Self {
            architecture: cursor.text()?,
            pid: cursor.small()?,
            program: cursor.text()?,
            build_id: cursor.bytes()?.to_vec(),
            clock: decode_clock(cursor)?,
        })
    }
}

pub(super) fn encode_clock(out: &mut Vec<u8>, clock: &Clock) {
    for value in [clock.ticks, clock.raw_ns, clock.real_ns] {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

pub(super) fn decode_clock(cursor: &mut Cursor<'_>) -> Result<Clock, Trouble> {
    Ok(Clock { ticks: cursor.fixed()?, raw_ns: cursor.fixed()?, real_ns: cursor.fixed()? })
}
