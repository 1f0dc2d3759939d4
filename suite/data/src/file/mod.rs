//! Prepared data as a file: a line, a header in JSON, then sections of bytes.
//!
//! The line is `tailwater-data 1 LENGTH`, where LENGTH is that of the header in bytes. The header says what the data
//! are, where they come from, under which licence, and what SHA-256 the sections have together. A file is written
//! whole or not at all. Opening it reads the header alone; a section is read when it is asked for.

mod error;
mod header;
mod read;
mod write;

pub use error::DataError;
pub use header::{Header, Origin, Section};
pub use read::Data;
pub use write::Content;

/// Raised when the form changes; older files are made anew.
const FORM: u32 = 1;
/// What a file begins with.
const MAGIC: &str = "tailwater-data";
/// A header that is longer is none.
const HEADER_BYTES_MAX: usize = 1 << 20;
/// Most bytes of the first line.
const LINE_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests;
