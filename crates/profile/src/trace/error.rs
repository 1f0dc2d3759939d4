//! What can be wrong with a trace, and where.

use super::{PAYLOAD_MAX, TEXT_MAX, VERSION};
use std::fmt;

/// Part of a trace that could not be read.
///
/// After all but [`Trouble::Io`] reading goes on with the next sound block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// Where, in bytes from the file's beginning.
    pub offset: u64,
    /// Bytes passed over on account of it.
    pub skipped: u64,
    /// Records known to have been in them; what was in bytes without a frame is not known.
    pub records: u64,
    /// What was found.
    pub trouble: Trouble,
}

/// What was found where something else was needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Reading failed, with the system's words.
    Io(String),
    /// Not the first bytes of a trace.
    NotATrace,
    /// A version that this reader does not know.
    Version(u32),
    /// No header where it must be.
    NoHeader,
    /// Bytes that are no block.
    NoBlock,
    /// The file ends within a block: the recorder died or the disk was full.
    Cut {
        /// Bytes of the block that are there.
        found: u64,
        /// Bytes that its frame announced, or that a frame takes.
        needed: u64,
    },
    /// The payload's checksum differs from the one in the frame.
    Checksum {
        /// Computed from the bytes.
        found: u32,
        /// As the frame says.
        needed: u32,
    },
    /// Blocks are missing before this one.
    Missing {
        /// The sequence number found.
        found: u32,
        /// The one that follows.
        needed: u32,
    },
    /// A block after the index.
    AfterEnd,
    /// The block's payload ends within a record.
    EndsInRecord,
    /// The frame's count of records and its payload disagree: bytes are left over.
    LeftOver(u64),
    /// An unknown first byte of a record.
    Tag(u8),
    /// An unknown kind of wait, mark, loss, state or interruption.
    Kind(u8),
    /// A call refers to a shape that the block did not tell.
    Slot(u8),
    /// A slack above the greatest.
    Slack(u8),
    /// A number beyond its range.
    Number(u64),
    /// A number in more than 64 bits.
    LongNumber,
    /// A text of too many bytes.
    LongText(u64),
    /// A text that is not UTF-8.
    NotText,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.trouble)?;
        match (self.skipped, self.records) {
            (0, _) => Ok(()),
            (skipped, 0) => write!(f, "; {skipped} bytes passed over"),
            (skipped, records) => {
                write!(f, "; {skipped} bytes with {records} records passed over")
            }
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "reading failed: {error}"),
            Self::NotATrace => f.write_str(
                "found other bytes than a trace begins with; \
                 needed a file written by `tailwater profile record`",
            ),
            Self::Version(found) => write!(
                f,
                "found version {found} of the format, needed 1 to {VERSION}: \
                 use the tailwater that recorded it"
            ),
            Self::NoHeader => f.write_str("found no sound header block, needed one to begin with"),
            Self::NoBlock => f.write_str("found bytes that are no block"),
            Self::Cut { found, needed } => {
                write!(f, "the file ends within a block: found {found} bytes, needed {needed}")
            }
            Self::Checksum { found, needed } => {
                write!(f, "found a payload with checksum {found:#010x}, needed {needed:#010x}")
            }
            Self::Missing { found, needed } => {
                write!(f, "found block {found} where block {needed} should follow")
            }
            Self::AfterEnd => f.write_str("found a block after the index, needed the end"),
            Self::EndsInRecord => f.write_str("the payload ends within a record"),
            Self::LeftOver(bytes) => {
                write!(f, "found {bytes} bytes after the last record, needed none")
            }
            Self::Tag(found) => write!(f, "found {found:#04x} for a record's first byte"),
            Self::Kind(found) => {
                write!(f, "found {found} for a kind of wait, mark, loss, state or interruption")
            }
            Self::Slot(found) => {
                write!(f, "found a call of the shape in slot {found}, which is empty")
            }
            Self::Slack(found) => write!(f, "found {found} for a slack, needed at most 240"),
            Self::Number(found) => write!(f, "found the number {found}, beyond its range"),
            Self::LongNumber => f.write_str("found a number of more than 64 bits"),
            Self::LongText(found) => write!(
                f,
                "found a text of {found} bytes, needed at most {TEXT_MAX} \
                 (and {PAYLOAD_MAX} for a whole block)"
            ),
            Self::NotText => f.write_str("found a text that is not UTF-8"),
        }
    }
}

impl std::error::Error for TraceError {}
