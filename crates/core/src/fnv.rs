//! FNV-1a of 64 bits: the same in every release and on every machine, which std's hashers do not promise.
//!
//! It tells accidents, not forgery: other bytes with the same hash are found at once.

/// The hash of no bytes: the offset basis that Fowler, Noll and Vo published for 64 bits.
pub const START: u64 = 0xcbf2_9ce4_8422_2325;
/// Their prime for 64 bits.
const PRIME: u64 = 0x0100_0000_01b3;

/// The hash of what `hash` is of and these bytes behind it. Begin with [`START`].
#[must_use]
pub fn fnv1a(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_published_function() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(fnv1a(START, text.bytes()), hash, "{text}");
        }
        assert_eq!(fnv1a(fnv1a(START, *b"foo"), *b"bar"), fnv1a(START, *b"foobar"));
    }
}
