//! What befalls the node: pauses and restarts, connections that come and go.

use super::cores::Core;
use super::run_loop::RunLoop;
use super::staff::Staff;
use super::{Node, Work, staff_of};
use crate::connection::{Connection, Incarnation, all_in};
use crate::slab::Key;
use crate::space::{Credit, Event, Packet, Request, Space};
use crate::task::Stage;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::{Admission, Client, Offer};
use tailwater_core::Instant;

impl Node {
    /// Nothing moves before `until`, and what runs takes so much longer.
    pub(crate) fn pause(&mut self, now: Instant, until: Instant, space: &mut Space) {
        for core in 0..self.cores.len() as u16 {
            self.stop_core(now, core, until, space);
        }
        self.frozen_until = self.frozen_until.max(until);
        (0..self.loops.len()).for_each(|at| self.control.postpone(at, until, space));
        self.set_spare(false, space);
    }

    /// A pause is over.
    pub(crate) fn resume(&mut self, now: Instant, space: &mut Space) {
        if self.is_stopped(now) {
            return;
        }
        for at in 0..self.loops.len() {
            self.tell_after_stop(at, now, space);
        }
        self.drive_callers(now, space);
        self.assign(now, space);
    }

    /// The loop hears of the delay at once, if it runs again.
    pub(super) fn tell_after_stop(&mut self, at: usize, now: Instant, space: &mut Space) {
        if !self.is_halted(at, now) {
            self.loops[at].tick_due = now;
            self.tick(at, now, space);
        }
    }

    /// The process dies, and all that it held with it; connections are refused until [`Node::boot`].
    /// Its successor will use `admission`, and what `make` gives for its connections to other nodes.
    pub(crate) fn die(
        &mut self,
        now: Instant,
        admission: Arc<dyn Admission>,
        make: &dyn Fn(usize, Connection) -> Client,
        space: &mut Space,
    ) {
        let held = self.held_requests(space);
        for &key in &held {
            // A call of another node lives until that one learns of its loss; no timer may wake it here.
            if let Some(task) = space.requests.get_mut(key).and_then(|it| it.task.as_mut()) {
                task.stop_waiting(now);
            }
        }
        space.abandoned.extend(held);
        for (_, packet) in self.loops.iter_mut().flat_map(|it| std::mem::take(&mut it.packets)) {
            refuse_other(now, packet, space);
        }
        let heard =
            self.staff.iter_mut().flat_map(|it| &mut it.threads).flat_map(|it| it.inbox.drain(..));
        heard.for_each(|(_, packet)| refuse_other(now, packet, space));
        for core in &mut self.cores {
            core.todo.clear();
            (core.thread, core.owed) = (None, Duration::ZERO);
            if let Some(Work::Parse(_, packet)) = core.work.take() {
                refuse_other(now, packet, space);
            }
            for (_, packet) in std::mem::take(&mut core.rest) {
                refuse_other(now, packet, space);
            }
        }
        self.walk.restart(now, make, space);
        self.staff = staff_of(&self.spec);
        let each = (self.cores.len() / self.loops.len()) as u16;
        for (run_loop, at) in self.loops.iter_mut().zip(0..) {
            *run_loop = RunLoop::new(at * each..(at + 1) * each);
            run_loop.idle.retain(|core| !self.cores[usize::from(*core)].is_stalled());
        }
        self.seen.clear();
        self.life = self.life.wrapping_add(1);
        self.down = true;
        for connection in all_in(self.control.connections()) {
            let incarnation = self.control.incarnation(connection);
            if self.control.hears(connection, incarnation) {
                space.send_down(now, connection, Event::Lost { connection, incarnation });
            }
        }
        self.control.restart(now, admission, space);
        self.set_spare(false, space);
    }

    /// The successor runs, unless it does already: of two restarts that end together each says so.
    pub(crate) fn boot(&mut self, now: Instant, space: &mut Space) {
        if !self.down {
            return;
        }
        self.down = false;
        self.walk.boot(now, space);
        self.resume(now, space);
    }

