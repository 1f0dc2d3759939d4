//! Which replicas must not be asked: those that are lost, and those that have missed a write.

use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_core::Instant;

/// More missed writes of a node than this, and the node is not asked for anything.
const MISSED_MAX: usize = 65_536;

/// What the mid-tier knows of its nodes.
#[derive(Debug)]
pub(super) struct Nodes(Vec<Node>);

#[derive(Clone, Debug, Default)]
struct Node {
    is_lost: bool,
    /// When it was first found not to answer, since it last did.
    silent_since: Option<Instant>,
    /// Of each key that it has an old value of, the number of the last write that it missed.
    missed: BTreeMap<Vec<u8>, u64>,
}

impl Nodes {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![Node::default(); count])
    }

    /// Whether it may be asked to write.
    pub(super) fn is_there(&self, node: u16) -> bool {
        !self.0[usize::from(node)].is_lost
    }

    /// Whether it has what was last written to this key.
    pub(super) fn has_last(&self, node: u16, key: &[u8]) -> bool {
        let node = &self.0[usize::from(node)];
        !node.is_lost && !node.missed.contains_key(key)
    }

    /// Its connection was lost. It may come back without what it had, or with what it had once: it is not asked again.
    pub(super) fn lose(&mut self, node: u16) {
        self.0[usize::from(node)] = Node { is_lost: true, ..Node::default() };
    }

    /// Whether it answers, as far as is known.
    pub(super) fn answers(&self, node: u16) -> bool {
        self.0[usize::from(node)].silent_since.is_none()
    }

    /// It has answered, or refused.
    pub(super) fn has_answered(&mut self, node: u16) {
        self.0[usize::from(node)].silent_since = None;
    }

    /// A call has ended without an answer. A node that is silent for so long is lost.
    pub(super) fn is_silent(&mut self, node: u16, at: Instant, longest: Duration) {
        let since = *self.0[usize::from(node)].silent_since.get_or_insert(at);
        if at.since(since) >= longest {
            self.lose(node);
        }
    }

    /// It has not stored the write of this number, which others have.
    pub(super) fn miss(&mut self, node: u16, key: &[u8], write: u64) {
        let it = &mut self.0[usize::from(node)];
        if it.is_lost {
            return;
        }
        if it.missed.len() >= MISSED_MAX && !it.missed.contains_key(key) {
            self.lose(node);
            return;
        }
        let last = it.missed.entry(key.to_owned()).or_default();
        *last = write.max(*last);
    }

    /// It has stored the write of this number. An earlier one that is heard of late changes nothing.
    pub(super) fn store(&mut self, node: u16, key: &[u8], write: u64) {
        let missed = &mut self.0[usize::from(node)].missed;
        if missed.get(key).is_some_and(|&last| last < write) {
            missed.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_write_makes_good_what_was_missed_and_an_earlier_one_does_not() {
        let mut nodes = Nodes::new(2);
        nodes.miss(1, b"a", 5);
        assert!(!nodes.has_last(1, b"a") && nodes.has_last(1, b"b") && nodes.has_last(0, b"a"));
        assert!(nodes.is_there(1));
        nodes.store(1, b"a", 4);
        assert!(!nodes.has_last(1, b"a"), "that write came before");
        nodes.miss(1, b"a", 3);
        nodes.store(1, b"a", 6);
        assert!(nodes.has_last(1, b"a"));
    }

    #[test]
    fn a_node_is_lost_after_a_silence_that_no_answer_breaks() {
        let (mut nodes, longest) = (Nodes::new(1), Duration::from_millis(100));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        nodes.is_silent(0, at(1_000), longest);
        assert!(nodes.is_there(0) && !nodes.answers(0));
        nodes.is_silent(0, at(1_099), longest);
        nodes.has_answered(0);
        nodes.is_silent(0, at(1_150), longest);
        assert!(nodes.is_there(0), "it has answered meanwhile");
        nodes.is_silent(0, at(1_250), longest);
        assert!(!nodes.is_there(0));
    }

    #[test]
    fn what_is_lost_stays_so_and_so_does_what_missed_too_much() {
        let mut nodes = Nodes::new(2);
        nodes.lose(0);
        nodes.store(0, b"a", 9);
        assert!(!nodes.is_there(0) && !nodes.has_last(0, b"a"));
        for key in 0..=MISSED_MAX as u32 {
            assert!(nodes.is_there(1));
            nodes.miss(1, &key.to_le_bytes(), 1);
        }
        assert!(!nodes.is_there(1));
    }
}
