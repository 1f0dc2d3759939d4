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

/// As [`bytes_of_u32`].
#[must_use]
pub fn bytes_of_u64(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// As [`u32_of_bytes`].
#[must_use]
pub fn u64_of_bytes(bytes: &[u8]) -> Option<Vec<u64>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| numbers.iter().map(|number| u64::from_le_bytes(*number)).collect())
}

/// As [`bytes_of_u32`].
#[must_use]
pub fn bytes_of_f32(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// As [`u32_of_bytes`].
#[must_use]
pub fn f32_of_bytes(bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

/// As [`bytes_of_u32`].
#[must_use]
pub fn bytes_of_f64(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// As [`u32_of_bytes`].
#[must_use]
pub fn f64_of_bytes(bytes: &[u8]) -> Option<Vec<f64>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| numbers.iter().map(|number| f64::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_parts_of_numbers_are_none() {
        let numbers = [0, 1, 256, u32::MAX];
        assert_eq!(u32_of_bytes(&bytes_of_u32(&numbers)).as_deref(), Some(&numbers[..]));
        let wide = [0, u64::MAX, 1 << 40];
        assert_eq!(u64_of_bytes(&bytes_of_u64(&wide)).as_deref(), Some(&wide[..]));
        assert_eq!(u64_of_bytes(&[0; 12]), None);
        let (short, long) = ([0.0, -1.5, f32::MAX], [1e-300, -2.5]);
        assert_eq!(f32_of_bytes(&bytes_of_f32(&short)).as_deref(), Some(&short[..]));
        assert_eq!(f64_of_bytes(&bytes_of_f64(&long)).as_deref(), Some(&long[..]));
        assert_eq!((u32_of_bytes(&[0; 7]), f32_of_bytes(&[0; 7])), (None, None));
        assert_eq!(f64_of_bytes(&[0; 12]), None);
    }
}
