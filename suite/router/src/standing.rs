//! What a replica may hold that is old, and whether it may lack what others hold.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys that a replica is to forget are remembered one by one, up to so many bytes; beyond that it is to forget everything.
/// 9,000 keys of 20 bytes.
pub(crate) const KEYS_MAX_BYTES: usize = 256 << 10;

/// Of each key beside its bytes, as a memcached is told of it: `delete ` and the line's end.
const BESIDE_KEY_BYTES: usize = 9;

/// What a replica is to forget, since it may hold an old value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Forget {
    Key(Arc<[u8]>),
    Everything,
}

impl Forget {
    /// This key, or everything.
    pub(crate) fn of(key: Option<&[u8]>) -> Self {
        key.map_or(Self::Everything, |key| Self::Key(key.into()))
    }
}

/// Of one replica: what it is to forget before it is asked for that.
#[derive(Debug)]
pub(crate) struct Standing {
    /// With the number of the last write that each has missed.
    keys: BTreeMap<Arc<[u8]>, u64>,
    /// Of what tells of these.
    bytes: usize,
    everything: bool,
    is_cold: bool,
}

impl Standing {
    /// As the others, whatever these hold; or nothing, if it is to forget everything at first.
    pub(crate) const fn new(forgets_everything: bool) -> Self {
        let keys = BTreeMap::new();
        Self { keys, bytes: 0, everything: forgets_everything, is_cold: false }
    }

    /// Whether others may hold what it does not: then its misses say nothing.
    pub(crate) const fn is_cold(&self) -> bool {
        self.is_cold
    }

    /// Whether it holds all that was written to it, as far as is known.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_cold && !self.everything && self.keys.is_empty()
    }

    /// It has been away, and may have lost what it had; or it has forgotten what it was told to.
    pub(crate) const fn grows_cold(&mut self) {
        self.is_cold = true;
    }

    /// All replicas are emptied at once: it lacks nothing.
    pub(crate) const fn grows_warm(&mut self) {
        self.is_cold = false;
    }

    /// Whether a value of this key that it may hold is old.
    pub(crate) fn is_to_forget(&self, key: &[u8]) -> bool {
        self.everything || self.keys.contains_key(key)
    }

    /// Whether what it is to forget was more than is remembered.
    pub(crate) const fn is_to_forget_everything(&self) -> bool {
        self.everything
    }

    /// It has missed the write of this number.
    pub(crate) fn add(&mut self, forget: Forget, write: u64) {
        match forget {
            Forget::Key(key) if !self.everything => {
                let bytes = key.len() + BESIDE_KEY_BYTES;
                match self.keys.get_mut(&key) {
                    Some(last) => *last = write.max(*last),
                    None => {
                        self.keys.insert(key, write);
                        self.bytes += bytes;
                    }
                }
                if self.bytes <= KEYS_MAX_BYTES {
                    return;
                }
            }
            Forget::Key(_) | Forget::Everything => {}
        }
        (self.keys, self.bytes, self.everything) = (BTreeMap::new(), 0, true);
    }

    /// It has stored the write of this number: that replaces what it had of the key, unless it has missed a later one.
    pub(crate) fn store(&mut self, key: &[u8], write: u64) {
        if self.keys.get(key).is_some_and(|missed| *missed < write) {
            self.keys.remove(key);
            self.bytes -= key.len() + BESIDE_KEY_BYTES;
        }
    }

    /// What is to be forgotten, which the caller sees to from now on.
    pub(crate) fn take(&mut self) -> Vec<(Forget, u64)> {
        self.bytes = 0;
        if std::mem::take(&mut self.everything) {
            return vec![(Forget::Everything, 0)];
        }
        let keys = std::mem::take(&mut self.keys);
        keys.into_iter().map(|(key, write)| (Forget::Key(key), write)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Forget {
        Forget::of(Some(format!("key-{number:06}").as_bytes()))
    }

    #[test]
    fn keys_are_forgotten_one_by_one_until_they_are_too_many() {
        let mut standing = Standing::new(false);
        for (number, write) in [(1, 7), (2, 8), (1, 3)] {
            standing.add(key(number), write);
        }
        assert!(standing.is_to_forget(b"key-000001") && !standing.is_to_forget(b"key-000003"));
        assert_eq!(standing.take(), [(key(1), 7), (key(2), 8)]);
        assert_eq!(standing.take(), []);
        let most = KEYS_MAX_BYTES / "delete key-000000\r\n".len();
        (0..most).for_each(|number| standing.add(key(number), 1));
        assert!(!standing.is_to_forget(b"other") && !standing.is_to_forget_everything());
        standing.add(key(most), 1);
        assert!(standing.is_to_forget(b"other") && standing.is_to_forget_everything());
        assert_eq!(standing.take(), [(Forget::Everything, 0)]);
    }

    #[test]
    fn a_later_write_makes_good_what_was_missed_and_an_earlier_one_does_not() {
        let mut standing = Standing::new(false);
        standing.add(key(1), 5);
        standing.store(b"key-000001", 4);
        assert!(standing.is_to_forget(b"key-000001"), "that write came before");
        standing.add(key(1), 3);
        standing.store(b"key-000001", 6);
        assert!(!standing.is_to_forget(b"key-000001"));
        // What was made good takes no room.
        for write in 0..2 * KEYS_MAX_BYTES as u64 / 19 {
            standing.add(key(1), 2 * write);
            standing.store(b"key-000001", 2 * write + 1);
        }
        assert!(!standing.is_to_forget_everything());
    }
}
