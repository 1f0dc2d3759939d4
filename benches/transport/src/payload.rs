//! The 64 bytes that travel: different for every call of every connection, so that an answer that
//! was mixed up, stale or invented is noticed.

/// Bytes of a payload.
pub(crate) const LEN: usize = 64;

/// The payload of one call on one connection.
pub(crate) fn of(connection: u64, call: u64) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    for (at, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words(connection, call)) {
        *at = word.to_le_bytes();
    }
    bytes
}

/// Whether `bytes` are the payload of that call.
pub(crate) fn is(connection: u64, call: u64, bytes: &[u8]) -> bool {
    bytes.len() == LEN
        && bytes
            .as_chunks::<8>()
            .0
            .iter()
            .zip(words(connection, call))
            .all(|(at, word)| *at == word.to_le_bytes())
}

fn words(connection: u64, call: u64) -> impl Iterator<Item = u64> {
    let first = (connection << 40 ^ call).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..8_u32).map(move |word| first.rotate_left(word * 8 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_payload_itself_passes() {
        let bytes = of(3, 9);
        assert!(is(3, 9, &bytes));
        assert!(!is(3, 10, &bytes));
        assert!(!is(4, 9, &bytes));
        assert!(!is(3, 9, &bytes[..63]));
        for at in 0..LEN {
            let mut flipped = bytes;
            flipped[at] ^= 1;
            assert!(!is(3, 9, &flipped), "byte {at}");
        }
    }
}
