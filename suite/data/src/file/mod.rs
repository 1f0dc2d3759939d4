//! Prepared data as a file: a line, a header in JSON, then sections of bytes.
//!
//! The line is `tailwater-data 2 LENGTH HASH`: the length of the header in bytes and its SHA-256. The header says what the
//! data are, where they come from, under which licence, and what SHA-256 the sections have together. That hash is the same
//! wherever the same data are made; the header's is not, since times of files are in it. A file is written whole or not at
//! all. Opening it reads the header alone; a section is read when it is asked for.

mod error;
mod header;
mod read;
mod write;

pub use error::DataError;
pub use header::{Header, Origin, Section};
pub use read::Data;
pub use write::Content;
pub(crate) use write::hexadecimal;

/// Raised when the form changes; older files are made anew.
const FORM: u32 = 2;
/// What a file begins with.
const MAGIC: &str = "tailwater-data";
/// A header that is longer is none.
const HEADER_BYTES_MAX: usize = 1 << 20;
/// Most bytes of the first line.
const LINE_BYTES_MAX: usize = 128;

#[cfg(test)]
mod tests;
