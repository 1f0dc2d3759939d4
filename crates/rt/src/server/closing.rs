//! Output to sockets, and the ends of connections.

use super::connection::Phase;
use super::event_loop::EventLoop;
use super::key::ConnectionKey;
use super::liveness::Overdue;
use super::work::Work;
use crate::service::Reply;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_wire::{Goodbye, GoodbyeCode, Ping};

/// A connection that was said goodbye to may take this long to read what is left.
const LEAVING: Duration = Duration::from_secs(1);
/// And this long to close, once it has been sent everything.
const LINGER: Duration = Duration::from_millis(250);
/// Connections that a turn looks at for what they owe: as many as the poller tells of at once. Clients that fall silent
/// together are due together.
const LOOKS_PER_TURN: usize = crate::poll::BATCH;

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// Something of a connection has ended. Its output is sent at once when nothing more of it is to run in
    /// this turn: waiting would coalesce nothing. Otherwise the turn's end sends all in one call.
    pub(super) fn settle(&mut self, key: ConnectionKey) {
        // Which connection they are of is not looked up. One call for each answer to a client that has four under way
        // made the fan-out of `benches/transport` cost twice as much.
        let others_end = self.runner.has_woken() || self.inbox().has_done();
        let Some(connection) = self.connections.get_mut(key) else { return };
        let work = &connection.work;
        let more_ends = work.queued > 0 || (others_end && work.running() > 0);
        let settled = !more_ends || connection.output.prompt;
        if settled && connection.output.unsent() > 0 {
            self.flush(key);
        }
        self.recall(key);
        self.take_leave(key);
    }

    /// A connection that is ending says goodbye once its requests are answered.
    fn take_leave(&mut self, key: ConnectionKey) {
        if self.connections.get(key).is_some_and(|it| it.work.pending == 0) {
            self.take_leave_now(key);
        }
    }

    /// A connection that is ending says goodbye, whatever is not answered.
    fn take_leave_now(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Phase::Ending(farewell) = &mut connection.phase else { return };
        // The phase ends here, and its text with it.
        let (code, why) = (farewell.code, std::mem::take(&mut farewell.text));
        self.say_goodbye(key, code, &why);
    }

    /// Sends what is left of this turn.
    pub(super) fn flush_dirty(&mut self) {
        let dirty = self.egress.take_dirty();
        for &key in &dirty {
            let Some(connection) = self.connections.get_mut(key) else { continue };
            connection.output.dirty = false;
            if connection.output.unsent() > 0 {
                self.flush(key);
                self.recall(key);
            }
            self.take_leave(key);
        }
        self.egress.flushed_all(dirty);
    }

    /// Hands a connection's output to the kernel, and sees what that allows.
    pub(super) fn flush(&mut self, key: ConnectionKey) {
        let now = self.clock.now();
        let high = self.egress.high();
        let Some(connection) = self.connections.get_mut(key) else { return };
        let stands = self.egress.flush(connection, now);
        // A send takes longer than a short handler, and would count as the time of the next one.
        self.clock.look();
        if !stands {
            return self.close(key);
        }
        if let Phase::Closing(due) = &mut connection.phase
            && connection.output.unsent() == 0
        {
            connection.stream.finish_writing();
            *due = (*due).min(now + LINGER);
        }
        self.intake.go_again(connection, high);
        self.liveness.refresh(connection);
        if !connection.watch(&self.poller, high) {
            self.close(key);
        }
    }

    /// Says why and closes, once the client has had a chance to read it: closing at once with unread input
    /// would make the kernel throw the farewell away. Requests that were not answered end here.
    pub(super) fn say_goodbye(&mut self, key: ConnectionKey, code: GoodbyeCode, why: &str) {
        let due = self.clock.now() + LEAVING;
        self.end_work(key);
        let Some(connection) = self.connections.get_mut(key) else { return };
        let mut goodbye = Goodbye::new(code, why);
        if connection.is_greeted {
            // Clients of other versions know GOODBYE without its count alone.
            goodbye = goodbye.after(connection.input.taken);
        }
        connection.phase = Phase::Closing(due);
        goodbye.encode(connection.output.buffer());
        self.totals.frames_out += 1;
        self.flush(key);
    }

    /// Ends a connection's requests without answers: it is gone, or about to be.
    fn end_work(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if matches!(connection.phase, Phase::Closing(_)) {
            return;
        }
        self.runner.cancel_all(&mut connection.work);
        connection.work.parked.iter().for_each(|job| self.queue.unpark(job));
        self.unanswered -= u64::from(connection.work.pending);
        connection.work = Work::default();
        self.intake.forget(connection);
        self.control.close(self.clock.now(), key.session());
    }

    /// Forgets a connection at once.
    pub(super) fn close(&mut self, key: ConnectionKey) {
        self.end_work(key);
        if let Some(connection) = self.connections.remove(key) {
            self.egress.forget(&connection);
            self.liveness.forget(&connection);
            // Relaxed: a bound on a number; nothing else is read because of it.
            self.shared.connections.fetch_sub(1, Relaxed);
            self.totals.closed += 1;
            self.connections.shrink();
        }
    }

    /// Looks at the connections that may owe something for too long.
    pub(super) fn sweep(&mut self) {
        // A handler may have kept the loop from reading what came in time.
        let now = self.clock.looked();
        for _ in 0..LOOKS_PER_TURN {
            let Some(key) = self.liveness.pop(now) else { break };
            if let Some(connection) = self.connections.get_mut(key)
                && let Some(overdue) = self.liveness.judge(connection, now)
            {
                self.act_on(key, overdue);
            }
        }
    }

    fn act_on(&mut self, key: ConnectionKey, overdue: Overdue) {
        use GoodbyeCode::{Idle, SlowReader};
        match overdue {
            Overdue::Hello => self.say_goodbye(key, Idle, "no HELLO came in time"),
            Overdue::Rest => {
                self.say_goodbye(key, Idle, "the rest of a frame did not come in time");
            }
            Overdue::Life => self.say_goodbye(key, Idle, "nothing came, not even a PONG"),
            Overdue::Reading => {
                self.totals.slow_readers += 1;
                self.say_goodbye(key, SlowReader, "what was sent is not read");
            }
            Overdue::Word => self.ping(key),
            Overdue::Resume => self.resume_reading(key),
            Overdue::Answers => self.take_leave_now(key),
            Overdue::Leaving => self.close(key),
        }
    }

    fn ping(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        // One PING is under way at a time, so that any token will do.
        Ping { token: self.clock.now().as_nanos() }.encode(connection.output.buffer());
        self.totals.frames_out += 1;
        self.flush(key);
    }

    fn resume_reading(&mut self, key: ConnectionKey) {
        let (now, high) = (self.clock.now(), self.egress.high());
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.input.resume(now);
        self.after_go(key, high);
    }

    /// A connection's go is over: what it left may go on in the next round, or holds it up.
    pub(super) fn after_go(&mut self, key: ConnectionKey, high: usize) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        self.intake.go_again(connection, high);
        self.liveness.refresh(connection);
        if !connection.watch(&self.poller, high) {
            self.close(key);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::{event_loop, streams};
    use super::*;
    use crate::config::ServerConfig;
    use std::future::Ready;
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;

    #[test]
    fn connections_that_owe_something_together_are_looked_at_in_several_turns() {
        let none = Spec::named("none").build(&Site::one_loop(Duration::from_millis(1), 0)).unwrap();
        let config = ServerConfig { patience: Duration::from_nanos(1), ..ServerConfig::default() };
        let mut it: EventLoop<Ready<Reply>> = event_loop(config, none.admission);
        let all = LOOKS_PER_TURN + 6;
        let mut clients = Vec::new();
        for _ in 0..all {
            let (server, client) = streams();
            it.adopt(server);
            clients.push(client);
        }
        it.clock.begin_turn(true);
        // Each is told that its HELLO is overdue.
        it.sweep();
        assert_eq!(it.totals.frames_out, LOOKS_PER_TURN as u64);
        it.sweep();
        assert_eq!(it.totals.frames_out, all as u64);
        drop(clients);
    }
}
