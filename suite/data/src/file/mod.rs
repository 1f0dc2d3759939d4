//! Prepared data as a file: a line, a header in JSON, then sections of bytes.
//!
//! The line is `tailwater-data 3 LENGTH HASH`: the length of the header in bytes and its SHA-256. The header says what the
//! data are, where they come from, under which licence, and what SHA-256 the sections have, each and together. That hash is
//! the same wherever the same data are made; the header's is not, since times of files are in it. A file is written whole or
//! not at all. Opening it reads the header alone. A section is read when it is asked for, and compared with its hash. Of a
//! section of records some can be read, each of which is compared with its CRC-32.

mod error;
mod header;
mod read;
mod records;
mod write;

pub use error::DataError;
pub use header::{Header, Origin, Section};
pub use read::Data;
pub use write::Content;
pub(crate) use write::hexadecimal;

/// Raised when the form changes; older files are made anew.
const FORM: u32 = 3;
/// What a file begins with.
const MAGIC: &str = "tailwater-data";
/// A header that is longer is none.
const HEADER_BYTES_MAX: usize = 1 << 20;
/// Most bytes of the first line.
const LINE_BYTES_MAX: usize = 128;

/// The section with the sums of the records of another, four bytes each.
fn sums_of(name: &str) -> String {
    format!("sums of {name}")
}

#[cfg(test)]
mod tests;
