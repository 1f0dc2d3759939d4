//! Letting clients in, and turning them away politely when there is no room.

use super::inbox::turn_away;
use super::shared::Shared;
use crate::net::{Accept, Listener, Stream};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_wire::GoodbyeCode::TooManyConnections;

/// Owned by loop 0, which hands new connections round.
pub(super) struct Acceptor {
    pub(super) listener: Listener,
    /// A descriptor kept for the day when there are none: closing it makes room to accept a client
    /// and tell it, instead of leaving it to hang and the listener to spin.
    reserve: Option<OwnedFd>,
    next: usize,
    /// When to look again, after the system had nothing to accept with.
    rests_until: Option<Instant>,
    /// Clients that were turned away, and when they are let go, the first first. At most [`LEAVING_MAX`].
    leaving: VecDeque<(Instant, Stream)>,
}

/// A client that is turned away may take this long to hear it: its HELLO is read by then. With unread input
/// the kernel would reset the connection, and the farewell might be lost.
const LEAVING: Duration = Duration::from_millis(250);
/// Beyond it the first of them is let go early.
const LEAVING_MAX: usize = 64;

/// Pause after a failure that would only come again at once. Memory and descriptors come back as others
/// end; a client waits in the backlog meanwhile, which is shorter than its patience.
const REST: Duration = Duration::from_millis(100);
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
        Self {
            listener,
            reserve: spare_descriptor(),
            next: 0,
            rests_until: None,
            leaving: VecDeque::new(),
        }
    }

    /// Accepts a burst; others' connections are put into their inboxes.
    pub(super) fn accept(&mut self, now: Instant, shared: &Shared) -> Accepted {
        let mut accepted = Accepted::default();
        for _ in 0..BURST {
            match self.listener.accept() {
                Accept::Stream(stream) if self.admit(shared) => {
                    self.hand_out(shared, stream, &mut accepted);
                }
                Accept::Stream(stream) => {
                    self.send_off(now, stream);
                    accepted.turned_away += 1;
                }
                Accept::Gone => {}
                Accept::Later => break,
                Accept::NoDescriptor if self.turn_away_without_descriptors() => {
                    accepted.turned_away += 1;
                    break;
                }
                Accept::NoDescriptor | Accept::Failed => {
                    self.rests_until = Some(now + REST);
                    break;
                }
            }
        }
        accepted
    }

    /// The listener is not looked at for the moment.
    pub(super) const fn rests(&self) -> bool {
        self.rests_until.is_some()
    }

    /// When there is something to do, although no client comes.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let leaves = self.leaving.front().map(|&(at, _)| at);
        self.rests_until.into_iter().chain(leaves).min()
    }

    /// Tells a client that there is no room for it.
    fn send_off(&mut self, now: Instant, stream: Stream) {
        turn_away(&stream, TooManyConnections, "the server has as many connections as it may");
        stream.finish_writing();
        if self.leaving.len() >= LEAVING_MAX
            && let Some((_, first)) = self.leaving.pop_front()
        {
            let_go(&first);
        }
        self.leaving.push_back((now + LEAVING, stream));
    }

    /// Lets go those that have had their time.
    pub(super) fn let_go(&mut self, now: Instant) {
        while let Some((_, stream)) = self.leaving.pop_front_if(|(at, _)| *at <= now) {
            let_go(&stream);
        }
    }

    /// Whether the rest is over; true once.
    pub(super) fn wakes(&mut self, now: Instant) -> bool {
        self.rests_until.take_if(|until| *until <= now).is_some()
    }

    fn admit(&self, shared: &Shared) -> bool {
        // Relaxed: a bound on a number; nothing else is read because of it.
        let before = shared.connections.fetch_add(1, Relaxed);
        if before >= shared.config.connections_max {
            // Relaxed: as above.
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
            shared.inboxes[target].give(stream);
        }
    }

    fn turn_away_without_descriptors(&mut self) -> bool {
        drop(self.reserve.take());
        let accepted = self.listener.accept();
        let told = matches!(accepted, Accept::Stream(_));
        if let Accept::Stream(stream) = &accepted {
            turn_away(stream, TooManyConnections, "the server is out of file descriptors");
        }
        drop(accepted);
        self.reserve = spare_descriptor();
        told
    }
}

/// Reads what a client has sent, as much as two HELLOs may be.
fn let_go(stream: &Stream) {
    let _ = stream.read(&mut [0; 8 << 10]);
}

fn spare_descriptor() -> Option<OwnedFd> {
    rustix::fs::open("/dev/null", rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty()).ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::inbox::Inbox;
    use super::*;
    use crate::ServerConfig;
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;

    #[test]
    fn a_listener_that_only_fails_is_not_looked_at_in_a_busy_loop() {
        let controller =
            Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
        let inboxes = vec![Inbox::new().unwrap()];
        let shared =
            Shared::new(ServerConfig::default(), controller.admission.clone(), inboxes.into());
        let listener = Listener::bind(&shared.config.listen).unwrap();
        // From now on it is readable for ever, and accepting fails.
        rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
        let mut acceptor = Acceptor::new(listener);
        let start = Instant::from_nanos(1);
        assert!(acceptor.accept(start, &shared).own.is_empty());
        assert_eq!(acceptor.next_due(), Some(start + REST));
        assert!(!acceptor.wakes(start), "not yet");
        assert!(acceptor.wakes(start + REST) && !acceptor.wakes(start + REST), "once");
    }
}
