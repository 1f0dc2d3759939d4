//! Numbers that any bytes are.

/// Numbers without padding, of which every pattern of bits is one.
pub trait Plain: sealed::Sealed + Copy + 'static {}

impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for f32 {}

mod sealed {
    /// Only this crate can promise it.
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for f32 {}
}

/// These bytes as numbers. `None` unless they lie on a multiple of a number's size and are a whole number of them.
pub(crate) fn numbers<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: rule 4: every pattern of bits is a number, and `align_to` looks at the alignment.
    let (before, numbers, after) = unsafe { bytes.align_to::<T>() };
    (before.is_empty() && after.is_empty()).then_some(numbers)
}
