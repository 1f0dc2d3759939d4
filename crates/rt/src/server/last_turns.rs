//! The end of a server, in order: what was accepted is answered and sent, and each client is told.

use super::connection::{Connection, Phase};
use super::event_loop::EventLoop;
use super::key::ConnectionKey;
use crate::service::Reply;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_wire::{Goodbye, GoodbyeCode};

/// What a client that is told at the last moment has to read it.
const LAST_WORDS: Duration = Duration::from_millis(100);

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// The server's last turns. True when this loop is done.
    pub(super) fn drain(&mut self) -> bool {
        let Some(until) = self.shared.draining_until() else { return false };
        if self.drain.begin() {
            // No connection is let in any more; the kernel refuses those that wait in the backlog.
            self.acceptor = None;
        }
        let now = self.clock.look();
        if self.drain.is_look_due(now) {
            let settled = self.connections.keys(is_settled);
            self.drain.looked(now, self.clock.look());
            for key in settled {
                self.say_last_goodbye(key);
            }
        }
        if self.drain.gives_up(now, until) {
            self.give_up(until);
        }
        self.connections.len() == 0 || self.drain.is_late(now)
    }

    /// Patience is at its end: whatever is not answered is given up, and the clients are told.
    fn give_up(&mut self, until: Instant) {
        let (mut unanswered, mut unsent) = (0, 0);
        for key in self.connections.keys(is_there) {
            let Some(connection) = self.connections.get(key) else { continue };
            unanswered += u64::from(connection.work.pending);
            unsent += u64::from(connection.output.unsent() > 0);
            self.say_last_goodbye(key);
        }
        // Relaxed: counts. `Server::drain` reads them once it has joined the loops, which orders them.
        self.shared.unanswered.fetch_add(unanswered, Relaxed);
        self.shared.unsent.fetch_add(unsent, Relaxed);
        // A server that is dropped ends at once.
        let linger = if until == Instant::ZERO { Duration::ZERO } else { LAST_WORDS };
        self.drain.end_by(self.clock.now() + linger);
    }

    fn say_last_goodbye(&mut self, key: ConnectionKey) {
        let (code, why) = match self.shared.failure() {
            None => (GoodbyeCode::Draining, "the server shuts down"),
            Some(_) => (GoodbyeCode::Internal, "the server has failed"),
        };
        self.say_goodbye(key, code, why);
    }

    /// The loop has panicked: its clients are told, what they have no answers to is counted, and nothing else is touched.
    pub(super) fn abandon(&mut self) {
        let now = self.clock.now();
        // Relaxed: as in `give_up`.
        self.shared.unanswered.fetch_add(self.unanswered, Relaxed);
        for key in self.connections.keys(is_there) {
            let Some(connection) = self.connections.get_mut(key) else { continue };
            let goodbye = Goodbye::new(GoodbyeCode::Internal, "the server has failed");
            goodbye.encode(connection.output.buffer());
            connection.output.flush(&connection.stream, now);
        }
    }
}

/// Whether a connection is owed nothing: then it is told goodbye.
fn is_settled(connection: &Connection) -> bool {
    let idle = connection.work.pending == 0 && connection.work.questions == 0;
    matches!(connection.phase, Phase::Greeting(_) | Phase::Open)
        && idle
        && connection.output.unsent() == 0
        && (!connection.input.has_leftover() || connection.input.is_paused())
}

/// Whether a connection has not been told goodbye.
const fn is_there(connection: &Connection) -> bool {
    !matches!(connection.phase, Phase::Closing(_))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::{event_loop, streams};
    use super::*;
    use crate::config::ServerConfig;
    use std::future::Ready;
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;

    /// Looking at ten thousand connections takes longer than a turn.
    #[test]
    fn a_loop_that_drains_looks_at_its_connections_when_a_look_is_due_and_not_in_each_turn() {
        let none = Spec::named("none").build(&Site::one_loop(Duration::from_millis(1), 0)).unwrap();
        let mut it: EventLoop<Ready<Reply>> = event_loop(ServerConfig::default(), none.admission);
        let (server, _client) = streams();
        it.adopt(server);
        it.shared.begin_drain(Instant::FAR_FUTURE);
        let (now, hour) = (it.clock.now(), Duration::from_secs(3_600));
        it.drain.looked(now, now + hour);
        assert!(!it.drain());
        assert_eq!(it.connections.keys(is_there).len(), 1, "no look is due");
        it.drain.looked(Instant::ZERO, Instant::ZERO);
        assert!(!it.drain(), "it waits for the client to close");
        assert_eq!(it.connections.keys(is_there).len(), 0, "it was told goodbye");
        assert!(!it.drain.is_look_due(now), "the next look is later");
    }
}
