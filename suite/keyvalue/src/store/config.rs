//! What a store is given, checked once.

use super::item::Item;
use super::lru;
use std::error::Error;
use std::fmt;

/// Longest key in bytes: memcached's limit.
pub const KEY_MAX: usize = 250;
/// Longest value in bytes.
pub const VALUE_MAX: usize = 1 << 20;
/// The largest item.
pub(super) const CHUNK_MAX: usize = (VALUE_MAX + KEY_MAX).next_multiple_of(8);

/// What a chunk costs beside its bytes: its header, its node in the LRU, and what the program's own
/// allocator adds to the header.
pub(super) const CHUNK_OVERHEAD: usize = size_of::<Item>() + lru::NODE_SIZE + 16;

/// How large a store is, and how its parts are sized.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Bytes for everything: tables, pages, headers. Default 64 MiB. At least 4 MiB; much less than the
    /// items need means that they evict one another all the time.
    pub memory: usize,
    /// Bytes of the smallest chunk. Default 48. Smaller saves memory for tiny items; larger than most
    /// items wastes it.
    pub chunk_min: usize,
    /// Each class's chunks are larger by this. Default 1.25. Near 1 makes many classes, each with pages
    /// of its own; 2 leaves a quarter of the memory unused.
    pub factor: f64,
    /// Buckets as a power of two; `None` chooses it so that the chains of a full store have one to two
    /// items of the smallest class. Fewer make long chains, more take memory from the items.
    pub hash_power: Option<u32>,
    /// Item locks as a power of two, at most one per bucket; `None` means one for 16 buckets and at
    /// most 4,096 locks. Fewer make unrelated keys wait for one another.
    pub lock_power: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self { memory: 64 << 20, chunk_min: 48, factor: 1.25, hash_power: None, lock_power: None }
    }
}

/// Why there can be no such store.
#[derive(Clone, PartialEq, Debug)]
pub enum ConfigError {
    /// The tables leave no page for items.
    Memory {
        /// Bytes that were given.
        found: usize,
        /// Bytes that are needed at least.
        needed: usize,
    },
    /// Another field is out of its range.
    Range {
        /// Which.
        field: &'static str,
        /// What it was.
        found: String,
        /// What is possible.
        needed: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { found, needed } => write!(
                f,
                "the memory limit is {found} bytes; {needed} are needed for the tables and first pages; \
                 raise it, or choose fewer buckets"
            ),
            Self::Range { field, found, needed } => {
                write!(f, "{field} is {found}; {needed} is needed")
            }
        }
    }
}

impl Error for ConfigError {}

impl Config {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let range = |field, found: String, needed| Err(ConfigError::Range { field, found, needed });
        if self.memory < 4 << 20 {
            return Err(ConfigError::Memory { found: self.memory, needed: 4 << 20 });
        }
        if !(16..=32 << 10).contains(&self.chunk_min) {
            return range("the smallest chunk", self.chunk_min.to_string(), "16 B to 32 KiB");
        }
        // Below, there would be more classes than a byte can number.
        if !(1.05..=4.0).contains(&self.factor) {
            return range("the growth factor", self.factor.to_string(), "1.05 to 4");
        }
        if let Some(power) = self.hash_power.filter(|power| !(4..=32).contains(power)) {
            return range("the hash power", power.to_string(), "4 to 32");
        }
        match self.lock_power {
            Some(power) if power > self.hash_power() => {
                range("the lock power", power.to_string(), "at most the hash power")
            }
            _ => Ok(()),
        }
    }

    /// Bytes of a page: memcached's 1 MiB for a gigabyte or more, less for less. From 32 MiB on
    /// the first pages of all classes take a twelfth of the memory at most, with the default factor; below, and
    /// with a smaller factor, more.
    pub(super) fn page(&self) -> usize {
        (1 << (self.memory >> 10).max(1).ilog2()).clamp(64 << 10, 1 << 20)
    }

    pub(super) fn hash_power(&self) -> u32 {
        let items = self.memory / (self.chunk_min + CHUNK_OVERHEAD);
        self.hash_power.unwrap_or_else(|| items.max(16).ilog2())
    }

    pub(super) fn lock_power(&self) -> u32 {
        self.lock_power.unwrap_or_else(|| (self.hash_power() - 4).min(12))
    }
}
