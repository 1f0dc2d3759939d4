//! What a message costs a core: the packet that it comes or goes in, and turning to its connection.

use super::cores::Core;
use super::{Node, Work};
use crate::connection::Connection;
use crate::space::{Packet, Space};
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// In which turn a connection last had something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    received: Turn,
    sent: Turn,
}

/// A turn of a loop, or of a thread at the answers that wait for it. A connection has messages of one kind alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Turn {
    /// The loop, or the thread.
    of: usize,
    /// Counted from one.
    number: u64,
}

impl Node {
    /// Receiving and parsing a message, on a core that works for this loop.
    pub(super) fn receive_cost(
        &mut self,
        (core, at): (u16, usize),
        packet: Packet,
        space: &Space,
    ) -> Duration {
        let turn = self.heard_in(core, packet).unwrap_or_else(|| self.turn_of(at));
        self.received(turn, packet.connection(space))
    }

    /// The turn of the thread that hears an answer to a call; nothing for all else, which loops hear.
    fn heard_in(&self, core: u16, packet: Packet) -> Option<Turn> {
        let staff = self.staff.as_ref().filter(|_| packet.is_answer())?;
        let of = usize::from(self.cores[usize::from(core)].thread?);
        Some(Turn { of, number: staff.threads[of].turns })
    }

    fn turn_of(&self, at: usize) -> Turn {
        Turn { of: at, number: self.loops[at].turns }
    }

    fn received(&mut self, turn: Turn, connection: Connection) -> Duration {
        let (receive, turning_to) = (self.spec.costs.receive, self.spec.connection_cost);
        if !self.depends_on_turns() {
            return receive;
        }
        let seen = self.seen.entry(connection).or_default();
        let first = std::mem::replace(&mut seen.received, turn) != turn;
        match (first, self.spec.coalescing) {
            (true, _) => turning_to + receive,
            (false, false) => receive,
            (false, true) => Duration::ZERO,
        }
    }

    /// Sending a message over this connection of a loop.
    pub(super) fn send_cost(&mut self, at: usize, connection: Connection) -> Duration {
        let send = self.spec.costs.send;
        if !self.spec.coalescing {
            return send;
        }
        let turn = self.turn_of(at);
        let seen = self.seen.entry(connection).or_default();
        let first = std::mem::replace(&mut seen.sent, turn) != turn;
        if first { send } else { Duration::ZERO }
    }

    /// Whether a core that is parsing an earlier message of this turn and connection takes this one too. Which
    /// core costs less must not decide in what order a connection's messages are heard.
    pub(super) fn joins(&mut self, at: usize, message: (Instant, Packet), space: &Space) -> bool {
        if !self.depends_on_turns() {
            return false;
        }
        let (connection, turn) = (message.1.connection(space), self.turn_of(at));
        if self.seen.get(&connection).is_none_or(|seen| seen.received != turn) {
            return false;
        }
        let cost = self.received(turn, connection);
        let cores = self.cores.iter_mut().filter(|core| core.parses(connection, space));
        // The others, if any, are still at earlier turns.
        let Some(core) = cores.max_by_key(|core| core.began) else {
            return false;
        };
        core.ends = core.ends + cost;
        core.rest.push(message);
        self.counts.busy_ns += cost.nanos();
        true
    }

    /// When the message that a core has parsed can be heard, if not now: each connection's are heard in order,
    /// whichever core was given more to parse or was taken away.
    pub(super) fn heard_at(&self, index: u16, space: &Space) -> Option<Instant> {
        let steady = !self.depends_on_turns() && self.spec.stalls.kinds().is_empty();
        let core = &self.cores[usize::from(index)];
        let Some(Work::Parse(_, packet)) = core.work.filter(|_| !steady) else {
            return None;
        };
        let connection = packet.connection(space);
        let earlier = self
            .cores
            .iter()
            .filter(|other| other.began < core.began && other.parses(connection, space));
        earlier.map(|other| other.ends + Duration::from_nanos(1)).max()
    }

    const fn depends_on_turns(&self) -> bool {
        self.spec.coalescing || !self.spec.connection_cost.is_zero()
    }
}

impl Core {
    fn parses(&self, connection: Connection, space: &Space) -> bool {
        matches!(self.work, Some(Work::Parse(_, packet)) if packet.connection(space) == connection)
    }
}
