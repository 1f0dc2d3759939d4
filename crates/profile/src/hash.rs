//! Maps keyed by a trace's own small numbers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose order means nothing: results are sorted before they are shown.
///
/// Keys are dense numbers and the maps are bounded, so a fast hash does; a trace made to collide
/// costs its reader time in proportion to the bound, no more.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// Multiplies and rotates, word by word.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        // The map takes its slot from the low bits, the product is best mixed in the high ones.
        self.0.rotate_left(26)
    }
}
