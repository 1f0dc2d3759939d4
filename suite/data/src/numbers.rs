//! Arrays of numbers as bytes, little-endian: what sections mostly hold.

/// The bytes of these numbers.
#[must_use]
pub fn bytes_of_u32(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The numbers of these bytes; `None` where they are no whole number of them.
#[must_use]
pub fn u32_of_bytes(bytes: &[u8]) -> Option<Vec<u32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| numbers.iter().map(|number| u32::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_parts_of_numbers_are_none() {
        let numbers = [0, 1, 256, u32::MAX];
        assert_eq!(u32_of_bytes(&bytes_of_u32(&numbers)).as_deref(), Some(&numbers[..]));
        assert_eq!(u32_of_bytes(&[0; 7]), None);
    }
}
