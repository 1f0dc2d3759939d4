//! The cores of a node: what each is busy with, and the stalls that take it away.

use super::{Node, Work};
use crate::slab::Key;
use crate::space::{Event, Packet, Space};
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_core::{Instant, Nanos, Rng};

/// One core.
pub(super) struct Core {
    pub(super) work: Option<Work>,
    /// Messages that it parses together with that one, and what it must do next for some of them. Both are
    /// bounded by a turn of the loop.
    pub(super) rest: Vec<(Instant, Packet)>,
    pub(super) todo: VecDeque<Work>,
    /// The loop whose work it is; another one's only where cores steal.
    pub(super) works_for: usize,
    /// Which piece of work of its node this is, in the order in which they were begun.
    pub(super) began: u64,
    /// When it will have finished; stalls and pauses move it.
    pub(super) ends: Instant,
    /// When the handler of its last [`Work::Serve`] will have ended, or has: the answer is sent behind it. Stalls and pauses move it.
    pub(super) handled: Instant,
    /// It does nothing before this.
    stopped_until: Instant,
    stalled: bool,
    /// Decides when it stalls.
    chance: Rng,
    /// The thread that ran on it last, since when, and what turning to that still costs.
    pub(super) thread: Option<u16>,
    pub(super) since: Instant,
    pub(super) owed: Duration,
}

impl Core {
    pub(super) fn new() -> Self {
        Self {
            work: None,
            rest: Vec::new(),
            todo: VecDeque::new(),
            works_for: 0,
            began: 0,
            ends: Instant::ZERO,
            handled: Instant::ZERO,
            stopped_until: Instant::ZERO,
            stalled: false,
            chance: Rng::from_seed(0),
            thread: None,
            since: Instant::ZERO,
            owed: Duration::ZERO,
        }
    }

    /// The requests that it is busy with.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        let rest = self.rest.iter().filter_map(|(_, packet)| packet.key());
        self.work.iter().chain(&self.todo).filter_map(Work::key).chain(rest)
    }

    pub(super) fn is_stopped(&self, now: Instant) -> bool {
        now < self.stopped_until
    }

    /// The machine has taken it away; a pause of the process is another thing.
    pub(super) const fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// Does nothing before `until`: what it is busy with takes so much longer. Returns how much longer a handler takes.
    fn stop(&mut self, now: Instant, until: Instant, space: &mut Space) -> Duration {
        let lag = until.since(self.stopped_until.max(now));
        self.stopped_until = self.stopped_until.max(until);
        let Some(work) = &self.work else { return Duration::ZERO };
        self.ends = self.ends + lag;
        if let Some(task) = work.key().and_then(|key| space.requests.get_mut(key)?.task.as_mut()) {
            task.worked(lag);
        }
        match work {
            Work::Run(..) => lag,
            Work::Serve(_) if self.handled > now => {
                self.handled = self.handled + lag;
                lag
            }
            _ => Duration::ZERO,
        }
    }
}

impl Node {
    /// Puts the first stall of each core into the calendar.
    pub(crate) fn expect_stalls(&mut self, rng: &Rng, space: &mut Space) {
        for (core, index) in self.cores.iter_mut().zip(0..) {
            let number = self.place.first_core + index;
            core.chance = rng.split(&format!("core {number}"));
            if let Some(gap) = self.spec.stalls.draw_gap(&mut core.chance) {
                space.calendar.at(Instant::ZERO + gap, Event::Stall(number));
            }
        }
    }

    /// A stall of a core begins, or the one that it is in ends. The process may be down meanwhile: the
    /// machine stalls all the same.
    pub(crate) fn on_stall(&mut self, now: Instant, number: u16, space: &mut Space) {
        let index = number - self.place.first_core;
        let at = self.loop_of_core(index);
        let core = &mut self.cores[usize::from(index)];
        core.stalled = !core.stalled;
        if core.stalled {
            let until = now + self.spec.stalls.draw(&mut core.chance);
            self.stop_core(now, index, until, space);
            self.loops[at].idle.retain(|idle| *idle != index);
            space.calendar.at(until, Event::Stall(number));
            self.stop_without_cores(at, now, space);
        } else {
            if let Some(gap) = self.spec.stalls.draw_gap(&mut core.chance) {
                space.calendar.at(now + gap, Event::Stall(number));
            }
            // What it was busy with may have ended at this very instant, before this.
            if core.work.is_none() && !self.loops[at].idle.contains(&index) {
                self.loops[at].idle.push(index);
            }
            self.start_with_cores(at, now, space);
        }
    }

