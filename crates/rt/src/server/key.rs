//! Which connection of a loop is meant, which request on it, and which run of one.

use tailwater_core::{RequestId, SessionId};

/// Names one connection of a loop, also after it is gone: a slot is reused, its generation is not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ConnectionKey {
    slot: u32,
    generation: u32,
}

impl ConnectionKey {
    pub(crate) const fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }

    pub(crate) const fn slot(self) -> usize {
        self.slot as usize
    }

    /// What the controller calls the connection.
    pub(crate) const fn session(self) -> SessionId {
        SessionId(self.slot)
    }

    /// What the poller calls the connection.
    pub(crate) const fn token(self) -> u64 {
        (self.generation as u64) << 32 | self.slot as u64
    }

    pub(crate) const fn from_token(token: u64) -> Self {
        Self { slot: token as u32, generation: (token >> 32) as u32 }
    }
}

/// Names a request. The client chose the id: two requests of a faulty client may share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestKey {
    pub(crate) connection: ConnectionKey,
    pub(crate) id: RequestId,
}

/// Names one flight of a loop's runner, also after it has ended: slots are reused, numbers are not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FlightKey {
    slot: u32,
    number: u64,
}

impl FlightKey {
    pub(super) const fn new(slot: u32, number: u64) -> Self {
        Self { slot, number }
    }

    /// Where the runner has it.
    pub(super) const fn slot(self) -> u32 {
        self.slot
    }

    pub(super) const fn number(self) -> u64 {
        self.number
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_slot_and_generation() {
        for (slot, generation) in [(0, 0), (7, 1), (u32::MAX - 2, u32::MAX), (3, u32::MAX)] {
            let key = ConnectionKey::new(slot, generation);
            assert_eq!(ConnectionKey::from_token(key.token()), key);
        }
        assert_ne!(ConnectionKey::new(1, 1).token(), ConnectionKey::new(1, 2).token());
    }
}
