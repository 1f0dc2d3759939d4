//! What every session was told and has at the node, written down beside the controller.

use crate::connection::{Connection, indices};
use std::ops::Range;
use tailwater_control::Offer;

/// All sessions, by connection.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The first connection.
    first: Connection,
    told: Vec<Told>,
    /// Σ over registered sessions of max(window, pending): no accounting may count more as issued.
    pub(crate) held: u64,
    pub(crate) registered: u32,
    /// Some session may send at will, so that nothing is counted.
    pub(crate) open: bool,
}

/// One session, seen from outside of the controller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// A fault made the client break the rules; it is no longer held to them.
    pub(crate) rogue: bool,
    pub(crate) registered: bool,
    pub(crate) window: u32,
    pub(crate) seq: u32,
    pub(crate) largest: u32,
    pub(crate) pending: u32,
}

impl Told {
    fn held(&self) -> u64 {
        if self.registered { u64::from(self.window.max(self.pending)) } else { 0 }
    }
}

impl Ledger {
    pub(crate) fn new(connections: &Range<Connection>) -> Self {
        let told = vec![Told::default(); indices(connections).len()];
        Self { first: connections.start, told, held: 0, registered: 0, open: false }
    }

    pub(crate) fn of(&self, connection: Connection) -> Told {
        self.told[self.index(connection)]
    }

    const fn index(&self, connection: Connection) -> usize {
        (connection.0 - self.first.0) as usize
    }

    pub(crate) fn pending(&self) -> u64 {
        self.told.iter().map(|told| u64::from(told.pending)).sum()
    }

    /// The session begins anew, or is over.
    pub(crate) fn reset(&mut self, connection: Connection) {
        self.change(connection, |told| *told = Told { rogue: told.rogue, ..Told::default() });
    }

    pub(crate) fn deregister(&mut self, connection: Connection) {
        self.change(connection, |told| (told.registered, told.window) = (false, 1));
    }

    pub(crate) fn answer(&mut self, connection: Connection) {
        self.change(connection, |told| told.pending = told.pending.saturating_sub(1));
    }

    /// The client is held to the rules no longer.
    pub(crate) fn distrust(&mut self, connection: Connection) {
        self.change(connection, |told| told.rogue = true);
    }

    pub(crate) fn offer(&mut self, connection: Connection, offer: Offer) {
        self.open |= offer.window == Offer::OPEN.window;
        self.change(connection, |told| {
            (told.window, told.seq) = (offer.window, offer.seq);
            told.largest = told.largest.max(offer.window);
        });
    }

    /// A request came; one that registers is its own permission.
    pub(crate) fn request(&mut self, connection: Connection, registers: bool) {
        self.change(connection, |told| {
            if registers && !told.registered {
                (told.registered, told.window) = (true, 1);
                told.largest = told.largest.max(1);
            }
            told.pending += 1;
        });
    }

    fn change(&mut self, connection: Connection, change: impl FnOnce(&mut Told)) {
        let index = self.index(connection);
        let told = &mut self.told[index];
        self.held -= told.held();
        self.registered -= u32::from(told.registered);
        change(told);
        self.held += told.held();
        self.registered += u32::from(told.registered);
    }
}
