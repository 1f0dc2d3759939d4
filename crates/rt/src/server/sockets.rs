//! What the kernel says of the sockets: new clients, bytes, and room for bytes.

use super::event_loop::{BELL, EventLoop, LISTENER};
use super::key::ConnectionKey;
use crate::downstream::{Downstream, is_downstream};
use crate::net::{Stream, Transfer};
use crate::poll::{Interest, Readiness};
use crate::service::{Reply, Service};

/// The listener and the loop's bell.
const OWN_SOURCES: usize = 2;

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// Gives the sockets their share of time. Requests that find nothing queued are answered while their
    /// socket is hot.
    pub(super) fn take_in<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        let mut found = true;
        if self.intake.round_is_over() {
            let timeout = self.timeout();
            let sleeps = timeout.is_none_or(|timeout| !timeout.is_zero());
            found = self.intake.begin_round(
                &self.poller,
                timeout,
                self.connections.len()
                    + self.downstream.as_ref().map_or(0, Downstream::sockets)
                    + OWN_SOURCES,
            );
            if sleeps {
                self.inbox().doorbell.get_up();
            }
            self.clock.begin_turn(sleeps);
            self.clock.begin_round();
        } else {
            self.clock.begin_turn(false);
        }
        while let Some(readiness) = self.intake.next(&self.poller) {
            self.serve(readiness, service);
            if self.clock.sockets_had_their_share() {
                break;
            }
        }
        if self.intake.round_is_over() {
            self.clock.end_round();
        }
        found
    }

    fn serve<S: Service<Future = F>>(&mut self, readiness: Readiness, service: &S) {
        match readiness.key {
            LISTENER => self.accept(),
            // What it was rung for is looked for in each turn.
            BELL => {}
            key if is_downstream(key) => {
                if let Some(downstream) = &self.downstream {
                    downstream.on_ready(self.clock.look(), readiness);
                }
            }
            token => {
                let key = ConnectionKey::from_token(token);
                if readiness.writable {
                    self.write(key);
                }
                if readiness.readable {
                    self.give_go(key, readiness.broken, service);
                }
            }
        }
    }

    /// The kernel takes more of a connection's output.
    fn write(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.stream.push() == Transfer::Closed {
            return self.close(key);
        }
        self.flush(key);
        self.recall(key);
    }

    /// A connection's go: reads once, takes frames, and runs what each asks for if nothing else waits.
    /// The poller tells of a broken one for as long as it is there: that is not read ends at once.
    fn give_go<S: Service<Future = F>>(&mut self, key: ConnectionKey, broken: bool, service: &S) {
        let idle = self.queue.is_empty() && self.runner.is_inline();
        let mut scratch = self.intake.lend_scratch();
        match self.read(key, &mut scratch) {
            Transfer::Bytes(count) => {
                let began = self.clock.now();
                self.take(key, &scratch[..count], |it| {
                    if idle {
                        it.run_hot(service, began);
                    }
                });
                self.settle(key);
                self.after_go(key, self.egress.high());
            }
            Transfer::WouldBlock if broken => self.close(key),
            // A handshake may go on without a byte for us.
            Transfer::WouldBlock => self.after_go(key, self.egress.high()),
            Transfer::Closed => self.close(key),
        }
        self.intake.return_scratch(scratch);
    }

    /// Reads once: the poller or the next round brings the rest. A connection that left frames behind has
    /// those first.
    fn read(&mut self, key: ConnectionKey, scratch: &mut [u8]) -> Transfer {
        let high = self.egress.high();
        let Some(connection) = self.connections.get_mut(key) else { return Transfer::WouldBlock };
        connection.input.goes_again = false;
        if !connection.is_read(high) {
            return Transfer::WouldBlock;
        }
        if connection.input.has_leftover() {
            return Transfer::Bytes(0);
        }
        let read = connection.stream.read(scratch);
        if let Transfer::Bytes(count) = read {
            connection.input.on_bytes(self.clock.look(), count);
        }
        read
    }

    fn accept(&mut self) {
        let Some(acceptor) = &mut self.acceptor else { return };
        let accepted = acceptor.accept(self.clock.now(), &self.shared);
        if acceptor.rests() {
            // It fails only for a descriptor that is not watched.
            let _ = self.poller.modify(&acceptor.listener, LISTENER, Interest::default());
        }
        self.totals.turned_away += accepted.turned_away;
        for stream in accepted.own {
            self.adopt(stream);
        }
    }

    /// Goes on accepting after a rest.
    pub(super) fn accept_again(&mut self) {
        let now = self.clock.now();
        let Some(acceptor) = &mut self.acceptor else { return };
        acceptor.let_go(now);
        if acceptor.wakes(now) {
            let _ = self.poller.modify(&acceptor.listener, LISTENER, Interest::READ);
        }
    }

    pub(super) fn adopt(&mut self, stream: Stream) {
        self.totals.accepted += 1;
        let now = self.clock.now();
        let hello = now + self.shared.config.patience;
        let connection = self.connections.add(stream, now, hello);
        let key = connection.key;
        connection.offer = self.control.open(now, key.session());
        self.liveness.refresh(connection);
        if self.poller.add(&connection.stream, key.token(), Interest::READ).is_err() {
            self.close(key);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::{event_loop, sent, streams};
    use super::*;
    use crate::config::ServerConfig;
    use crate::service::Request;
    use std::future::{Ready, ready};
    use std::time::Duration;
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;
    use tailwater_wire::{Hello, Limits, VERSION_MAX, VERSION_MIN};

    /// A HELLO, and a request behind it.
    fn opening() -> Vec<u8> {
        let mut bytes = Vec::new();
        Hello {
            version_min: VERSION_MIN,
            version_max: VERSION_MAX,
            features: 0,
            max_frame: Limits::DEFAULT,
            client_id: 0,
            tenant: 0,
        }
        .encode(&mut bytes);
        sent(1).encode(&Limits::default(), &mut bytes).unwrap();
        bytes
    }

    /// In the sockets no controller sees them wait.
    #[test]
    fn what_comes_beside_a_long_handler_waits_in_the_queue() {
        // So long that the test's own thread is not off its core for as long between two sockets.
        let share = Duration::from_millis(200);
        let none = Spec::named("none").build(&Site::one_loop(share, 0)).unwrap();
        let config = ServerConfig { drain_every: share, ..ServerConfig::default() };
        let mut event_loop: EventLoop<Ready<Reply>> = event_loop(config, none.admission);
        let mut clients = Vec::new();
        for _ in 0..3 {
            let (server, client) = streams();
            event_loop.adopt(server);
            let bytes = opening();
            assert_eq!(client.write(&bytes), Transfer::Bytes(bytes.len()));
            clients.push(client);
        }
        let takes_long = move |_: Request| {
            let begin = crate::time::now();
            while crate::time::now().since(begin) < share {}
            ready(Reply::ok(Vec::new()))
        };
        event_loop.take_in(&takes_long);
        assert!(!event_loop.queue.is_empty(), "the others' requests are in their sockets");
    }
}
