//! Half-widths of intervals in one byte: rounded up, by at most one eighth.
//!
//! Four significant bits are plenty for an error bar, and rounding up keeps what it promises.

/// Values up to here are exact.
const EXACT: u32 = 16;

/// The smallest storable value that is not below `slack`: what a trace gives back for it.
#[must_use]
pub const fn rounded(slack: u32) -> u32 {
    match decode(encode(slack)) {
        Some(rounded) => rounded,
        None => unreachable!(),
    }
}

/// Three bits of mantissa below five of exponent.
pub(super) const fn encode(slack: u32) -> u8 {
    if slack < EXACT {
        return slack as u8;
    }
    let shift = 28 - slack.leading_zeros();
    // Rounding up may carry into the next power of two, which the addition does by itself.
    let mantissa = ((slack - 1) >> shift) + 1;
    ((shift << 3) + mantissa) as u8
}

/// The value behind a code; `None` for codes above that of `u32::MAX`.
pub(super) const fn decode(code: u8) -> Option<u32> {
    if code < EXACT as u8 {
        return Some(code as u32);
    }
    if code > MAX_CODE {
        return None;
    }
    let shift = (code >> 3) - 1;
    let value = ((8 + (code & 7)) as u64) << shift;
    Some(if value > u32::MAX as u64 { u32::MAX } else { value as u32 })
}

/// Stands for all from 15 × 2²⁸ up, as `u32::MAX`.
const MAX_CODE: u8 = (29 << 3) + 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_goes_up_by_an_eighth_at_most() {
        let edges = (0..32).flat_map(|bit| {
            let power = 1u32 << bit;
            [power - 1, power, power + 1, power + power / 3, power | (power >> 1)]
        });
        for slack in edges.chain(0..5000).chain([u32::MAX - 1, u32::MAX]) {
            let found = rounded(slack);
            assert!(found >= slack, "{slack} became {found}");
            assert!(u64::from(found) <= u64::from(slack) * 9 / 8, "{slack} became {found}");
            assert_eq!(rounded(found), found);
        }
    }

    #[test]
    fn codes_ascend_and_end() {
        let values: Vec<u32> = (0..=u8::MAX).map_while(decode).collect();
        assert_eq!(values.len(), usize::from(MAX_CODE) + 1);
        assert!(values.is_sorted_by(|a, b| a < b));
        assert_eq!(values.last(), Some(&u32::MAX));
    }
}
