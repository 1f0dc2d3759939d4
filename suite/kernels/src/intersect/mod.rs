//! What two sorted lists have in common.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use scalar::{gallop, merge};

use crate::level::Level;

/// From this ratio of lengths on, galloping looks at fewer numbers than there are in the longer list: it takes
/// two comparisons for each doubling of the distance, and blocks take one for each eight or sixteen numbers.
const GALLOPS_FROM: usize = 32;

pub(crate) fn intersect(level: Level, a: &[u32], b: &[u32], both: &mut Vec<u32>) {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() / GALLOPS_FROM >= short.len() {
        return gallop(short, long, both);
    }
    match level {
        Level::Scalar => merge(short, long, both),
        // SAFETY: rule 1; the level comes from `Kernels`.
        #[cfg(target_arch = "x86_64")]
        Level::Sse41 => unsafe { x86::sse41(short, long, both) },
        // SAFETY: rule 1.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::avx2(short, long, both) },
        // SAFETY: rule 1.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::avx512(short, long, both) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => merge(short, long, both),
    }
}
