//! Whether a get's answer can be: the value that was acknowledged last, or one that was written since.
//!
//! A value says its key, its epoch and its version, and is a function of these. An epoch is one set of writers, such
//! as the generator of one run; what earlier ones wrote is right until a write of this one was acknowledged. One
//! writer at a time writes a key; versions count up. A get must answer a version that is not older than the one
//! acknowledged when it began, and not newer than the one issued when it ended. A write that failed may have been
//! carried out: it counts as issued.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_core::Rng;

/// The versions of so many keys, shared by those that write and read them.
#[derive(Debug)]
pub struct Versions {
    epoch: u32,
    keys: Vec<Versioned>,
}

// Each counts up alone. A reader that knows of an acknowledgement by another way than these numbers has synchronised
// with the writer by that way: Relaxed.
#[derive(Debug, Default)]
struct Versioned {
    issued: AtomicU32,
    acknowledged: AtomicU32,
}

/// What is wrong about an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// Of an acknowledged key there is nothing.
    Missing,
    /// Not a value of this key, or not a whole one.
    Foreign,
    /// This version, 0 for another epoch's, where at least that was acknowledged.
    Old(u32, u32),
    /// This version was never written.
    Unwritten(u32),
}

/// What must be true of a get's answer: taken when it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected {
    /// Of which key.
    pub key: u32,
    /// The version that was acknowledged when it began; zero for none.
    pub at_least: u32,
}

const HEAD_BYTES: usize = 12;

impl Versions {
    /// Of keys from zero; nothing is written in this epoch.
    #[must_use]
    pub fn of(keys: u32, epoch: u32) -> Self {
        Self { epoch, keys: (0..keys).map(|_| Versioned::default()).collect() }
    }

    /// The value of a version.
    #[must_use]
    pub fn value(&self, key: u32, version: u32) -> Vec<u8> {
        value(key, self.epoch, version)
    }

    /// The next version of a key, which its one writer is about to write.
    #[must_use]
    pub fn issue(&self, key: u32) -> u32 {
        self.keys[key as usize].issued.fetch_add(1, Relaxed) + 1
    }

    /// The write of this version was acknowledged.
    pub fn acknowledge(&self, key: u32, version: u32) {
        self.keys[key as usize].acknowledged.fetch_max(version, Relaxed);
    }

    /// A get of this key begins.
    #[must_use]
    pub fn expect(&self, key: u32) -> Expected {
        Expected { key, at_least: self.keys[key as usize].acknowledged.load(Relaxed) }
    }

    /// A get has ended: with this value, or without one.
    ///
    /// # Errors
    /// When the answer cannot be.
    pub fn check(&self, expected: Expected, value: Option<&[u8]>) -> Result<(), Wrong> {
        let Expected { key, at_least } = expected;
        let Some(value) = value else {
            return if at_least == 0 { Ok(()) } else { Err(Wrong::Missing) };
        };
        let (epoch, version) = version_in(key, value).ok_or(Wrong::Foreign)?;
        if epoch != self.epoch {
            return if at_least == 0 { Ok(()) } else { Err(Wrong::Old(0, at_least)) };
        }
        if version > self.keys[key as usize].issued.load(Relaxed) || version == 0 {
            return Err(Wrong::Unwritten(version));
        }
        if version < at_least { Err(Wrong::Old(version, at_least)) } else { Ok(()) }
    }
}

/// The value of a key's version in an epoch: 12 to 1,000 bytes, mostly short, of a length that belongs to the key.
#[must_use]
pub fn value(key: u32, epoch: u32, version: u32) -> Vec<u8> {
    let of_key = Rng::from_seed(key.into()).exponential(100.0);
    let len = (HEAD_BYTES as f64 + of_key).min(1_000.0) as usize;
    let mut rng = Rng::from_seed(u64::from(epoch) << 32 | u64::from(version)).split("value");
    let mut value = [key, epoch, version].map(u32::to_le_bytes).concat();
    while value.len() < len {
        value.extend_from_slice(&rng.u64().to_le_bytes());
    }
    value.truncate(len);
    value
}

/// The epoch and the version of this key that a value is.
pub(crate) fn version_in(key: u32, found: &[u8]) -> Option<(u32, u32)> {
    let (head, _) = found.split_first_chunk::<HEAD_BYTES>()?;
    let words = head.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    let [of, epoch, version] = words.collect::<Vec<_>>().try_into().ok()?;
    (of == key && value(key, epoch, version) == found).then_some((epoch, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_or_came_since_is_right() {
        let versions = Versions::of(2, 9);
        let before = versions.expect(1);
        assert_eq!(versions.check(before, None), Ok(()));
        let [first, second] = [(); 2].map(|()| versions.issue(1));
        assert_eq!(
            versions.check(before, Some(&versions.value(1, first))),
            Ok(()),
            "it began before"
        );
        versions.acknowledge(1, second);
        let since = versions.expect(1);
        assert_eq!(versions.check(before, Some(&versions.value(1, first))), Ok(()));
        assert_eq!(versions.check(since, Some(&versions.value(1, second))), Ok(()));
        assert_eq!(
            versions.check(since, Some(&versions.value(1, first))),
            Err(Wrong::Old(first, second))
        );
        assert_eq!(versions.check(since, None), Err(Wrong::Missing));
    }

    #[test]
    fn what_another_epoch_wrote_is_right_until_this_one_has_written() {
        let versions = Versions::of(2, 9);
        let before = value(1, 8, 77);
        assert_eq!(versions.check(versions.expect(1), Some(&before)), Ok(()));
        versions.acknowledge(1, versions.issue(1));
        let found = versions.check(versions.expect(1), Some(&before));
        assert_eq!(found, Err(Wrong::Old(0, 1)));
    }

    #[test]
    fn what_nobody_wrote_is_wrong() {
        let versions = Versions::of(2, 9);
        let version = versions.issue(1);
        let expected = versions.expect(1);
        let mut damaged = versions.value(1, version);
        *damaged.last_mut().expect("not empty") ^= 1;
        for foreign in
            [&versions.value(0, version)[..], &damaged, &[], &versions.value(1, version)[..5]]
        {
            assert_eq!(versions.check(expected, Some(foreign)), Err(Wrong::Foreign));
        }
        let newer = versions.value(1, version + 1);
        assert_eq!(versions.check(expected, Some(&newer)), Err(Wrong::Unwritten(version + 1)));
    }
}
