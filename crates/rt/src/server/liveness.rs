//! What connections owe us, and by when: a HELLO, the rest of a frame, a read, a sign of life, their leaving.

use super::connection::{Connection, Phase};
use super::key::ConnectionKey;
use super::progress::Pace;
use crate::config::ServerConfig;
use std::collections::BTreeSet;
use std::time::Duration;
use tailwater_core::Instant;

/// When which connection is to be looked at: one entry each. An entry may be early, since what is owed moves
/// on with every byte that comes; then nothing is found, and the entry moves on too.
pub(super) struct Liveness {
    due: BTreeSet<(Instant, ConnectionKey)>,
    pace: Pace,
    ping_after: Duration,
}

/// What a connection owes for too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Overdue {
    /// Its HELLO.
    Hello,
    /// The rest of a frame.
    Rest,
    /// Its reading.
    Reading,
    /// Any sign of life since the PING.
    Life,
    /// Something, for `ping_after`: it is asked whether it is there.
    Word,
    /// It may be read again.
    Resume,
    /// Its requests were to be answered before its goodbye.
    Answers,
    /// Its leaving.
    Leaving,
}

impl Liveness {
    pub(super) fn new(config: &ServerConfig) -> Self {
        let pace = Pace { patience: config.patience, rate_min: config.rate_min };
        Self { due: BTreeSet::new(), pace, ping_after: config.ping_after }
    }

    /// What a connection owes may have changed.
    pub(super) fn refresh(&mut self, connection: &mut Connection) {
        let due = self.due_of(connection);
        if connection.look_at.is_none_or(|at| due < at) {
            self.set(connection, due);
        }
    }

    /// A connection is gone.
    pub(super) fn forget(&mut self, connection: &Connection) {
        if let Some(at) = connection.look_at {
            self.due.remove(&(at, connection.key));
        }
    }

    /// When a connection must be looked at.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|&(at, _)| at)
    }

    /// A connection that is to be looked at now. Its entry is gone until [`Liveness::judge`].
    pub(super) fn pop(&mut self, now: Instant) -> Option<ConnectionKey> {
        self.due.first().filter(|&&(at, _)| at <= now)?;
        self.due.pop_first().map(|(_, key)| key)
    }

    /// What a connection owes for too long, if anything. It is looked at again when the next thing is due.
    pub(super) fn judge(&mut self, connection: &mut Connection, now: Instant) -> Option<Overdue> {
        connection.look_at = None;
        let overdue = self.overdue(connection, now);
        if overdue == Some(Overdue::Word) {
            connection.input.pinged = Some(now);
        }
        let due = self.due_of(connection);
        // What is overdue stays due until its caller has acted: it refreshes then.
        self.set(connection, if due <= now { now + self.pace.patience } else { due });
        overdue
    }

    fn set(&mut self, connection: &mut Connection, due: Instant) {
        self.forget(connection);
        connection.look_at = Some(due);
        self.due.insert((due, connection.key));
    }

    fn due_of(&self, connection: &Connection) -> Instant {
        match &connection.phase {
            Phase::Greeting(due) | Phase::Closing(due) => *due,
            Phase::Ending(farewell) => farewell.due,
            Phase::Open => self.open_due(connection),
        }
    }

    fn open_due(&self, connection: &Connection) -> Instant {
        let (input, output) = (&connection.input, &connection.output);
        // Blocked output is watched by its own progress: while its peer does not read, no PONG is due.
        let life = match input.pinged {
            _ if input.is_paused() => Instant::FAR_FUTURE,
            Some(pinged) => pinged + self.pace.patience,
            None => input.heard() + self.ping_after,
        };
        let moving = output.stalled_due(self.pace).unwrap_or(life);
        let rest = input.rest_due(self.pace).unwrap_or(Instant::FAR_FUTURE);
        let pause = input.paused_until().unwrap_or(Instant::FAR_FUTURE);
        moving.min(rest).min(pause)
    }

    fn overdue(&self, connection: &mut Connection, now: Instant) -> Option<Overdue> {
        match &connection.phase {
            Phase::Greeting(due) => (*due <= now).then_some(Overdue::Hello),
            Phase::Closing(due) => (*due <= now).then_some(Overdue::Leaving),
            Phase::Ending(farewell) => (farewell.due <= now).then_some(Overdue::Answers),
            Phase::Open => self.open_overdue(connection, now),
        }
    }

    fn open_overdue(&self, connection: &mut Connection, now: Instant) -> Option<Overdue> {
        // Also beside output that is blocked: a pause that outlasts its time would count as delay of ours.
        if connection.input.paused_until().is_some_and(|until| until <= now) {
            return Some(Overdue::Resume);
        }
        if connection.output.is_blocked() {
            excuse(connection, now);
            return connection.output.is_too_slow(now, self.pace).then_some(Overdue::Reading);
        }
        if connection.input.is_too_slow(now, self.pace, &connection.limits) {
            return Some(Overdue::Rest);
        }
        // It is not read: what it says is in the socket.
        if connection.input.is_paused() {
            return None;
        }
        match connection.input.pinged {
            Some(pinged) => (pinged + self.pace.patience <= now).then_some(Overdue::Life),
            None => (connection.input.heard() + self.ping_after <= now).then_some(Overdue::Word),
        }
    }
}

