//! Zstandard, the same on both sides: an accelerator that is no faster, and brings something all the same.

use super::{Hand, Kernel, Side};
use zstd::bulk::Compressor;

/// Zstandard's own default.
const LEVEL: i32 = 3;

/// Compresses, and takes a checksum of what comes out.
pub(in super::super) struct Compression;

impl Kernel for Compression {
    fn hand(&self, _: Side) -> Hand<'_> {
        let mut compressor = Compressor::new(LEVEL).expect("memory for a compressor");
        let mut out = Vec::new();
        Box::new(move |input| {
            out.clear();
            out.reserve(zstd::zstd_safe::compress_bound(input.len()));
            compressor.compress_to_buffer(input, &mut out).expect("room for the worst case");
            u64::from(crc32fast::hash(&out))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_comes_back() {
        let text = b"get user:1 get user:1 get user:1 get user:2".repeat(40);
        let mut compressor = Compressor::new(LEVEL).expect("a compressor");
        let out = compressor.compress(&text).expect("compressed");
        assert!(out.len() < text.len() / 4);
        assert_eq!(zstd::bulk::decompress(&out, text.len()).expect("sound"), text);
    }
}
