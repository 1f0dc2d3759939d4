//! Connections that are lost and made again, and clients that crash and come back.

use super::Clients;
use super::state::Link;
use crate::faults::Members;
use crate::space::{Event, Packet, Space};
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// The first pause before a client connects again; each further one is twice as long.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// The pause after so many attempts in vain; `chance` from 0 to 1 spreads it over half of it, or all
/// clients of a server that restarts would come at once.
pub(crate) fn pause(attempts: u8, chance: f64) -> Duration {
    let pause_ns = PAUSE_FIRST.nanos() << attempts.min(16);
    let pause_ns = pause_ns.min(PAUSE_MAX.nanos()) as f64 * (0.5 + 0.5 * chance);
    Duration::from_nanos(pause_ns as u64)
}

impl Clients<'_> {
    /// The node is gone or has closed the connection: what was outstanding gets no answer, and what
    /// waits waits on.
    pub(crate) fn on_lost(&mut self, now: Instant, index: u32, connection: u16, space: &mut Space) {
        let state = &mut self.all[index as usize];
        if state.connection != connection || state.link == Link::Crashed {
            return;
        }
        state.connection = state.connection.wrapping_add(1);
        if state.link == Link::Up {
            state.link = Link::Down;
            state.client.on_disconnected();
            state.conduct.on_disconnected();
        }
        let attempts = state.attempts;
        state.attempts = attempts.saturating_add(1);
        let connection = state.connection;
        let at = now + pause(attempts, self.rng.unit());
        space.calendar.at(at, Event::Reconnect { client: index, connection });
        let (client, replica) = self.ends(index);
        self.retries.set_up(client, replica, false);
        self.leave_all(now, index, space);
        self.drive(now, index, space);
    }

    /// The pause is over, unless something else has happened to the connection meanwhile.
    pub(crate) fn on_reconnect(
        &mut self,
        now: Instant,
        client: u32,
        connection: u16,
        space: &mut Space,
    ) {
        let state = &self.all[client as usize];
        if state.connection == connection && state.link == Link::Down {
            space.send_up(now, client, Packet::Open { client, connection });
        }
    }

    /// The node has accepted the connection.
    pub(crate) fn on_opened(
        &mut self,
        now: Instant,
        index: u32,
        connection: u16,
        space: &mut Space,
    ) {
        let state = &mut self.all[index as usize];
        if state.connection == connection && state.link == Link::Down {
            (state.link, state.attempts) = (Link::Up, 0);
            state.client.on_connected(self.clocks.local(index, now));
            let (client, replica) = self.ends(index);
            self.retries.set_up(client, replica, true);
            self.drive(now, index, space);
        }
    }

    /// The processes of these clients die with all that they knew.
    pub(crate) fn crash(&mut self, now: Instant, members: &Members, space: &mut Space) {
        for client in (0..self.links()).filter(|&client| members.contain(client)) {
            let fresh = (self.make)(client);
            let (number, replica) = self.ends(client);
            let state = &mut self.all[client as usize];
            if state.link == Link::Crashed {
                continue;
            }
            let connection = state.connection;
            if state.link == Link::Up {
                space.send_up(now, client, Packet::Hangup { client, connection });
            }
            state.connection = connection.wrapping_add(1);
            state.link = Link::Crashed;
            state.client = fresh;
            state.conduct.on_disconnected();
            state.check_starvation(0, None);
            if replica == 0 {
                self.retries.forget(number);
            }
            self.retries.set_up(number, replica, false);
        }
        // What is under way is found out by its connection; what waited in the client is gone now.
        let waited = space
            .requests
            .keys(|request| request.dispatch.is_none() && members.contain(request.client));
        space.abandoned.extend(waited);
    }

    /// These clients come back and connect.
    pub(crate) fn revive(&mut self, now: Instant, members: &Members, space: &mut Space) {
        for client in (0..self.links()).filter(|&client| members.contain(client)) {
            let state = &mut self.all[client as usize];
            if state.link == Link::Crashed {
                (state.link, state.attempts) = (Link::Down, 0);
                let connection = state.connection;
                self.on_reconnect(now, client, connection, space);
            }
        }
    }
}
