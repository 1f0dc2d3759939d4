//! Letting clients in, and turning them away politely when there is no room.

use super::Shared;
use crate::net::{Listener, Stream};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_wire::{Goodbye, GoodbyeCode};

/// Owned by loop 0, which hands new connections round.
pub(super) struct Acceptor {
    pub(super) listener: Listener,
    /// A descriptor kept for the day when there are none: closing it makes room to accept a client
    /// and tell it, instead of leaving it to hang and the listener to spin.
    reserve: Option<OwnedFd>,
    next: usize,
}

/// Connections accepted before the loop looks at its requests again.
const BURST: usize = 64;

/// What one look at the listener brought.
#[derive(Default)]
pub(super) struct Accepted {
    pub(super) own: Vec<Stream>,
    pub(super) turned_away: u64,
}

impl Acceptor {
    pub(super) fn new(listener: Listener) -> Self {
        Self { listener, reserve: spare_descriptor(), next: 0 }
    }

    /// Accepts a burst; others' connections are put into their inboxes.
    pub(super) fn accept(&mut self, shared: &Shared) -> Accepted {
        let mut accepted = Accepted::default();
        for _ in 0..BURST {
            match self.listener.accept() {
                Ok(stream) if self.admit(shared) => self.hand_out(shared, stream, &mut accepted),
                Ok(stream) => {
                    turn_away(&stream, "the server has as many connections as it may");
                    accepted.turned_away += 1;
                }
                Err(Errno::MFILE | Errno::NFILE) => {
                    accepted.turned_away += u64::from(self.turn_away_without_descriptors());
                    break;
                }
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(_) => break,
            }
        }
        accepted
    }

    fn admit(&self, shared: &Shared) -> bool {
        let before = shared.connections.fetch_add(1, Relaxed);
        if before >= shared.config.connections_max {
            shared.connections.fetch_sub(1, Relaxed);
            return false;
        }
        true
    }

    fn hand_out(&mut self, shared: &Shared, stream: Stream, accepted: &mut Accepted) {
        let target = self.next;
        self.next = (self.next + 1) % shared.inboxes.len();
        if target == 0 {
            accepted.own.push(stream);
        } else {
            shared.inboxes[target].streams.push(stream);
            shared.inboxes[target].doorbell.notify();
        }
    }

    fn turn_away_without_descriptors(&mut self) -> bool {
        drop(self.reserve.take());
        let accepted = self.listener.accept();
        if let Ok(stream) = &accepted {
            turn_away(stream, "the server is out of file descriptors");
        }
        let told = accepted.is_ok();
        drop(accepted);
        self.reserve = spare_descriptor();
        told
    }
}

fn turn_away(stream: &Stream, why: &str) {
    let mut bytes = Vec::new();
    Goodbye::new(GoodbyeCode::TooManyConnections, why).encode(&mut bytes);
    // Best effort: a fresh socket's buffer has room for this.
    let _ = stream.write(&bytes);
}

fn spare_descriptor() -> Option<OwnedFd> {
    rustix::fs::open("/dev/null", rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty()).ok()
}
