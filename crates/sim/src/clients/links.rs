//! Connections that are lost and made again, and clients that crash and come back.

use super::Clients;
use crate::endpoint::Link;
use crate::facts::Thing;
use crate::faults::Members;
use crate::slab::Key;
use crate::space::Space;
use tailwater_core::Instant;

impl Clients<'_> {
    /// The node is gone or has closed the connection: what was outstanding gets no answer, and what
    /// waits waits on, or goes elsewhere.
    pub(crate) fn on_lost(&mut self, now: Instant, index: u32, connection: u16, space: &mut Space) {
        let endpoint = &mut self.all[index as usize];
        if endpoint.on_lost(now, connection, |_| self.rng.unit(), space) {
            let (client, replica) = self.ends(index);
            self.retries.set_up(client, replica, false);
            self.leave_all(now, index, space);
            self.drive(now, index, space);
        }
    }

    /// The pause is over, unless something else has happened to the connection meanwhile.
    pub(crate) fn on_reconnect(
        &self,
        now: Instant,
        index: u32,
        connection: u16,
        space: &mut Space,
    ) {
        self.all[index as usize].on_reconnect(now, connection, space);
    }

    /// The node has accepted the connection, and says WELCOME.
    pub(crate) fn on_opened(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(welcome) = space.credits.remove(key) else {
            return space.astray(Thing::Request, "a WELCOME arrived twice");
        };
        let index = welcome.client;
        if self.all[index as usize].on_opened(now, &welcome, &self.clocks, space) {
            let (client, replica) = self.ends(index);
            self.retries.set_up(client, replica, true);
            self.drive(now, index, space);
        }
    }

    /// The processes of these clients die with all that they knew.
    pub(crate) fn crash(&mut self, now: Instant, members: &Members, space: &mut Space) {
        for index in (0..self.links()).filter(|&index| members.contain(index)) {
            let (client, replica) = self.ends(index);
            let fresh = (self.make)(replica as usize, index);
            let endpoint = &mut self.all[index as usize];
            if endpoint.link() == Link::Crashed {
                continue;
            }
            endpoint.die(now, fresh, space);
            if replica == 0 {
                self.retries.forget(client);
            }
            self.retries.set_up(client, replica, false);
        }
        // What is under way is found out by its connection; what waited in the client is gone now.
        let waited = space
            .requests
            .keys(|request| request.dispatch.is_none() && members.contain(request.client));
        space.abandoned.extend(waited);
    }

    /// These clients come back and connect.
    pub(crate) fn revive(&mut self, now: Instant, members: &Members, space: &mut Space) {
        for index in (0..self.links()).filter(|&index| members.contain(index)) {
            let endpoint = &mut self.all[index as usize];
            if endpoint.link() == Link::Crashed {
                endpoint.revive(now, space);
            }
        }
    }
}
