//! What a node holds that it must not, and whether it may lack what others hold.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Keys that a node which cannot be reached is to forget are remembered one by one up to so many bytes of commands;
/// beyond that it is to forget everything. 9,000 keys of 20 bytes.
pub(super) const COMMANDS_MAX: usize = 256 << 10;

/// How a command begins that takes a key away.
pub(crate) const DELETE: &[u8] = b"delete ";

/// What a node is to forget, since it may hold an old value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Forget {
    Key(Arc<[u8]>),
    Everything,
}

impl Forget {
    /// The command, in parts.
    pub(super) fn command(&self) -> [&[u8]; 3] {
        match self {
            Self::Key(key) => [DELETE, key, b"\r\n"],
            Self::Everything => [b"flush_all", b"", b"\r\n"],
        }
    }

    /// Whether it was carried out.
    pub(super) fn is_done(&self, line: &[u8]) -> bool {
        match self {
            Self::Key(_) => matches!(line, b"DELETED" | b"NOT_FOUND"),
            Self::Everything => line == b"OK",
        }
    }
}

/// Of one node. What it is to forget it forgets before anything else is asked by a new connection.
#[derive(Debug)]
pub(super) struct Standing {
    keys: BTreeSet<Arc<[u8]>>,
    /// Of the commands for these.
    bytes: usize,
    everything: bool,
    is_cold: bool,
}

impl Standing {
    /// As the others, whatever these hold; or nothing, if it is to forget everything at first.
    pub(super) const fn new(forgets_everything: bool) -> Self {
        let keys = BTreeSet::new();
        Self { keys, bytes: 0, everything: forgets_everything, is_cold: false }
    }

    /// Whether others may hold what it does not: then its misses say nothing.
    pub(super) const fn is_cold(&self) -> bool {
        self.is_cold
    }

    /// It has been away, and may have lost what it had.
    pub(super) const fn grows_cold(&mut self) {
        self.is_cold = true;
    }

    /// All nodes are emptied at once: it lacks nothing.
    pub(super) const fn grows_warm(&mut self) {
        self.is_cold = false;
    }

    /// Whether a value of this key that it may hold is old.
    pub(super) fn is_to_forget(&self, key: &[u8]) -> bool {
        self.everything || self.keys.contains(key)
    }

    pub(super) fn add(&mut self, forget: Forget) {
        self.is_cold = true;
        match forget {
            Forget::Key(key) if !self.everything => {
                let bytes = Forget::Key(key.clone()).command().concat().len();
                if self.keys.insert(key) {
                    self.bytes += bytes;
                }
                if self.bytes <= COMMANDS_MAX {
                    return;
                }
            }
            Forget::Key(_) | Forget::Everything => {}
        }
        (self.keys, self.bytes, self.everything) = (BTreeSet::new(), 0, true);
    }

    /// What is to be forgotten, which the caller sees to from now on.
    pub(super) fn take(&mut self) -> Vec<Forget> {
        self.bytes = 0;
        if std::mem::take(&mut self.everything) {
            return vec![Forget::Everything];
        }
        std::mem::take(&mut self.keys).into_iter().map(Forget::Key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_forgotten_one_by_one_until_they_are_too_many() {
        let mut standing = Standing::new(false);
        let key = |number: usize| Forget::Key(format!("key-{number:06}").as_bytes().into());
        for number in [1, 2, 1] {
            standing.add(key(number));
        }
        assert!(standing.is_to_forget(b"key-000001") && !standing.is_to_forget(b"key-000003"));
        assert!(standing.is_cold());
        assert_eq!(standing.take(), [key(1), key(2)]);
        assert_eq!(standing.take(), []);
        let most = COMMANDS_MAX / "delete key-000000\r\n".len();
        (0..most).for_each(|number| standing.add(key(number)));
        assert!(!standing.is_to_forget(b"other"));
        standing.add(key(most));
        assert!(standing.is_to_forget(b"other"));
        assert_eq!(standing.take(), [Forget::Everything]);
    }
}
