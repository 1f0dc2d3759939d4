//! The loops of a node: each has queues and cores of its own, and decides what its cores do next.
//!
//! One loop with all cores is the central queue of the papers' testbeds, whose runtime pools its cores. A
//! loop for each core is tailwater's own runtime: a connection belongs to one of them for good. Where cores
//! steal, one that finds nothing in its own loop does the work of the loop that is furthest behind.

use super::{Node, Work};
use crate::connection::Connection;
use crate::facts::Fact;
use crate::space::{Event, Packet, Space};
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_control::Offer;
use tailwater_core::{Instant, Nanos};

use crate::slab::Key;

/// What waits for the cores of one loop.
pub(super) struct RunLoop {
    /// Bounded by what clients send; each entry belongs to a request or client that is accounted for.
    pub(super) packets: VecDeque<(Instant, Packet)>,
    pub(super) runnable: VecDeque<Key>,
    /// Those that hold a lock and run before all others; empty unless [`Paths::wake`](crate::Paths) says so.
    pub(super) front: VecDeque<Key>,
    /// How many of both have begun already and go on; they do not count against the queue's bound,
    /// since whoever let them in cannot send them away.
    pub(super) woken: usize,
    /// Credits to be sent; at most one per session, since a session that got one is listed no more.
    pub(super) outbox: VecDeque<(Connection, Offer)>,
    /// Cores that may be given something; a pause leaves them here, a stall does not.
    pub(super) idle: Vec<u16>,
    /// Handler time since packets were last turned to, and how many are to be parsed in this turn.
    pub(super) handled_ns: u64,
    pub(super) turn: usize,
    /// Turns that were begun.
    pub(super) turns: u64,
    pub(super) tick_due: Instant,
    pub(super) armed: Instant,
}

impl RunLoop {
    /// Of these cores. The lowest number is taken first, which matters to nobody but stays the same.
    pub(super) fn new(cores: std::ops::Range<u16>) -> Self {
        Self {
            packets: VecDeque::new(),
            runnable: VecDeque::new(),
            front: VecDeque::new(),
            woken: 0,
            outbox: VecDeque::new(),
            idle: cores.rev().collect(),
            handled_ns: 0,
            turn: 0,
            turns: 0,
            tick_due: Instant::ZERO,
            armed: Instant::FAR_FUTURE,
        }
    }

    /// Admitted requests that wait to run for the first time.
    pub(super) fn unbegun(&self) -> usize {
        self.runnable.len() + self.front.len() - self.woken
    }

    /// Nothing waits that a core could do.
    pub(super) fn is_drained(&self) -> bool {
        self.packets.is_empty()
            && self.runnable.is_empty()
            && self.front.is_empty()
            && self.outbox.is_empty()
    }
}

impl Node {
    /// The loop that a connection belongs to: dealt round, as the runtime's acceptor does.
    pub(super) fn loop_of(&self, connection: Connection) -> usize {
        if self.loops.len() == 1 { 0 } else { self.control.loop_of(connection) }
    }

    /// The loop that a core belongs to.
    pub(super) fn loop_of_core(&self, core: u16) -> usize {
        usize::from(core) * self.loops.len() / self.cores.len()
    }

    /// The age of the oldest packet plus that of the oldest request (Breakwater §4).
    pub(super) fn delay_of(&self, at: usize, now: Instant, space: &mut Space) -> Duration {
        let run_loop = &self.loops[at];
        let packet = run_loop.packets.front().map_or(0, |&(arrived, _)| now.nanos_since(arrived));
        let request = run_loop
            .runnable
            .front()
            .and_then(|&key| space.requests.get_mut(key))
            .map_or(0, |request| now.nanos_since(request.queued));
        Duration::from_nanos(packet + request)
    }

    /// Tells the loop's shards the delay and carries out their wishes, if the time for it has come. Makes sure to
    /// come back when one wants it.
    pub(super) fn tick(&mut self, at: usize, now: Instant, space: &mut Space) {
        if now >= self.loops[at].tick_due {
            self.loops[at].tick_due = now + self.spec.tick;
            let delay = self.delay_of(at, now, space);
            self.control.tick(at, now, delay, &mut self.loops[at].outbox, space);
            if !self.loops[at].outbox.is_empty() {
                self.rouse(now, at as u16, space);
            }
        }
        if let Some(deadline) = self.control.next_deadline(at, now) {
            // At least a tick ahead: a deadline that has come was served above or soon will be.
            let due = deadline.max(now + self.spec.tick);
            self.control.on_asked(at, due, space);
            if due < self.loops[at].armed {
                self.loops[at].armed = due;
                space.calendar.at(due, Event::Tick(self.place.node, at as u16));
            }
        }
    }

