//! Which connection is meant, and which of its incarnations.

use std::ops::Range;

/// A connection by its number. All clients' to the first replica come first, then those to the next; those between
/// nodes follow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Connection(pub(crate) u32);

impl Connection {
    /// That of a client to a replica, where there are so many clients.
    pub(crate) const fn of_client((client, replica): (u32, u32), clients: u32) -> Self {
        Self(replica * clients + client)
    }

    /// Its client and replica, where there are so many clients. One between nodes has a replica beyond the last.
    pub(crate) const fn ends(self, clients: u32) -> (u32, u32) {
        (self.0 % clients, self.0 / clients)
    }

    /// Its place among those from `first` on; `None` if it comes before.
    pub(crate) const fn place_from(self, first: Self) -> Option<usize> {
        self.index().checked_sub(first.index())
    }

    /// Its place in a list of all connections.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Neighbours, one by one.
pub(crate) fn all_in(neighbours: Range<Connection>) -> impl Iterator<Item = Connection> {
    (neighbours.start.0..neighbours.end.0).map(Connection)
}

/// The places of neighbours in a list of all connections.
pub(crate) const fn indices(neighbours: &Range<Connection>) -> Range<usize> {
    neighbours.start.index()..neighbours.end.index()
}

/// An incarnation of a connection (RFC 9293 §3.4), by how often it was lost before, vain attempts included. What comes
/// over an earlier one is not heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Incarnation(pub(crate) u16);

impl Incarnation {
    pub(crate) const FIRST: Self = Self(0);

    /// After the last number comes the first.
    pub(crate) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_knows_its_client_and_replica() {
        let connection = Connection::of_client((2, 1), 10);
        assert_eq!((connection, connection.ends(10)), (Connection(12), (2, 1)));
        assert_eq!(Connection(3).ends(3), (0, 1), "between nodes, where there is one replica");
    }

    #[test]
    fn neighbours_are_counted_without_the_end() {
        let neighbours = Connection(4)..Connection(6);
        assert_eq!(indices(&neighbours), 4..6);
        assert!(all_in(neighbours).eq([Connection(4), Connection(5)]));
    }

    #[test]
    fn incarnations_are_numbered_in_turn() {
        assert_eq!(Incarnation::FIRST.next(), Incarnation(1));
        assert_eq!(Incarnation(u16::MAX).next(), Incarnation::FIRST);
    }
}
