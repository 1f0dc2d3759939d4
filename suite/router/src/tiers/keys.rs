//! The keys of the service in three tiers, and what leaves hold of each at their start.

use crate::oracle::initial;

/// The bytes of a key.
#[must_use]
pub fn key_of(number: u32) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

/// What leaves hold of a key at their start.
#[must_use]
pub fn preloaded(key: u32) -> Vec<u8> {
    initial(key)
}
