//! A node's own calls: what it asks of others, and what it hears of them.
//!
//! Each request that can go on by what was heard goes to the end of the run queue.

use super::cores::Core;
use super::{Node, Work};
use crate::callers::{Asked, Planned};
use crate::connection::{Connection, Incarnation};
use crate::slab::Key;
use crate::space::{Event, Space};
use tailwater_control::retry::HedgeCounts;
use tailwater_core::Instant;

impl Node {
    /// A request asks another node.
    pub(super) fn call(&mut self, now: Instant, asked: Asked, space: &mut Space) {
        self.walk.callers.call(now, &asked, space);
        self.wake_callers(now, space);
    }

    /// The same of one call, for which a thread waits alone.
    pub(super) fn call_alone(
        &mut self,
        now: Instant,
        (asked, planned): (Asked, Planned),
        thread: u16,
        space: &mut Space,
    ) {
        self.walk.callers.make(now, (&asked, planned), Some(thread), space);
        self.wake_callers(now, space);
    }

    /// An answer or credit of another node was received; returns what the core must do at once.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        key: Key,
        credit: bool,
        space: &mut Space,
    ) -> Option<Work> {
        let callers = &mut self.walk.callers;
        if credit {
            callers.on_credit(now, key, space);
        } else {
            callers.on_reply(now, key, space);
        }
        // Of those that credit woke or refused besides, none is told by the crew.
        let first = self.next_woken(now, space)?;
        let ring = self.must_ring(now, first, space).then_some(Work::Ring(first));
        if ring.is_none() {
            self.wake(now, first, false, space);
        }
        self.wake_callers(now, space);
        ring
    }

    /// A deadline of a connection to another node may have come.
    pub(crate) fn on_caller_due(
        &mut self,
        now: Instant,
        connection: Connection,
        space: &mut Space,
    ) {
        if self.is_stopped(now) {
            return;
        }
        self.walk.callers.on_due(now, connection, space);
        self.wake_callers(now, space);
        self.assign(now, space);
    }

    /// A call of this node has been out for as long as most take.
    pub(crate) fn on_call_late(&mut self, now: Instant, key: Key, space: &mut Space) {
        if self.is_stopped(now) {
            // What stands still looks when it goes on. A process that is gone has no calls.
            if !self.down {
                space.calendar.at(self.back_at(), Event::Late(key));
            }
            return;
        }
        // Behind a stop a loop first reads what has come, and then looks.
        let late = space.requests.get(key).and_then(|call| call.errand.as_ref()?.late);
        if late.is_some_and(|late| late.at() < now) && self.has_answer(key) {
            return;
        }
        self.walk.callers.on_late(now, key, space);
        self.wake_callers(now, space);
        self.assign(now, space);
    }

    /// Whether the answer to a call has come, and was not heard yet.
    fn has_answer(&self, key: Key) -> bool {
        let of_loops = self.loops.iter().flat_map(|it| &it.packets);
        let threads = self.staff.iter().flat_map(|it| &it.threads);
        let packets = of_loops.chain(threads.flat_map(|it| &it.inbox));
        let waiting = packets.filter_map(|(_, packet)| packet.key());
        waiting.chain(self.cores.iter().flat_map(Core::keys)).any(|it| it == key)
    }

    /// Second tries of this node's calls to a tier so far.
    pub(crate) fn hedges(&self, tier: usize) -> HedgeCounts {
        self.walk.callers.hedges(tier)
    }

    /// A call of this node gets no answer.
    pub(crate) fn on_call_lost(&mut self, now: Instant, key: Key, space: &mut Space) {
        self.walk.callers.on_call_lost(now, key, space);
        self.wake_callers(now, space);
        self.assign(now, space);
    }

    /// A connection to another node is lost.
    pub(crate) fn on_caller_lost(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) {
        self.walk.callers.on_lost(now, connection, incarnation, space);
        // A process that stands still looks when it goes on.
        if !self.is_stopped(now) && self.walk.callers.leave(now, connection, space) {
            self.wake_callers(now, space);
            self.assign(now, space);
        }
    }

    /// A connection to another node stands again, and its WELCOME is here.
    pub(crate) fn on_caller_opened(&mut self, now: Instant, key: Key, space: &mut Space) {
        self.walk.callers.on_opened(now, key, space);
        if !self.is_stopped(now) {
            self.drive_callers(now, space);
            self.assign(now, space);
        }
    }

    /// Time to connect to another node again; a paused process does it when it goes on.
    pub(crate) fn on_caller_reconnect(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) {
        if now < self.frozen_until {
            let again = Event::Reconnect { connection, incarnation };
            return space.calendar.at(self.frozen_until, again);
        }
        self.walk.callers.on_reconnect(now, connection, incarnation, space);
    }

    /// After a pause, in which deadlines of those connections may have come.
    pub(super) fn drive_callers(&mut self, now: Instant, space: &mut Space) {
        self.walk.callers.drive_all(now, space);
        self.wake_callers(now, space);
    }

    /// Calls of this node that wait for permission to be sent.
    pub(crate) fn waiting_calls(&self) -> u64 {
        self.walk.callers.waiting()
    }

    fn wake_callers(&mut self, now: Instant, space: &mut Space) {
        while let Some(key) = self.next_woken(now, space) {
            self.wake(now, key, false, space);
        }
    }

    /// A request that need not wait for its calls any longer. Then the crew need not, either.
    fn next_woken(&mut self, now: Instant, space: &mut Space) -> Option<Key> {
        self.free_threads(now, space);
        let key = self.walk.callers.next_woken()?;
        let task = space.requests.get(key).and_then(|request| request.task.as_ref());
        if task.is_some_and(|task| task.refused.is_some()) {
            self.give_up_calls(now, key, space);
        }
        Some(key)
    }
}
