//! A channel's calls that have not ended: their arguments while they wait, their times while they
//! are on their way.

use super::NewCall;
use slab::Slab;
use tailwater_core::{Instant, RequestId};

/// A call and the driver's token for it.
pub(super) struct Entry {
    pub(super) token: u64,
    pub(super) call: NewCall,
    /// When it was sent; `None` while it waits.
    pub(super) sent: Option<Instant>,
    sequence: u32,
}

/// Calls by number. A number is a slot and a sequence, so that an answer to a call that ended
/// meanwhile is not taken for another's.
#[derive(Default)]
pub(super) struct Calls {
    entries: Slab<Entry>,
    sequence: u32,
}

impl Calls {
    pub(super) fn insert(&mut self, token: u64, call: NewCall) -> RequestId {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        let slot = self.entries.insert(Entry { token, call, sent: None, sequence });
        RequestId(u64::from(sequence) << 32 | slot as u64)
    }

    pub(super) fn get_mut(&mut self, id: RequestId) -> Option<&mut Entry> {
        let (slot, sequence) = split(id);
        self.entries.get_mut(slot).filter(|entry| entry.sequence == sequence)
    }

    pub(super) fn remove(&mut self, id: RequestId) -> Option<Entry> {
        self.get_mut(id)?;
        self.entries.try_remove(split(id).0)
    }

    /// Takes out the calls that are on their way: their connection is gone.
    pub(super) fn take_sent(&mut self) -> Vec<Entry> {
        let sent: Vec<usize> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.sent.is_some())
            .map(|(slot, _)| slot)
            .collect();
        sent.into_iter().map(|slot| self.entries.remove(slot)).collect()
    }

    /// Calls that have not ended.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

fn split(id: RequestId) -> (usize, u32) {
    ((id.0 & u64::from(u32::MAX)) as usize, (id.0 >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::MethodId;

    fn call() -> NewCall {
        NewCall {
            method: MethodId(1),
            payload: Vec::new(),
            deadline: None,
            priority: 128,
            tenant: 0,
        }
    }

    #[test]
    fn an_answer_to_an_ended_call_is_nobodys() {
        let mut calls = Calls::default();
        let first = calls.insert(1, call());
        assert!(calls.remove(first).is_some());
        let second = calls.insert(2, call());
        assert_ne!(first, second);
        assert!(calls.remove(first).is_none(), "the slot is another's now");
        assert_eq!(calls.remove(second).map(|entry| entry.token), Some(2));
    }

    #[test]
    fn only_calls_on_their_way_are_lost_with_the_connection() {
        let mut calls = Calls::default();
        let sent = calls.insert(1, call());
        calls.insert(2, call());
        calls.get_mut(sent).unwrap().sent = Some(Instant::ZERO);
        let lost: Vec<u64> = calls.take_sent().into_iter().map(|entry| entry.token).collect();
        assert_eq!(lost, [1]);
        assert_eq!(calls.len(), 1);
    }
}
