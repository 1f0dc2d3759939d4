//! Numbers in as few bytes as they need: seven bits a byte, the least significant first, the top bit
//! set where more follow. Lists of documents are short on the whole, so that packing whole blocks of
//! bits would gain little over this.

/// Appends `value`, in one to five bytes.
pub(crate) fn push(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// The numbers that were pushed onto `bytes`.
pub(crate) fn all(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let mut rest = bytes.iter();
    std::iter::from_fn(move || {
        let (mut value, mut shift) = (0_u32, 0);
        for &byte in rest.by_ref() {
            // Bytes of a file may go on for longer than a number has bits.
            value |= u32::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_numbers_take_one_byte() {
        let mut bytes = Vec::new();
        push(&mut bytes, 127);
        assert_eq!(bytes, [127]);
        push(&mut bytes, 128);
        assert_eq!(bytes, [127, 0x80, 1]);
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(values: Vec<u32>, edge in 0_u32..3) {
            let values: Vec<u32> = values.into_iter().chain([u32::MAX - edge, 0x7f + edge]).collect();
            let mut bytes = Vec::new();
            for &value in &values {
                push(&mut bytes, value);
            }
            prop_assert_eq!(all(&bytes).collect::<Vec<_>>(), values);
        }
    }
}
