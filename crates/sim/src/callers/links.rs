//! Connections to nodes that go away, and a caller that goes away itself.

use super::{Callers, LOST};
use crate::checks::Rule;
use crate::clients::pause;
use crate::planted::Planted;
use crate::slab::Key;
use crate::space::{Event, Packet, Space};
use tailwater_control::Client;
use tailwater_core::{Instant, Rng};

impl Callers {
    /// A call gets no answer: the node that had it, or this one, is not the same any more.
    pub(crate) fn on_call_lost(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(request) = space.requests.remove(key) else {
            return space.complain(Rule::Calls, || "a call was lost twice".into());
        };
        if self.flaw.is(Planted::MissesTheLoss) {
            return;
        }
        self.end(now, &request, LOST, space);
        if self.flaw.is(Planted::HearsOfLossTwice) {
            self.end(now, &request, LOST, space);
        }
    }

    /// A connection is lost, or was refused. What was sent over it ends by itself; what waits waits on
    /// and may expire. Nothing is sent before [`Callers::on_opened`].
    pub(crate) fn on_lost(
        &mut self,
        now: Instant,
        number: u32,
        connection: u16,
        space: &mut Space,
    ) {
        let Some(index) = self.find(number) else {
            return;
        };
        let lost = &mut self.connections[index];
        if lost.connection != connection {
            return;
        }
        lost.connection = connection.wrapping_add(1);
        if lost.up {
            lost.up = false;
            lost.client.on_disconnected();
            lost.conduct.on_disconnected();
        }
        let connection = lost.connection;
        let mut rng = Rng::from_seed(u64::from(number) << 16 | u64::from(connection));
        let at = now + pause(lost.attempts, rng.unit());
        lost.attempts = lost.attempts.saturating_add(1);
        space.calendar.at(at, Event::Reconnect { client: number, connection });
    }

    /// A pause is over, unless something else has happened meanwhile.
    pub(crate) fn on_reconnect(
        &self,
        now: Instant,
        number: u32,
        connection: u16,
        space: &mut Space,
    ) {
        if let Some(index) = self.find(number)
            && self.connections[index].connection == connection
            && !self.connections[index].up
        {
            space.send_up(now, number, Packet::Open { client: number, connection });
        }
    }

    /// The node at the other end has accepted the connection. Drive afterwards.
    pub(crate) fn on_opened(&mut self, now: Instant, number: u32, connection: u16) {
        let found = self.find(number).map(|index| &mut self.connections[index]);
        if let Some(opened) = found.filter(|found| found.connection == connection && !found.up) {
            (opened.up, opened.attempts) = (true, 0);
            opened.client.on_connected(now);
        }
    }

    /// The process dies: its system closes the connections, and what was not sent is gone. `make` has
    /// the controls of its successor, by node and number.
    pub(crate) fn die(
        &mut self,
        now: Instant,
        make: &dyn Fn(usize, u32) -> Client,
        space: &mut Space,
    ) {
        let leaves = self.flaw.is(Planted::LeavesCallsBehind);
        for dead in &mut self.connections {
            let (client, connection) = (dead.number, dead.connection);
            for id in dead.client.waiting().filter(|_| !leaves) {
                self.ended += u64::from(space.requests.remove(Key::of(id)).is_some());
            }
            if dead.up {
                space.send_up(now, client, Packet::Hangup { client, connection });
            }
            (dead.connection, dead.up, dead.attempts) = (connection.wrapping_add(1), false, 0);
            dead.client = make(dead.to, client);
            dead.conduct.on_disconnected();
            dead.armed = Instant::FAR_FUTURE;
        }
        self.woken.clear();
    }

    /// The successor connects to all nodes.
    pub(crate) fn boot(&self, now: Instant, space: &mut Space) {
        for connection in self.connections.iter().filter(|connection| !connection.up) {
            let (client, connection) = (connection.number, connection.connection);
            space.send_up(now, client, Packet::Open { client, connection });
        }
    }
}
