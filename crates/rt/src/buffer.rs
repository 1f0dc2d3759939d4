//! What connections keep of their buffers.

/// A buffer that is empty is given back if it is larger: ten thousand idle connections should not each
/// keep the buffer of their largest call.
const KEPT_CAPACITY: usize = 16 << 10;

/// Gives the memory of a large buffer back once nothing is in it.
pub(crate) fn give_back(buffer: &mut Vec<u8>) {
    if buffer.is_empty() && buffer.capacity() > KEPT_CAPACITY {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_and_empty_buffers_are_given_back() {
        let kept = |capacity: usize, bytes: usize| {
            let mut buffer = Vec::with_capacity(capacity);
            buffer.resize(bytes, 7);
            give_back(&mut buffer);
            (buffer.capacity() >= capacity, buffer.len())
        };
        assert_eq!(kept(KEPT_CAPACITY, 0), (true, 0));
        assert_eq!(kept(KEPT_CAPACITY + 1, 0), (false, 0));
        assert_eq!(kept(KEPT_CAPACITY + 1, 1), (true, 1));
    }
}