/// A connection's output is blocked, or was until now. We do not read while much is unsent: the rest of a frame,
/// or a PONG, may be in the socket already. And our PING may be behind what its peer has not read.
pub(super) fn excuse(connection: &mut Connection, now: Instant) {
    let input = &mut connection.input;
    input.excuse(now);
    input.pinged = input.pinged.map(|_| now);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::connections::Connections;
    use super::super::egress::Egress;
    use super::super::testing::{at, open, streams};
    use super::*;

    /// Patience of one second, and a PING after ten.
    fn liveness() -> Liveness {
        Liveness::new(&ServerConfig {
            patience: Duration::from_secs(1),
            ping_after: Duration::from_secs(10),
            ..ServerConfig::default()
        })
    }

    /// What is found at a time, of a connection that is looked at when its time comes.
    fn found(liveness: &mut Liveness, it: &mut Connection, ms: u64) -> Option<Overdue> {
        (liveness.pop(at(ms))? == it.key).then_some(())?;
        liveness.judge(it, at(ms))
    }

    #[test]
    fn a_hello_is_due_once_and_for_all() {
        let (mut liveness, mut connections) = (liveness(), Connections::default());
        let it = connections.add(streams().0, at(0), at(1_000));
        liveness.refresh(it);
        it.input.on_bytes(at(900), 1);
        liveness.refresh(it);
        assert_eq!(found(&mut liveness, it, 999), None);
        assert_eq!(found(&mut liveness, it, 1_000), Some(Overdue::Hello));
    }

    #[test]
    fn a_silent_client_is_asked_and_then_given_up() {
        let (mut liveness, mut connections) = (liveness(), Connections::default());
        let (it, _client) = open(&mut connections);
        liveness.refresh(it);
        it.input.on_bytes(at(5_000), 1);
        assert_eq!(found(&mut liveness, it, 10_000), None, "it spoke meanwhile");
        assert_eq!(liveness.next(), Some(at(15_000)));
        assert_eq!(found(&mut liveness, it, 15_000), Some(Overdue::Word));
        assert_eq!(found(&mut liveness, it, 16_000), Some(Overdue::Life));
    }

    /// Its PONG may be in the socket, which was not read while much was unsent.
    #[test]
    fn a_slow_reader_has_patience_for_its_pong_from_when_it_has_read_all() {
        let (mut liveness, mut connections) = (liveness(), Connections::default());
        let mut egress = Egress::new(1 << 20, 1 << 20);
        let (it, client) = open(&mut connections);
        liveness.refresh(it);
        assert_eq!(found(&mut liveness, it, 10_000), Some(Overdue::Word));
        while !it.output.is_blocked() {
            it.output.buffer().resize(1 << 20, 0);
            assert!(egress.flush(it, at(10_100)));
        }
        assert_eq!(found(&mut liveness, it, 11_000), None, "it is watched by what it reads");
        let mut bytes = vec![0; 1 << 16];
        while it.output.is_blocked() {
            // It may have read all, and the kernel be about to say so to the server's end.
            let _ = client.read(&mut bytes);
            assert!(egress.flush(it, at(11_090)));
        }
        liveness.refresh(it);
        assert_eq!(found(&mut liveness, it, 11_100), None);
        assert_eq!(liveness.next(), Some(at(12_090)));
        assert_eq!(found(&mut liveness, it, 12_090), Some(Overdue::Life));
    }

    /// What it had left behind would seem to wait for us from then on.
    #[test]
    fn a_pause_ends_in_its_time_though_output_is_blocked() {
        let (mut liveness, mut connections) = (liveness(), Connections::default());
        let mut egress = Egress::new(1 << 20, 1 << 20);
        let (it, _client) = open(&mut connections);
        while !it.output.is_blocked() {
            it.output.buffer().resize(1 << 20, 0);
            assert!(egress.flush(it, at(100)));
        }
        while !it.input.is_paused() {
            it.input.fine(at(100));
        }
        liveness.refresh(it);
        let until = it.input.paused_until().expect("it is paused");
        assert_eq!(liveness.next(), Some(until));
        assert_eq!(liveness.pop(until), Some(it.key));
        assert_eq!(liveness.judge(it, until), Some(Overdue::Resume));
    }

    /// The longest pause may be longer than both times together.
    #[test]
    fn a_client_owes_no_sign_of_life_while_it_is_paused() {
        let brief = Duration::from_millis(100);
        let config = ServerConfig { patience: brief, ping_after: brief, ..ServerConfig::default() };
        let (mut liveness, mut connections) = (Liveness::new(&config), Connections::default());
        let (it, _client) = open(&mut connections);
        while it.input.paused_until().is_none_or(|until| until < at(1_000)) {
            it.input.fine(at(0));
        }
        it.input.pinged = Some(at(0));
        liveness.refresh(it);
        let until = it.input.paused_until().expect("it is paused");
        assert_eq!(liveness.next(), Some(until));
        for ms in [100, 200, 1_000] {
            assert_eq!(liveness.judge(it, at(ms)), None, "{ms}");
        }
        assert_eq!(liveness.judge(it, until), Some(Overdue::Resume));
        it.input.resume(until);
        assert_eq!(liveness.judge(it, until), None, "its PONG is not read yet");
    }

    #[test]
    fn any_byte_answers_a_ping() {
        let (mut liveness, mut connections) = (liveness(), Connections::default());
        let (it, _client) = open(&mut connections);
        liveness.refresh(it);
        assert_eq!(found(&mut liveness, it, 10_000), Some(Overdue::Word));
        it.input.on_bytes(at(10_500), 1);
        assert_eq!(found(&mut liveness, it, 11_000), None);
        assert_eq!(liveness.next(), Some(at(20_500)));
    }

    #[test]
    fn a_connection_has_one_entry_however_often_it_is_refreshed() {
        let (mut liveness, mut connections) = (liveness(), Connections::default());
        let (it, _client) = open(&mut connections);
        for ms in 0..100 {
            it.input.on_bytes(at(ms), 1);
            liveness.refresh(it);
        }
        assert_eq!(liveness.due.len(), 1);
        it.phase = Phase::Closing(at(50));
        liveness.refresh(it);
        assert_eq!((liveness.due.len(), liveness.next()), (1, Some(at(50))));
        assert_eq!(found(&mut liveness, it, 50), Some(Overdue::Leaving));
        liveness.forget(it);
        assert_eq!(liveness.next(), None);
    }
}
