//! Connections that are lost and made again, and clients that crash and come back.

use super::Clients;
use crate::connection::{Connection, Incarnation, all_in};
use crate::endpoint::ConnectionState;
use crate::facts::Thing;
use crate::faults::Members;
use crate::slab::Key;
use crate::space::Space;
use tailwater_core::Instant;

impl Clients<'_> {
    /// The node is gone or has closed the connection: what was outstanding gets no answer, and what
    /// waits waits on, or goes elsewhere.
    pub(crate) fn on_lost(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) {
        let endpoint = &mut self.all[connection.index()];
        let stood = endpoint.state() == ConnectionState::Up;
        if endpoint.on_lost(now, incarnation, |_| self.rng.unit(), space) {
            let (client, replica) = self.ends(connection);
            if stood {
                self.retries.on_lost(now, connection, incarnation);
            }
            self.retries.set_up(client, replica, false);
            self.leave_all(now, connection, space);
            self.drive(now, connection, space);
        }
    }

    /// The pause is over, unless something else has happened to the connection meanwhile.
    pub(crate) fn on_reconnect(
        &self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) {
        self.all[connection.index()].on_reconnect(now, incarnation, space);
    }

    /// The node has accepted the connection, and says WELCOME.
    pub(crate) fn on_opened(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(welcome) = space.credits.remove(key) else {
            return space.astray(Thing::Request, "a WELCOME arrived twice");
        };
        let connection = welcome.connection;
        if self.all[connection.index()].on_opened(now, &welcome, &self.clocks, space) {
            let (client, replica) = self.ends(connection);
            self.retries.set_up(client, replica, true);
            self.drive(now, connection, space);
            self.look_again(now, connection, space);
        }
    }

    /// The processes of these clients die with all that they knew.
    pub(crate) fn crash(&mut self, now: Instant, members: &Members, space: &mut Space) {
        for connection in all_in(self.connections()).filter(|&it| members.contain(it)) {
            let (client, replica) = self.ends(connection);
            let fresh = (self.make)(replica as usize, connection);
            let endpoint = &mut self.all[connection.index()];
            if endpoint.state() == ConnectionState::Crashed {
                continue;
            }
            endpoint.die(now, fresh, space);
            self.retries.on_crashed(connection);
            if replica == 0 {
                self.retries.forget(client);
            }
            self.retries.set_up(client, replica, false);
        }
        // What is under way is found out by its connection; what waited in the client is gone now.
        let waited = space
            .requests
            .keys(|request| request.dispatch.is_none() && members.contain(request.connection));
        space.abandoned.extend(waited);
    }

    /// The clients of these connections come back and connect.
    pub(crate) fn revive(
        &mut self,
        now: Instant,
        come_back: impl Fn(Connection) -> bool,
        space: &mut Space,
    ) {
        for connection in all_in(self.connections()).filter(|&it| come_back(it)) {
            let endpoint = &mut self.all[connection.index()];
            if endpoint.state() == ConnectionState::Crashed {
                endpoint.revive(now, space);
            }
        }
    }
}