    /// A core does nothing before `until`. The loop looks at its packets behind a handler that took so long.
    pub(super) fn stop_core(
        &mut self,
        now: Instant,
        index: u16,
        until: Instant,
        space: &mut Space,
    ) {
        let core = &mut self.cores[usize::from(index)];
        let (lag, at) = (core.stop(now, until, space), core.works_for);
        self.handled((index, at), lag);
    }

    /// The loop's last core has stalled: nothing can be told to its shards before one is back.
    fn stop_without_cores(&mut self, at: usize, now: Instant, space: &mut Space) {
        self.postpone_while_halted(at, now, space);
        // Others may take over what it would have done, where cores steal; and it is spare no more.
        self.assign(now, space);
    }

    /// Deadlines of the loop's shards wait for the first of its cores to be back.
    pub(super) fn postpone_while_halted(&self, at: usize, now: Instant, space: &mut Space) {
        if self.is_halted(at, now) {
            let each = self.cores.len() / self.loops.len();
            let cores = self.cores[at * each..(at + 1) * each].iter();
            let back = cores.map(|core| core.stopped_until).min();
            self.control.postpone(at, back.unwrap_or(now), space);
        }
    }

    /// When something can run again in a process that stands still.
    pub(super) fn back_at(&self) -> Instant {
        let cores = self.cores.iter().map(|core| core.stopped_until).min();
        self.frozen_until.max(cores.unwrap_or_default())
    }

    /// A core is back: deadlines may have come while the loop had none.
    fn start_with_cores(&mut self, at: usize, now: Instant, space: &mut Space) {
        if !self.is_stopped(now) {
            self.tell_after_stop(at, now, space);
            self.drive_callers(now, space);
        }
        self.assign(now, space);
    }

    /// A fault leaves its cores this part of their speed, or none any more. What was begun keeps its pace.
    pub(crate) fn slow_down(&mut self, index: u16, speed: Option<f64>) {
        self.slow.retain(|(known, _)| *known != index);
        self.slow.extend(speed.map(|speed| (index, speed)));
    }

    /// How long slow cores take for what takes others so long.
    pub(super) fn slowed(&self, time: Duration) -> Duration {
        if self.slow.is_empty() {
            return time;
        }
        let speed: f64 = self.slow.iter().map(|(_, speed)| speed).product();
        time.div_f64(speed).max(time)
    }

    /// How much longer slow cores take for work of this cost.
    pub(super) fn lag(&self, work: Work, cost: Duration, space: &mut Space) -> Duration {
        let lag = self.slowed(cost).saturating_sub(cost);
        if lag.is_zero() {
            return lag;
        }
        if let Some(task) = work.key().and_then(|key| space.requests.get_mut(key)?.task.as_mut()) {
            task.worked(lag);
        }
        lag
    }

    /// A handler runs for so long. Those of workers do not keep their loop from its packets.
    pub(super) fn handled(&mut self, (core, at): (u16, usize), time: Duration) {
        let thread = self.staff.as_ref().zip(self.cores[usize::from(core)].thread);
        if thread.is_none_or(|(staff, thread)| staff.is_loop(thread)) {
            self.loops[at].handled_ns += time.nanos();
        }
    }

    /// Whether a stall or pause keeps the core busy for longer than was thought, or an earlier message of the
    /// connection, which is waited for; then it is asked again.
    pub(super) fn hold_up(&mut self, now: Instant, index: u16, space: &mut Space) -> bool {
        let heard_at = self.heard_at(index, space);
        let core = &mut self.cores[usize::from(index)];
        core.ends = core.ends.max(heard_at.unwrap_or(core.ends));
        let held_up = core.work.is_some() && core.ends > now;
        if held_up {
            let done = Event::CoreDone(self.place.first_core + index, self.life);
            space.calendar.at(core.ends, done);
        }
        held_up
    }
}

impl Work {
    /// The request that it is about.
    pub(super) fn key(&self) -> Option<Key> {
        match self {
            Self::Parse(_, packet) => packet.key(),
            Self::Reject(key, ..)
            | Self::Serve(key)
            | Self::HandOver(key)
            | Self::Ring(key)
            | Self::Run(key, _)
            | Self::Answer(key) => Some(*key),
            Self::Call(_) | Self::Credit(..) | Self::Welcome(..) => None,
        }
    }
}

impl Packet {
    /// The request, of a client's or of this node's own, that it brings.
    pub(super) const fn key(&self) -> Option<Key> {
        match self {
            Self::Request(key) | Self::Reply(key) => Some(*key),
            _ => None,
        }
    }
}
