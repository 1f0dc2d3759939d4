//! The same in registers. A macro writes each width: they differ in names alone.

use super::{AHEAD, ASKED_BYTES, BLOCK, joined, padded};
use crate::table::Rows;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

macro_rules! kernels {
    (
        $module:ident, $feature:literal, $width:literal, $register:ident,
        $zero:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident
    ) => {
        pub(super) mod $module {
            use super::{AHEAD, BLOCK, Rows, joined, padded, prefetch};
            use std::arch::x86_64::*;

            const WIDTH: usize = $width;
            type Lanes = [$register; BLOCK / WIDTH];

            #[target_feature(enable = $feature)]
            pub(in super::super) fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
                let ((blocks_a, rest_a), (blocks_b, rest_b)) = (a.as_chunks(), b.as_chunks());
                let mut lanes = [$zero(); BLOCK / WIDTH];
                for (a, b) in blocks_a.iter().zip(blocks_b) {
                    add_squares(&mut lanes, a, b);
                }
                if !rest_a.is_empty() {
                    add_squares(&mut lanes, &padded(rest_a), &padded(rest_b));
                }
                joined(stored(lanes))
            }

            #[target_feature(enable = $feature)]
            pub(in super::super) fn dot(a: &[f32], b: &[f32]) -> f32 {
                let ((blocks_a, rest_a), (blocks_b, rest_b)) = (a.as_chunks(), b.as_chunks());
                let mut lanes = [$zero(); BLOCK / WIDTH];
                for (a, b) in blocks_a.iter().zip(blocks_b) {
                    add_products(&mut lanes, a, b);
                }
                if !rest_a.is_empty() {
                    add_products(&mut lanes, &padded(rest_a), &padded(rest_b));
                }
                joined(stored(lanes))
            }

            #[target_feature(enable = $feature)]
            pub(in super::super) fn distances(query: &[f32], rows: Rows<'_>, into: &mut Vec<f32>) {
                for row in rows.all() {
                    into.push(squared_distance(query, row));
                }
            }

            #[target_feature(enable = $feature)]
            pub(in super::super) fn dots(query: &[f32], rows: Rows<'_>, into: &mut Vec<f32>) {
                for row in rows.all() {
                    into.push(dot(query, row));
                }
            }

            #[target_feature(enable = $feature)]
            pub(in super::super) fn distances_of(
                query: &[f32],
                rows: Rows<'_>,
                numbers: &[u32],
                into: &mut Vec<f32>,
            ) {
                for &number in &numbers[..AHEAD.min(numbers.len())] {
                    prefetch(rows.row(number as usize));
                }
                for (at, &number) in numbers.iter().enumerate() {
                    if let Some(&later) = numbers.get(at + AHEAD) {
                        prefetch(rows.row(later as usize));
                    }
                    into.push(squared_distance(query, rows.row(number as usize)));
                }
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn add_squares(lanes: &mut Lanes, a: &[f32; BLOCK], b: &[f32; BLOCK]) {
                let (a, b) = (a.as_chunks().0, b.as_chunks().0);
                for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
                    let difference = $sub(load(a), load(b));
                    *lane = $add(*lane, $mul(difference, difference));
                }
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn add_products(lanes: &mut Lanes, a: &[f32; BLOCK], b: &[f32; BLOCK]) {
                let (a, b) = (a.as_chunks().0, b.as_chunks().0);
                for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
                    *lane = $add(*lane, $mul(load(a), load(b)));
                }
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn load(values: &[f32; WIDTH]) -> $register {
                // SAFETY: rule 2; these loads need no alignment.
                unsafe { $load(values.as_ptr()) }
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn stored(lanes: Lanes) -> [f32; BLOCK] {
                let mut values = [0.0; BLOCK];
                let (parts, _) = values.as_chunks_mut::<WIDTH>();
                for (part, lane) in parts.iter_mut().zip(lanes) {
                    // SAFETY: rule 2; these stores need no alignment.
                    unsafe { $store(part.as_mut_ptr(), lane) };
                }
                values
            }
        }
    };
}

kernels!(
    sse41,
    "sse4.1",
    4,
    __m128,
    _mm_setzero_ps,
    _mm_loadu_ps,
    _mm_storeu_ps,
    _mm_add_ps,
    _mm_sub_ps,
    _mm_mul_ps
);
kernels!(
    avx2,
    "avx2",
    8,
    __m256,
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps
);
kernels!(
    avx512,
    "avx512f",
    16,
    __m512,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps
);

/// Asks for the start of a row.
#[inline]
fn prefetch(row: &[f32]) {
    const LINE: usize = 64 / size_of::<f32>();
    for line in row[..row.len().min(ASKED_BYTES / size_of::<f32>())].chunks(LINE) {
        // SAFETY: rule 3.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}
