//! Squared distances and dot products.
//!
//! Lane j of 32 adds the terms j, j + 32, j + 64 … in order; then the upper half of the lanes is added to the
//! lower until one is left. What is missing in the last block is zero. `scalar` says so in plain code; `x86` does
//! it in registers.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::level::Level;
use crate::table::{BLOCK, Rows};

/// Rows that are asked for ahead. With 50 dimensions a row takes 10 ns, and memory 100 ns.
const AHEAD: usize = 8;

/// How many bytes at the start of a row are asked for; the processor goes on by itself in longer ones.
const ASKED_BYTES: usize = 512;

macro_rules! by_level {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level {
            Level::Scalar => scalar::$function($($argument),*),
            // SAFETY: rule 1; the level comes from `Kernels`.
            #[cfg(target_arch = "x86_64")]
            Level::Sse41 => unsafe { x86::sse41::$function($($argument),*) },
            // SAFETY: rule 1.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { x86::avx2::$function($($argument),*) },
            // SAFETY: rule 1.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { x86::avx512::$function($($argument),*) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => scalar::$function($($argument),*),
        }
    };
}

pub(crate) fn squared_distance(level: Level, a: &[f32], b: &[f32]) -> f32 {
    by_level!(level, squared_distance(a, b))
}

pub(crate) fn dot(level: Level, a: &[f32], b: &[f32]) -> f32 {
    by_level!(level, dot(a, b))
}

pub(crate) fn distances(level: Level, query: &[f32], rows: Rows<'_>, into: &mut Vec<f32>) {
    by_level!(level, distances(query, rows, into));
}

pub(crate) fn dots(level: Level, query: &[f32], rows: Rows<'_>, into: &mut Vec<f32>) {
    by_level!(level, dots(query, rows, into));
}

pub(crate) fn distances_of(
    level: Level,
    query: &[f32],
    rows: Rows<'_>,
    numbers: &[u32],
    into: &mut Vec<f32>,
) {
    by_level!(level, distances_of(query, rows, numbers, into));
}

/// The lanes as one sum.
#[inline]
fn joined(mut lanes: [f32; BLOCK]) -> f32 {
    let mut half = BLOCK / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The last block of a vector, with zeros behind it.
#[inline]
fn padded(rest: &[f32]) -> [f32; BLOCK] {
    let mut block = [0.0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}
