//! A loop's connections by key.

use super::connection::Connection;
use super::key::ConnectionKey;
use crate::net::Stream;
use slab::Slab;
use tailwater_core::{Instant, SessionId};

/// As many as `connections_max` at most, over all loops.
#[derive(Default)]
pub(super) struct Connections {
    slots: Slab<Connection>,
    /// Of the newest connection. Not reset: late events and answers name connections by it.
    generation: u32,
}

/// Slots that are kept although nobody is there.
const KEPT: usize = 64;

impl Connections {
    /// Adds one whose HELLO is due at `hello`.
    pub(super) fn add(&mut self, stream: Stream, now: Instant, hello: Instant) -> &mut Connection {
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let entry = self.slots.vacant_entry();
        let slot = u32::try_from(entry.key()).expect("connections_max is below 2^24");
        let key = ConnectionKey::new(slot, generation);
        entry.insert(Connection::new(key, stream, now, hello))
    }

    pub(super) fn get(&self, key: ConnectionKey) -> Option<&Connection> {
        self.slots.get(key.slot()).filter(|connection| connection.key == key)
    }

    pub(super) fn get_mut(&mut self, key: ConnectionKey) -> Option<&mut Connection> {
        self.slots.get_mut(key.slot()).filter(|connection| connection.key == key)
    }

    /// The connection that a controller speaks of: it knows the present one of a slot alone.
    pub(super) fn of_session(&mut self, session: SessionId) -> Option<&mut Connection> {
        self.slots.get_mut(session.index())
    }

    pub(super) fn remove(&mut self, key: ConnectionKey) -> Option<Connection> {
        self.get(key)?;
        self.slots.try_remove(key.slot())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().map(|(_, connection)| connection)
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The keys of those that are so.
    pub(super) fn keys(&self, are: impl Fn(&Connection) -> bool) -> Vec<ConnectionKey> {
        self.iter().filter(|connection| are(connection)).map(|connection| connection.key).collect()
    }

    /// Gives back the memory of a crowd that has left.
    pub(super) fn shrink(&mut self) {
        if self.slots.is_empty() && self.slots.capacity() > KEPT {
            self.slots = Slab::new();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::{at, streams};
    use super::*;

    #[test]
    fn a_key_names_no_later_connection_of_its_slot() {
        let mut connections = Connections::default();
        let first = connections.add(streams().0, at(0), at(1)).key;
        assert!(connections.get(first).is_some());
        assert!(connections.remove(first).is_some() && connections.remove(first).is_none());
        let second = connections.add(streams().0, at(0), at(1)).key;
        assert_eq!(first.session(), second.session(), "the slot is used again");
        assert!(connections.get(first).is_none() && connections.get_mut(first).is_none());
        assert!(connections.remove(first).is_none() && connections.get(second).is_some());
        assert_eq!(connections.of_session(second.session()).map(|it| it.key), Some(second));
    }
}