    /// The deadline of a loop's shards has come. An entry that was replaced by an earlier one is passed
    /// over: if it armed another, each would, and there would be more of them for ever.
    pub(crate) fn on_tick(&mut self, at: usize, now: Instant, space: &mut Space) {
        if now != self.loops[at].armed {
            return;
        }
        self.loops[at].armed = Instant::FAR_FUTURE;
        if self.is_halted(at, now) {
            // Asked for by a core that did the work of this loop while its own were stalled.
            return self.postpone_while_halted(at, now, space);
        }
        self.loops[at].tick_due = now;
        self.tick(at, now, space);
        self.assign(now, space);
    }

    /// Gives idle cores something to do while there is something.
    pub(super) fn assign(&mut self, now: Instant, space: &mut Space) {
        if self.is_stopped(now) {
            return self.set_spare(false, space);
        }
        if self.staff.is_some() {
            return self.schedule(now, space);
        }
        for at in 0..self.loops.len() {
            while let Some(&core) = self.loops[at].idle.last() {
                let Some(work) = self.next_work(at, now, space) else {
                    break;
                };
                self.loops[at].idle.pop();
                self.give(now, (core, at), work, space);
            }
        }
        if self.spec.stealing {
            self.steal(now, space);
        }
        // Clients are promised credit while the front has cores to spare; which of its loops has one
        // means nothing to a client of another, unless they steal.
        let mut idle = self.loops.iter().map(|it| !it.idle.is_empty());
        let spare = if self.spec.stealing { idle.any(|it| it) } else { idle.all(|it| it) };
        self.set_spare(spare, space);
    }

    /// Idle cores, whose own loops have nothing to do, take the work of others: the one that is furthest
    /// behind first.
    fn steal(&mut self, now: Instant, space: &mut Space) {
        for thief in 0..self.loops.len() {
            while let Some(&core) = self.loops[thief].idle.last() {
                let Some((victim, work)) = self.next_stolen(now, space) else {
                    return;
                };
                self.loops[thief].idle.pop();
                self.give(now, (core, victim), work, space);
            }
        }
    }

    fn next_stolen(&mut self, now: Instant, space: &mut Space) -> Option<(usize, Work)> {
        let mut behind: Vec<(Duration, usize)> = (0..self.loops.len())
            .filter(|&at| !self.loops[at].is_drained())
            .map(|at| (self.delay_of(at, now, space), at))
            .collect();
        behind.sort_unstable_by(|a, b| b.cmp(a));
        behind.into_iter().find_map(|(_, at)| Some((at, self.next_work(at, now, space)?)))
    }

    /// Clients are promised credit while the front has a core to spare.
    pub(super) fn set_spare(&mut self, spare: bool, space: &mut Space) {
        if std::mem::replace(&mut self.spare, spare) != spare {
            space.tell(Fact::Spare { node: self.place.node, spare });
        }
    }

    /// Credits first, since they are few and someone waits for each; then packets, unless requests
    /// may go on running ([`NodeSpec::parse_every`](crate::NodeSpec)). A turn of parsing ends with the
    /// packets that were there when it began, so that a flood cannot keep requests from running for ever.
    pub(super) fn next_work(&mut self, at: usize, now: Instant, space: &mut Space) -> Option<Work> {
        if let Some((connection, offer)) = self.loops[at].outbox.pop_front() {
            let incarnation = self.control.incarnation(connection);
            return Some(Work::Credit(connection, incarnation, offer));
        }
        while let Some(key) = self.loops[at].front.pop_front() {
            if let Some(work) = self.start(now, key, space) {
                return Some(work);
            }
        }
        let can_run = self.may_start(at) && !self.loops[at].runnable.is_empty();
        let run_loop = &mut self.loops[at];
        let may_run_on = run_loop.handled_ns < self.spec.parse_every.nanos();
        if run_loop.turn == 0 && (!can_run || !may_run_on) {
            run_loop.turn = run_loop.packets.len();
            run_loop.turns += 1;
            run_loop.handled_ns = 0;
        }
        while self.loops[at].turn > 0
            && let Some((arrived, packet)) = self.loops[at].packets.pop_front()
        {
            self.loops[at].turn -= 1;
            if !self.joins(at, (arrived, packet), space) {
                return Some(Work::Parse(arrived, packet));
            }
        }
        while self.may_start(at)
            && let Some(key) = self.loops[at].runnable.pop_front()
        {
            self.drop_dead(at, space);
            if let Some(work) = self.start(now, key, space) {
                return Some(work);
            }
        }
        None
    }
    /// A thread that is held begins nothing, and neither does one whose workers have enough.
    pub(super) fn may_start(&self, at: usize) -> bool {
        self.staff.as_ref().is_none_or(|staff| staff.may_start(at))
    }
}
