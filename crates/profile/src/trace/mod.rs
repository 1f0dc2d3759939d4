//! The trace file: `docs/trace.md` specifies it byte by byte.
//!
//! Start with [`Writer`] and [`Reader`]. A file is a preamble and blocks; each block stands alone (own
//! checksums, delta coding that begins afresh), so whatever happened to one, the others can be read.

mod writer;
mod reader;
mod error;
mod header;
mod index;
mod block;
mod encode;
mod decode;
mod kernel;
mod shape;
mod varint;
mod crc;
pub mod slack;

pub use error::{TraceError, Trouble};
pub use header::Header;
pub use index::{BlockRun, Index};
pub use reader::{Ending, Reader};
pub use writer::Writer;

/// The version that is written. Older ones are read as well: 1 had no sites, 2 and 1 nothing of the kernel, 3 no sizes.
/// 4 had nothing of kept parts, 5 no calls between processes, 6 no clocked calls. 7 had no samples, 8 neither queues nor holds, and 9 no
/// counts.
pub const VERSION: u32 = 10;
/// What follows a trace's name in that of the file of what the kernel did.
pub const KERNEL_ENDING: &str = ".kernel";
/// What follows it in that of the file of where threads were.
pub const LINES_ENDING: &str = ".lines";
/// A block is written when its payload has reached this size, in bytes.
pub const BLOCK_BYTES: usize = 64 * 1024;
/// No block's payload is longer, in bytes: what a reader must be ready to hold.
pub const PAYLOAD_MAX: usize = 256 * 1024;
/// Texts are cut to this length when written, in bytes.
pub const TEXT_MAX: usize = 32 * 1024;
