//! Little-endian fields at constant offsets of a fixed-size header.
//!
//! All are inlined, so that with constant offsets the bounds checks vanish and a header becomes a
//! handful of loads and stores.

#[inline(always)]
pub(crate) fn u16_at<const N: usize>(head: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([head[at], head[at + 1]])
}

#[inline(always)]
pub(crate) fn u32_at<const N: usize>(head: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

#[inline(always)]
pub(crate) fn u64_at<const N: usize>(head: &[u8; N], at: usize) -> u64 {
    u64::from(u32_at(head, at)) | u64::from(u32_at(head, at + 4)) << 32
}

#[inline(always)]
pub(crate) fn put_u16<const N: usize>(head: &mut [u8; N], at: usize, value: u16) {
    head[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

#[inline(always)]
pub(crate) fn put_u32<const N: usize>(head: &mut [u8; N], at: usize, value: u32) {
    head[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[inline(always)]
pub(crate) fn put_u64<const N: usize>(head: &mut [u8; N], at: usize, value: u64) {
    head[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
