//! What stands first in bytes, and is taken from them.

use super::shape::{Checked, ensure};

/// So many bytes.
pub(super) fn taken<'a>(bytes: &mut &'a [u8], count: usize) -> Checked<&'a [u8]> {
    let left = bytes.len();
    ensure(count <= left, || format!("{left} bytes are left, of {count}"))?;
    let (found, rest) = bytes.split_at(count);
    *bytes = rest;
    Ok(found)
}

/// A number of seven bits in each byte, the lowest first, as protocol buffers, Thrift and Parquet have it.
pub(super) fn varint(bytes: &mut &[u8]) -> Checked<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = taken(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number has more than 64 bits".to_owned())
}
