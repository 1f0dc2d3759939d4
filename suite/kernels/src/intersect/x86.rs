//! By blocks: each number of a block is compared with each of the other list's block, which is turned round by one
//! place at a time. Then the block whose last number is smaller gives way to the next one of its list.
//!
//! The idea is Schlegel, Willhalm and Lehner's ("Fast sorted-set intersection using SIMD instructions",
//! ADMS '11). What is left when a list has no whole block any more is merged. A number that was found before is
//! not found again there, since what it is equal to lies behind already.

use super::merge;
use std::arch::x86_64::*;

macro_rules! by_blocks {
    ($name:ident, $feature:literal, $width:literal, $equal:ident, $append:ident) => {
        #[target_feature(enable = $feature)]
        pub(super) fn $name(a: &[u32], b: &[u32], both: &mut Vec<u32>) {
            let (mut a, mut b) = (a, b);
            while let (Some(of_a), Some(of_b)) =
                (a.first_chunk::<$width>(), b.first_chunk::<$width>())
            {
                let equal = $equal(of_a, of_b);
                if equal != 0 {
                    $append(of_a, equal, both);
                }
                let (last_a, last_b) = (of_a[$width - 1], of_b[$width - 1]);
                a = &a[usize::from(last_a <= last_b) * $width..];
                b = &b[usize::from(last_b <= last_a) * $width..];
            }
            merge(a, b, both);
        }
    };
}

by_blocks!(sse41, "sse4.1", 4, equal_4, append_4);
by_blocks!(avx2, "avx2", 8, equal_8, append_8);
by_blocks!(avx512, "avx512f", 16, equal_16, append_16);

/// Bit i: number i of `a` is in `b`.
#[inline]
#[target_feature(enable = "sse4.1")]
fn equal_4(a: &[u32; 4], b: &[u32; 4]) -> u32 {
    // SAFETY: rule 2.
    let (a, b) =
        unsafe { (_mm_loadu_si128(a.as_ptr().cast()), _mm_loadu_si128(b.as_ptr().cast())) };
    let one = _mm_cmpeq_epi32(a, b);
    let two = _mm_cmpeq_epi32(a, _mm_shuffle_epi32::<0b00_11_10_01>(b));
    let three = _mm_cmpeq_epi32(a, _mm_shuffle_epi32::<0b01_00_11_10>(b));
    let four = _mm_cmpeq_epi32(a, _mm_shuffle_epi32::<0b10_01_00_11>(b));
    let any = _mm_or_si128(_mm_or_si128(one, two), _mm_or_si128(three, four));
    _mm_movemask_ps(_mm_castsi128_ps(any)).cast_unsigned()
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn append_4(block: &[u32; 4], mut equal: u32, both: &mut Vec<u32>) {
    while equal != 0 {
        both.push(block[equal.trailing_zeros() as usize]);
        equal &= equal - 1;
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal_8(a: &[u32; 8], b: &[u32; 8]) -> u32 {
    // SAFETY: rule 2.
    let (a, mut b) =
        unsafe { (_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast())) };
    let turn = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    let mut any = _mm256_cmpeq_epi32(a, b);
    for _ in 1..8 {
        b = _mm256_permutevar8x32_epi32(b, turn);
        any = _mm256_or_si256(any, _mm256_cmpeq_epi32(a, b));
    }
    _mm256_movemask_ps(_mm256_castsi256_ps(any)).cast_unsigned()
}

/// For each set of places of a block of eight: these places first.
static CHOSEN: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut place, mut next) = (0, 0);
        while place < 8 {
            if set >> place & 1 == 1 {
                table[set][next] = place as u32;
                next += 1;
            }
            place += 1;
        }
        set += 1;
    }
    table
};

#[inline]
#[target_feature(enable = "avx2")]
fn append_8(block: &[u32; 8], equal: u32, both: &mut Vec<u32>) {
    let mut first = [0_u32; 8];
    // SAFETY: rule 2, all three.
    unsafe {
        let block = _mm256_loadu_si256(block.as_ptr().cast());
        let chosen = _mm256_loadu_si256(CHOSEN[equal as usize & 255].as_ptr().cast());
        let moved = _mm256_permutevar8x32_epi32(block, chosen);
        _mm256_storeu_si256(first.as_mut_ptr().cast(), moved);
    }
    both.extend_from_slice(&first[..equal.count_ones() as usize & 15]);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn equal_16(a: &[u32; 16], b: &[u32; 16]) -> u32 {
    // SAFETY: rule 2.
    let (a, mut b) =
        unsafe { (_mm512_loadu_si512(a.as_ptr().cast()), _mm512_loadu_si512(b.as_ptr().cast())) };
    let mut any = _mm512_cmpeq_epi32_mask(a, b);
    for _ in 1..16 {
        b = _mm512_alignr_epi32::<1>(b, b);
        any |= _mm512_cmpeq_epi32_mask(a, b);
    }
    u32::from(any)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn append_16(block: &[u32; 16], equal: u32, both: &mut Vec<u32>) {
    let mut first = [0_u32; 16];
    // SAFETY: rule 2, both.
    unsafe {
        let block = _mm512_loadu_si512(block.as_ptr().cast());
        let moved = _mm512_maskz_compress_epi32(equal as u16, block);
        _mm512_storeu_si512(first.as_mut_ptr().cast(), moved);
    }
    both.extend_from_slice(&first[..equal.count_ones() as usize & 31]);
}