    /// Every request that is here, and every answer to a call.
    pub(crate) fn held_requests(&self, space: &Space) -> Vec<Key> {
        let working = self.cores.iter().flat_map(Core::keys);
        let packets = self.loops.iter().flat_map(|it| &it.packets);
        let queued = packets.filter_map(|(_, packet)| packet.key());
        let runnable =
            self.loops.iter().flat_map(|it| it.front.iter().chain(&it.runnable).copied());
        let of_threads = self.staff.iter().flat_map(Staff::keys);
        let mut held: Vec<Key> = working.chain(queued).chain(runnable).chain(of_threads).collect();
        // The others wait nowhere else, and these are found by a look at every request of the run.
        if self.has_paths() {
            let leading = self.control.connections();
            let waits = |request: &Request| {
                let stage = request.task.as_ref().map(|task| task.stage);
                let waits = stage.is_some_and(|it| !matches!(it, Stage::Fresh | Stage::Ready));
                waits && leading.contains(&request.connection)
            };
            held.extend(space.requests.keys(waits));
        }
        held
    }

    /// Whether nothing can run now.
    pub(super) fn is_stopped(&self, now: Instant) -> bool {
        self.down || now < self.frozen_until || self.cores.iter().all(|core| core.is_stopped(now))
    }

    /// Whether no core of the loop can run now.
    pub(super) fn is_halted(&self, at: usize, now: Instant) -> bool {
        let each = self.cores.len() / self.loops.len();
        let mut cores = self.cores[at * each..(at + 1) * each].iter();
        self.down || cores.all(|core| core.is_stopped(now))
    }

    /// A connection stands; the core is to send its WELCOME.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) -> Work {
        self.forget_echoes(connection);
        let offer = self.control.open(now, connection, incarnation, space);
        Work::Welcome(connection, incarnation, offer)
    }

    /// The WELCOME of a connection leaves, unless that is gone.
    pub(super) fn send_welcome(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        offer: Offer,
        space: &mut Space,
    ) {
        if !self.control.hears(connection, incarnation) {
            return;
        }
        self.counts.tx += 1;
        self.stamped(now, connection);
        space.welcome(now, Credit { connection, incarnation, offer, stamp: now.stamp() });
    }

    /// The connection is gone. Its requests are passed over where they are found; those that have
    /// begun go on to their end, since nobody else would release what they hold.
    pub(super) fn close(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        self.forget_echoes(connection);
        self.control.close(now, connection, space);
        let at = self.loop_of(connection);
        self.loops[at].outbox.retain(|(recipient, _)| *recipient != connection);
        self.bereft = true;
        self.drop_dead(at, space);
    }

    /// The node closes the connection of a client that keeps breaking the protocol.
    pub(super) fn hang_up(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        let incarnation = self.control.incarnation(connection);
        self.close(now, connection, space);
        space.send_down(now, connection, Event::Lost { connection, incarnation });
    }

    /// Takes requests of lost connections off the front of the queue, where their age would pass
    /// for delay.
    pub(super) fn drop_dead(&mut self, at: usize, space: &mut Space) {
        while self.bereft
            && let Some(&key) = self.loops[at].runnable.front()
            && let Some(request) = space.requests.get(key)
            && !self.control.hears(request.connection, request.incarnation)
            && request.task.as_ref().is_none_or(|task| task.stage == Stage::Fresh)
        {
            self.loops[at].runnable.pop_front();
            space.abandoned.push(key);
        }
    }
}

/// Refuses a packet, as nothing listens here.
pub(super) fn refuse(now: Instant, packet: Packet, space: &mut Space) {
    space.abandoned.extend(packet.key());
    refuse_other(now, packet, space);
}

/// What becomes of a message that is no request and no answer where nobody listens.
fn refuse_other(now: Instant, packet: Packet, space: &mut Space) {
    match packet {
        Packet::Open { connection, incarnation } => {
            space.send_down(now, connection, Event::Lost { connection, incarnation });
        }
        Packet::Credit(key) => {
            space.credits.remove(key);
        }
        _ => {}
    }
}
