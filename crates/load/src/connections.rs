//! Whether a server stayed while it was asked.

use tailwater_core::{Instant, Nanos};
use tailwater_rt::client::Losses;
use tailwater_stats::result::ConnectionReading;

/// Which connections of a fleet stand, and what became of them since all did.
#[derive(Default)]
pub(crate) struct Roll {
    connections: Vec<Seen>,
    /// Attempts that had failed when all stood.
    before: Losses,
    lost: u64,
    goodbyes: u64,
    remade: u64,
    first_lost: Option<Instant>,
    last_remade: Option<Instant>,
}

/// A connection as it was noted last.
#[derive(Clone, Copy, Default)]
struct Seen {
    is_up: bool,
    /// Of the connection and of attempts to make it again: a server that drains says it to both.
    goodbyes: u64,
}

impl Roll {
    /// All stand, after these losses of each. Nothing is noted before.
    pub(crate) fn call(losses: impl Iterator<Item = Losses>) -> Self {
        let mut roll = Self::default();
        for of in losses {
            roll.connections.push(Seen { is_up: true, goodbyes: of.goodbyes });
            roll.before = roll.before.plus(of);
        }
        roll
    }

    /// Whether one stands now, and its losses so far. Extra calls do no harm.
    pub(crate) fn note(&mut self, index: usize, now: Instant, is_up: bool, losses: Losses) {
        let Some(seen) = self.connections.get_mut(index) else { return };
        match (seen.is_up, is_up) {
            (true, false) => {
                self.lost += 1;
                self.goodbyes += u64::from(losses.goodbyes > seen.goodbyes);
                self.first_lost.get_or_insert(now);
            }
            (false, true) => {
                self.remade += 1;
                self.last_remade = Some(now);
            }
            _ => {}
        }
        *seen = Seen { is_up, goodbyes: losses.goodbyes };
    }

    /// What it comes to, with losses as they stand `now`, by a clock that began at `start`.
    #[expect(clippy::cast_precision_loss, reason = "times of minutes")]
    pub(crate) fn reading(&self, now: Losses, start: Instant) -> ConnectionReading {
        let over = now.total() - self.before.total();
        let us = |at: Option<Instant>| at.map_or(0.0, |at| at.since(start).nanos() as f64 / 1e3);
        ConnectionReading {
            all: self.connections.len() as u64,
            up: self.connections.iter().filter(|seen| seen.is_up).count() as u64,
            lost: self.lost,
            goodbyes: self.goodbyes,
            remade: self.remade,
            attempts_failed: over.saturating_sub(self.lost),
            first_lost_us: us(self.first_lost),
            last_remade_us: us(self.last_remade),
            ..ConnectionReading::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{Fleet, FleetError};
    use std::time::Duration;
    use tailwater_control::Site;
    use tailwater_control::catalog::{Controller, Spec};
    use tailwater_rt::time::now;
    use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};

    fn none() -> Controller {
        Spec::named("none").build(&Site::one_loop(Duration::from_secs(60), 1)).unwrap()
    }

    fn start_at(listen: &Address) -> Server {
        let echo = |request: Request| async { Reply::ok(request.payload) };
        let config = ServerConfig { listen: listen.clone(), ..ServerConfig::default() };
        Server::start(config, none().admission, echo).unwrap()
    }

    fn start() -> Server {
        start_at(&ServerConfig::default().listen)
    }

    fn turn_until(fleet: &mut Fleet, begin: Instant, done: impl Fn(&ConnectionReading) -> bool) {
        while !done(&fleet.connections(begin)) {
            fleet.turn(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_server_that_stays_is_no_trouble_and_one_that_goes_is_told() {
        let server = start();
        let begin = now();
        let mut fleet = Fleet::connect(server.address(), 3, &none(), &[]).unwrap();
        let all_stand = ConnectionReading { all: 4, up: 4, ..ConnectionReading::default() };
        assert_eq!(fleet.connections(begin), all_stand);
        assert_eq!(all_stand.trouble(), None);
        let _ = server.drain(Duration::ZERO);
        turn_until(&mut fleet, begin, |found| found.up == 0);
        let found = fleet.connections(begin);
        assert_eq!((found.lost, found.remade), (4, 0), "{found:?}");
        assert!(found.first_lost_us > 0.0, "{found:?}");
        let trouble = found.trouble().unwrap_or_default();
        assert!(trouble.starts_with("the server is gone"), "{trouble}");
    }

    #[test]
    fn a_server_that_comes_back_is_told_with_how_often_and_when() {
        let server = start();
        let address = server.address().clone();
        let begin = now();
        let mut fleet = Fleet::connect(&address, 3, &none(), &[]).unwrap();
        let _ = server.drain(Duration::ZERO);
        turn_until(&mut fleet, begin, |found| found.up == 0 && found.attempts_failed > 0);
        let _again = start_at(&address);
        turn_until(&mut fleet, begin, |found| found.up == found.all);
        let found = fleet.connections(begin);
        assert_eq!((found.lost, found.remade), (4, 4), "{found:?}");
        assert!(found.last_remade_us > found.first_lost_us, "{found:?}");
    }

    #[test]
    fn what_happens_before_all_stand_is_no_loss_and_neither_is_a_goodbye_to_an_attempt() {
        let mut roll = Roll::default();
        let refused = Losses { goodbyes: 1, ..Losses::default() };
        roll.note(0, Instant::ZERO, false, refused);
        let nothing = ConnectionReading::default();
        assert_eq!(roll.reading(Losses::default(), Instant::ZERO), nothing);
        let mut roll = Roll::call([refused, Losses::default()].into_iter());
        roll.note(0, Instant::from_nanos(1_000), false, Losses { closed: 1, ..refused });
        let again = Losses { goodbyes: 2, closed: 1, ..Losses::default() };
        roll.note(0, Instant::from_nanos(2_000), false, again);
        let found = roll.reading(again, Instant::ZERO);
        assert_eq!((found.all, found.up, found.lost, found.goodbyes), (2, 1, 1, 0));
        assert_eq!((found.attempts_failed, found.first_lost_us), (1, 1.0));
    }

    #[test]
    fn a_node_that_is_asked_for_counts_and_does_not_listen_is_named() {
        let (server, gone) = (start(), start());
        let node = gone.address().clone();
        let _ = gone.drain(Duration::ZERO);
        match Fleet::connect(server.address(), 2, &none(), std::slice::from_ref(&node)) {
            Err(error @ FleetError::Unreachable { .. }) => {
                let told = error.to_string();
                assert!(told.contains(&node.to_string()) && told.contains("refused"), "{told}");
            }
            other => panic!("{:?}", other.err()),
        }
    }

    #[test]
    fn where_nothing_listens_the_clients_are_counted_without_the_one_for_counts() {
        let server = start();
        let address = server.address().clone();
        let _ = server.drain(Duration::ZERO);
        match Fleet::connect(&address, 2, &none(), &[]) {
            Err(error @ FleetError::Unconnected { up: 0, wanted: 2, .. }) => {
                let told = error.to_string();
                assert!(told.contains("0 of 2 clients") && told.contains("refused"), "{told}");
            }
            other => panic!("{:?}", other.err()),
        }
    }
}
