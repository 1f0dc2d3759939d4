//! The thread behind a [`Client`](super::Client): an exchange, and callers on any thread.

use super::desk::Desk;
use super::exchange::{Exchange, Replica};
use super::slot::Filler;
use crate::net::DialError;
use crate::poll::{Poller, Readiness};
use crate::time::now;
use std::io;
use std::iter::from_fn;
use std::sync::Arc;
use tailwater_control::Replicas;
use tailwater_core::Instant;

pub(super) struct Reactor {
    desk: Arc<Desk>,
    poller: Poller,
    exchange: Exchange<Filler>,
    /// Why a server is not reached, as the desk was told last.
    trouble: Option<DialError>,
}

impl Reactor {
    pub(super) fn new(servers: Vec<Replica>, replicas: Replicas) -> io::Result<Self> {
        let poller = Poller::new()?;
        let desk = Arc::new(Desk::new(&poller)?);
        Ok(Self { desk, poller, exchange: Exchange::new(servers, replicas, 0), trouble: None })
    }

    /// Where its callers go.
    pub(super) const fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    pub(super) fn run(mut self) {
        let mut ready = Vec::new();
        let mut scratch = vec![0; 64 << 10];
        while !self.desk.is_closed() {
            self.turn(now());
            self.rest(now(), &mut ready);
            let time = now();
            for readiness in ready.drain(..) {
                self.on_ready(time, readiness, &mut scratch);
            }
        }
    }

    fn turn(&mut self, time: Instant) {
        while let Some(token) = self.desk.next_given_up() {
            self.exchange.give_up(time, token);
        }
        // Ahead of the calls that end because of it.
        self.tell_trouble();
        let orders = from_fn(|| self.desk.next_order());
        self.exchange.turn(time, &self.poller, orders);
    }

    /// Tells the desk when another failure, or none, keeps a server from being reached.
    fn tell_trouble(&mut self) {
        let trouble = self.exchange.trouble();
        if trouble != self.trouble.as_ref() {
            self.trouble = trouble.cloned();
            self.desk.set_trouble(self.trouble.as_ref().map(ToString::to_string));
        }
    }

    fn on_ready(&mut self, time: Instant, readiness: Readiness, scratch: &mut [u8]) {
        if !Desk::is_bell(readiness.key) {
            // The poller tells of the rest, once the others have had their go.
            self.exchange.on_ready(time, &self.poller, readiness, scratch);
        }
    }

    fn rest(&self, time: Instant, ready: &mut Vec<Readiness>) {
        if self.exchange.has_news(time) {
            return;
        }
        self.desk.rest(|| {
            let due = self.exchange.next_deadline(time);
            self.poller.wait(due.map(|at| at.since(time)), ready);
        });
    }
}

/// Calls that have not ended are dropped with the reactor, and told so; see [`super::slot::Filler`].
impl Drop for Reactor {
    fn drop(&mut self) {
        self.desk.close();
        self.desk.clear();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
